#pragma once
/// What an untar's process does: exec a tar, or call our own engine. Runs in the child; the value is its exit code.

#include <filesystem>
#include <string>

#include "sim/result.hpp"
#include "workload/experiment/experiment.hpp"

namespace spillway::real {

struct UntarTask {
  std::filesystem::path archive;
  std::string directory;       ///< into which it is extracted; exists
  ReplaySpec replay;
  std::string messages;        ///< file that takes standard output and error
  std::string cgroup;          ///< folder of the cgroup to join first, or empty
};

/// Whether the engine is here: an error of kind `unsupported` names the Debian package.
Status engine_available(const ReplaySpec& replay);
/// In the child. Never returns an exit code above 255.
int run_untar(const UntarTask& task);
/// What a messages file says went wrong, for an error sentence.
std::string last_words(const std::string& messages);

}  // namespace spillway::real
