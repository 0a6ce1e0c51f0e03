#pragma once
/// What a guest left in its run folder, turned into a record, a timeline and the traces that the real box writes too.
/// Pure readers of text; the folder is read by `read_guest_results`.

#include "sim/result.hpp"
#include "workload/kernel/guest_plan.hpp"
#include "workload/record/record.hpp"
#include "workload/record/timeline.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace spillway::kernel {

/// One line of the trace: writeback:balance_dirty_pages. Rates in kB/s, amounts in pages, times in ms as the kernel
/// prints them (multiples of its tick).
struct ThrottleEvent {
  double t_s = 0;  ///< the guest's clock
  std::string comm;
  int pid = 0;
  std::string bdi;
  std::int64_t limit = 0, setpoint = 0, dirty = 0, wb_setpoint = 0, wb_dirty = 0;
  std::int64_t dirty_ratelimit = 0, task_ratelimit = 0, dirtied = 0, dirtied_pause = 0;
  std::int64_t paused_ms = 0, pause_ms = 0, period_ms = 0, think_ms = 0;
  std::uint64_t cgroup_ino = 0;
};

/// writeback:bdi_dirty_ratelimit, kB/s.
struct RateLimitEvent {
  double t_s = 0;
  std::string bdi;
  std::int64_t write_bw = 0, avg_write_bw = 0, dirty_rate = 0, dirty_ratelimit = 0, task_ratelimit = 0, balanced_dirty_ratelimit = 0;
};

struct Trace {
  std::vector<ThrottleEvent> throttle;
  std::vector<RateLimitEvent> rate_limit;
  std::int64_t flusher_starts = 0;              ///< writeback_start events of the bdi under test
  std::vector<std::uint64_t> flusher_cgroups;   ///< distinct cgroup inodes among them, ascending
  std::int64_t lost = 0;                        ///< lines the ring buffer dropped
};

/// Reads the text of tracefs `trace`, keeping events of `bdi` ("7:1") only. Field names of 6.12 and older (bdi_*) and of
/// newer kernels (wb_*) are both understood.
[[nodiscard]] Trace parse_trace(std::string_view text, std::string_view bdi);

/// The columns of the reference runs' bdp files, then those they lack.
[[nodiscard]] std::string throttle_csv(const Trace& trace, double t0_s);
[[nodiscard]] std::string rate_limit_csv(const Trace& trace, double t0_s);

/// Rows of samples.csv as timeline rows; `trace` supplies the rate limit in force.
[[nodiscard]] Timeline timeline_from_samples(std::string_view samples, const Trace& trace, double t0_s);

struct GuestResults {
  Record record;      ///< untars, phases, kworkers, device, marks, counters; the box adds who and what
  Timeline timeline;
  Trace trace;
  double t0_s = 0;
};

/// Reads results.txt, samples.csv, workers.tsv and trace of a run folder.
Result<GuestResults> read_guest_results(const std::filesystem::path& folder, const GuestPlan& plan);

}  // namespace spillway::kernel
