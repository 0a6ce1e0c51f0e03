#pragma once
/// Delay accounting of every task that exits, from the kernel's taskstats netlink messages (Documentation/accounting/
/// taskstats.rst). Needs root and kernel.task_delayacct = 1 before the task starts. Messages are read by their length:
/// a kernel newer than the header sends more, an older one less.

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "sim/result.hpp"

namespace spillway::real {

/// What an exiting task says of itself. Nanoseconds.
struct TaskDelays {
  int pid = 0, parent = 0;
  std::string comm;
  std::int64_t cpu_ns = 0;        ///< waiting for a core (cpu_delay_total)
  std::int64_t blkio_ns = 0;      ///< in io_schedule: device reads and sleeps in balance_dirty_pages (blkio_delay_total)
  std::int64_t reclaim_ns = 0;    ///< freepages_delay_total
  std::int64_t run_ns = 0;        ///< cpu_run_virtual_total: exact CPU time
  std::int64_t switches = 0, involuntary_switches = 0;
  std::int64_t elapsed_us = 0;    ///< ac_etime
};

/// One struct taskstats of any version, `bytes` long. nullopt if it is too short to hold the delays.
std::optional<TaskDelays> parse_taskstats(std::span<const std::byte> bytes);

class Taskstats {
 public:
  static Result<std::unique_ptr<Taskstats>> start();
  ~Taskstats();
  Taskstats(const Taskstats&) = delete;
  Taskstats& operator=(const Taskstats&) = delete;

  /// What came until now, by pid. Waits up to `patience` for this pid's message, which comes just after its exit.
  std::map<int, TaskDelays> collect(int wait_for_pid, std::chrono::milliseconds patience);
  [[nodiscard]] std::int64_t lost() const { return lost_; }
  [[nodiscard]] double own_cpu_s() const { return own_cpu_s_; }

 private:
  Taskstats() = default;
  void loop();
  int socket_ = -1;
  int family_ = 0;
  std::thread thread_;
  std::atomic<bool> stop_ = false;
  std::atomic<std::int64_t> lost_ = 0;
  std::atomic<double> own_cpu_s_ = 0;
  std::mutex mutex_;
  std::map<int, TaskDelays> exits_;
};

}  // namespace spillway::real
