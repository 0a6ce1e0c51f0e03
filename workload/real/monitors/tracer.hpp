#pragma once
/// Throttle decisions and off-CPU time of the untars, from a private instance of tracefs (libtracefs), clock "mono", so
/// that all monitors share CLOCK_MONOTONIC. Traced are the thread that called `start` and whatever it forks afterwards
/// (option event-fork): adding a pid for each untar would cost two RCU grace periods, 30 ms, between two untars.
///
/// Written beside the record:
///  bdp.csv        every balance_dirty_pages decision with all that the controller computed it from: global counts and
///                 thresholds from the global_dirty_state event that the same task emitted just before, the device's
///                 share and counts from the event itself; and where the kernel allows it (controller_probe.hpp) the
///                 exact thresholds, share, bandwidth estimates and pos_ratio, so that the controller can be replayed.
///  ratelimit.csv  every bdi_dirty_ratelimit update.
/// Units: pages, pages/s, jiffies where the kernel computes in them (pause_j = pause ms * HZ / 1000, exact).

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/result.hpp"
#include "workload/real/journal/journal.hpp"

namespace spillway::real {

struct TracerSpec {
  std::string tracefs;        ///< mount point
  std::string device_number;  ///< "7:65": decisions about other devices are left out
  std::filesystem::path directory;
  int hz = 250;
  bool off_cpu = true;        ///< sched_switch with stacks, for the account
};

/// Why a task was off the CPU.
enum class Wait { preempted, wakeup, throttled, device, lock, log, other };

/// Of one thread.
struct TaskTrace {
  std::map<Wait, std::int64_t> off_cpu_ns;
  std::int64_t pauses = 0;           ///< decisions with a sleep
  std::int64_t decisions = 0;        ///< balance_dirty_pages events
  std::int64_t asked_ms = 0;         ///< sum of the pauses asked for
  std::int64_t longest_throttle_ns = 0;
  bool switches_seen = false;        ///< off_cpu_ns is filled
  pid_t parent = 0;                  ///< the traced task that forked it, if seen
};

struct TraceTotals {
  std::map<int, TaskTrace> tasks;    ///< by thread id
  std::int64_t events = 0, lost = 0;
  std::int64_t switches_missing = 0; ///< ends of sleeps that no switch event showed (off_cpu.hpp)
  std::int64_t exact = 0;            ///< decisions whose controller state is exact
  double own_cpu_s = 0;              ///< of the reading thread
  /// From the first bdi_dirty_ratelimit event (kernel values before the run, as near as it gets).
  std::optional<std::int64_t> first_ratelimit, first_write_bw, first_avg_write_bw;
  std::optional<std::int64_t> first_limit;  ///< dirty_limit in the first global_dirty_state
  std::map<std::string, std::int64_t> unknown_places;  ///< off-CPU ns by function where the cause was not recognised
};

class Tracer {
 public:
  static Result<std::unique_ptr<Tracer>> start(Journal& journal, TracerSpec spec);
  ~Tracer();
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  /// Last traced sliding limit and rate limit, pages and pages/s; 0 when none yet.
  [[nodiscard]] std::int64_t limit_pages() const { return limit_; }
  [[nodiscard]] std::int64_t ratelimit() const { return ratelimit_; }
  /// Why decisions have no exact controller state; empty if they have.
  [[nodiscard]] const std::string& probe_missing() const { return probe_missing_; }
  /// Reads what is left, closes the files, takes the instance away. `since_ns`: when the counted time of a process begins
  /// (CLOCK_MONOTONIC), by pid; what came before is left out of its account.
  TraceTotals finish(const std::map<int, std::int64_t>& since_ns);

 private:
  struct Reader;
  Tracer(Journal& journal, TracerSpec spec);
  Journal& journal_;
  TracerSpec spec_;
  std::uint64_t mark_ = 0;
  std::string probe_missing_;
  std::atomic<std::int64_t> limit_ = 0, ratelimit_ = 0;
  std::unique_ptr<Reader> reader_;
};

/// The cause of a sleep from the functions on its kernel stack, innermost first. Pure; see the table in the source.
Wait classify_stack(const std::vector<std::string_view>& functions);

}  // namespace spillway::real
