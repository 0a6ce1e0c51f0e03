#pragma once
/// Processes as /proc shows them to anybody, looked at several times a second: CPU time and waiting for a core exactly
/// (schedstat, nanoseconds), the rest of their time by where they were seen asleep (wchan). Changes nothing. wchan of
/// other users' processes needs root; without it such a sleep counts as `other`, and a task in state D as `device`.

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "workload/real/monitors/tracer.hpp"
#include "workload/record/record.hpp"

namespace spillway::real {

/// One thread at one instant.
struct TaskLook {
  char state = '?';
  std::string wait_channel;              ///< empty: running, or not readable
  std::int64_t cpu_ns = 0, runqueue_ns = 0;
};
/// /proc/PID/schedstat: time on a core, time waiting for one (nanoseconds), slices.
std::optional<std::pair<std::int64_t, std::int64_t>> parse_schedstat(std::string_view text);
/// Why a thread that is in this state at this place is not running; nullopt for one that runs or could.
std::optional<Wait> wait_of(char state, std::string_view wait_channel);

/// A process from when it was first seen until it ended, or the last look.
struct TaskHistory {
  pid_t pid = 0;
  std::string command;
  std::int64_t first_ns = 0, last_ns = 0;          ///< looks at it, CLOCK_MONOTONIC
  std::int64_t cpu_ns = 0, runqueue_ns = 0;        ///< since it was first seen, all threads
  std::uint64_t user_ticks = 0, system_ticks = 0;  ///< since then, 1/100 s
  int threads = 1;                                 ///< most seen at once
  std::map<Wait, int> looks;                       ///< of threads asleep
  int looks_asleep = 0;
  std::int64_t throttled_since_ns = 0, longest_throttle_ns = 0;  ///< of the stall that goes on; of the longest
  std::string now;                                 ///< "R", "D balance_dirty_pages", ...
  std::int64_t written_bytes = 0;                  ///< /proc/PID/io wchar since then; 0 where not readable
  bool ended = false;

  [[nodiscard]] double elapsed_s() const { return static_cast<double>(last_ns - first_ns) * 1e-9; }
  /// Asleep at a place of this kind: the time not on a core and not waiting for one, split as the looks were.
  [[nodiscard]] double waited_s(Wait wait) const;
};

class TaskWatch {
 public:
  /// Looks at these processes; one that has gone is marked as ended.
  void look(const std::vector<pid_t>& pids, std::int64_t now_ns);
  [[nodiscard]] const std::map<pid_t, TaskHistory>& tasks() const { return tasks_; }
  /// How often a wait channel could not be read.
  [[nodiscard]] int hidden() const { return hidden_; }

 private:
  struct Counters {
    std::int64_t cpu_ns = 0, runqueue_ns = 0;
  };
  std::map<pid_t, TaskHistory> tasks_;
  std::map<pid_t, std::map<pid_t, Counters>> threads_;  ///< last values of each thread
  std::map<pid_t, std::pair<std::uint64_t, std::uint64_t>> first_ticks_;
  std::map<pid_t, std::int64_t> first_written_;
  int hidden_ = 0;
};

/// As an untar of a record. `number` from 1; times relative to `origin_ns`.
UntarResult untar_of(const TaskHistory& task, int number, std::int64_t origin_ns);

/// Processes below this one, itself first.
std::vector<pid_t> family_of(pid_t pid);
/// Processes that look like untars or writers: known names (tar, bsdtar, rsync, cp, ...), or seen asleep in
/// balance_dirty_pages. Kernel threads and `without` are left out.
std::vector<pid_t> writers_here(pid_t without);

}  // namespace spillway::real
