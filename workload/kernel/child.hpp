#pragma once
/// A kernel (or emulator) as a child process: started in a group of its own, its console in a file, ended with all it
/// started when the caller is interrupted or the time is up.

#include "sim/result.hpp"

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace spillway::kernel {

struct ChildCommand {
  std::filesystem::path program;
  std::vector<std::string> arguments;                             ///< without the program
  std::vector<std::pair<std::string, std::string>> environment;   ///< set over the caller's
  std::filesystem::path console;                                  ///< standard output and error
  std::chrono::seconds limit{3600};                               ///< wall time
};

/// Runs it to its end; returns wall seconds. `tick` is called about twice a second with the wall seconds so far. Errors:
/// not startable, interrupted, over its time. The exit status is not judged: the guest says how it went.
Result<double> run_child(const ChildCommand& command, const std::function<void(double)>& tick);

/// A program that talks to the user itself: on our standard output and error, in our process group, so that Ctrl-C reaches
/// it too. Its exit code, or 128 + the signal that ended it.
Result<int> run_in_foreground(const std::filesystem::path& program, const std::vector<std::string>& arguments);

}  // namespace spillway::kernel
