#pragma once
/// timeline.csv: one row every 100 ms, the same columns in every box; an empty cell is "not known here".
/// Column names carry their unit. Readers accept any subset in any order.

#include <optional>
#include <string>
#include <vector>

namespace spillway {

struct TimelineRow {
  double t_s = 0;                                   ///< since the start of the first untar; negative before
  std::optional<double> nr_dirty_pages, nr_writeback_pages;
  std::optional<double> thresh_pages, background_pages, freerun_pages, limit_pages;
  std::optional<double> wb_reclaimable_pages, wb_writeback_pages, wb_thresh_pages;
  std::optional<double> wb_written_pages, wb_dirtied_pages;       ///< cumulative
  std::optional<double> write_bandwidth_pages_per_s, dirty_ratelimit_pages_per_s;
  std::optional<double> b_dirty, b_io, b_more_io;                 ///< inodes per list
  std::optional<double> device_write_bytes, device_write_ios, device_read_bytes;  ///< cumulative
  std::optional<double> device_busy_pct, device_inflight;
  std::optional<double> cpu_user_pct, cpu_system_pct, cpu_iowait_pct;  ///< of all cores
  std::optional<double> untar;                                    ///< number of the youngest untar running, 0 = none
};

struct Timeline {
  std::vector<TimelineRow> rows;
};

}  // namespace spillway
