#pragma once
/// The box before a repeat: brought to a defined state, and recorded. And afterwards: was it disturbed?

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "sim/result.hpp"
#include "workload/record/record.hpp"
#include "workload/record/timeline.hpp"

namespace spillway::real {

/// INIT_BW of Linux mm/backing-dev.c wb_init: 100 MiB/s in pages/s; what a new device number starts with.
inline constexpr std::int64_t kColdBandwidthPagesPerS = 25600;

/// How quiet the box must be. From the reference runs: beyond these the untars' times move by more than their own noise.
struct QuietLimits {
  double foreign_dirty_pages = 256;  ///< mean over the run, pages of other devices (1 MB)
  double other_cpus = 0.3;           ///< cores used by others, mean over the run
};

/// sync(2), then waits until dirty + writeback pages are below `pages` and the device has nothing in flight, at most
/// `limit`. Returns the pages that were left.
std::int64_t settle(const std::string& device_name, std::int64_t pages, std::chrono::milliseconds limit);

/// Reads a file once so that it is in the page cache (the whole file; its bytes are thrown away).
Status read_once(const std::string& path);
/// /proc/sys/vm/drop_caches: clean pages, dentries and inodes.
Status drop_caches();

struct StateInputs {
  std::string bdi_stats;      ///< text of debugfs bdi/.../stats, or ""
  std::string vmstat, zoneinfo;
  bool cold = false;
  std::int64_t floor_divisor = 8;  ///< wb_thresh is at least (thresh - dirty) / 8 on 6.18
};
/// What can be known before the run starts. Pure.
BoxState state_from(const StateInputs& inputs);
StateInputs read_state_inputs(const std::string& debugfs, const std::string& device_number, bool cold);

/// What others do while nothing of ours runs: the only thing of a disturbance that can be known before the run.
struct OthersBefore {
  double completions_pages_per_s = 0;  ///< written back by other devices
  double cpus = 0;                     ///< cores busy
};
/// Watches for `window`. Sources: nr_written of /proc/vmstat less the device's own, /proc/stat.
OthersBefore look_at_others(const std::string& debugfs, const std::string& device_number, std::chrono::milliseconds window);

/// How much of a run was somebody else's.
struct Foreign {
  double dirty_pages_mean = 0, dirty_pages_max = 0;
  double cpus = 0;
};
/// Foreign dirty pages from the timeline between two instants of it (global less this device's).
Foreign foreign_dirty(const std::vector<TimelineRow>& rows, double from_s, double to_s);
/// Sentences that say how the repeat was disturbed; empty when it was quiet.
std::vector<std::string> disturbances(const Foreign& foreign, const QuietLimits& limits);

}  // namespace spillway::real
