#pragma once
/// Processes by identity: a pid alone may have been given to somebody else, a pid with its start time has not.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/result.hpp"

namespace spillway::real {

struct ProcessId {
  pid_t pid = 0;
  /// Clock ticks after boot, /proc/PID/stat field 22.
  std::uint64_t start_ticks = 0;
  friend bool operator==(const ProcessId&, const ProcessId&) = default;
};

/// What /proc/PID/stat says. Times are clock ticks (1/100 s).
struct ProcessStat {
  std::string comm;
  char state = '?';
  pid_t parent = 0;
  pid_t group = 0;
  std::uint64_t user_ticks = 0;
  std::uint64_t system_ticks = 0;
  std::uint64_t start_ticks = 0;
  std::uint64_t flags = 0;  ///< PF_*; 0x00200000 is PF_KTHREAD
};

/// Parses one /proc/PID/stat line (the comm may contain spaces and brackets).
std::optional<ProcessStat> parse_process_stat(std::string_view line);
std::optional<ProcessStat> process_stat(pid_t pid);
/// This pid with its start time; nullopt if there is no such process.
std::optional<ProcessId> identify(pid_t pid);
/// Whether that very process exists and is not a zombie.
bool is_alive(const ProcessId& id);
/// SIGKILL to that very process (never to another with its number), and wait until it runs no more, at most `limit`. Its
/// parent still has to wait for it.
Status kill_process(const ProcessId& id, std::chrono::milliseconds limit);
/// Its children and their children, from /proc; the process itself is not in the list.
std::vector<ProcessId> descendants(pid_t pid);

struct CommandOutput {
  int exit_code = -1;  ///< 128 + signal when killed
  std::string out;     ///< standard output and error together
};
/// Runs a program to its end and keeps what it printed. The error says when it could not be started.
Result<CommandOutput> run_command(const std::vector<std::string>& argv);
/// Like run_command, and an exit code other than 0 is an error with the program's last words.
Status run_checked(const std::vector<std::string>& argv);
/// The full path of a program in PATH, /usr/sbin or /sbin; nullopt if it is not installed.
std::optional<std::string> find_program(const std::string& name);

/// CLOCK_MONOTONIC in nanoseconds: the one clock of all monitors.
std::int64_t monotonic_ns();

}  // namespace spillway::real
