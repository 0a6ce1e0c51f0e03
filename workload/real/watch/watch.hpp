#pragma once
/// Watching a box without changing anything on it: what `spillway watch` does. No journal, no setting, no trace: whatever
/// needs one of those is not seen, and said so. Needs no root; root sees more.

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/result.hpp"
#include "workload/real/monitors/kernel_views.hpp"
#include "workload/real/watch/task_watch.hpp"
#include "workload/record/record.hpp"

namespace spillway::real {

struct WatchOptions {
  std::vector<std::string> command;       ///< empty: what is going on
  std::string place;                      ///< a path on the file system that is asked about; empty: the current folder
  std::filesystem::path directory;        ///< takes timeline.csv; exists
  std::chrono::milliseconds interval{1000};  ///< between two frames
  double seconds = 0;                     ///< without a command: how long; 0: until interrupted
};

/// What one frame of the live table shows.
struct WatchFrame {
  double t_s = 0;
  DirtyView dirty;                        ///< pages
  std::optional<BdiView> device;          ///< of the watched file system, where debugfs is readable
  std::string device_name;
  std::optional<double> device_mb_per_s;  ///< written since the frame before
  std::optional<double> device_busy_pct;
  std::vector<TaskHistory> tasks;         ///< that run now
  std::vector<KworkerResult> kworkers;    ///< since the start
};

struct WatchResult {
  Record record;
  int exit_code = 0;                      ///< of the command; 128 + signal
  std::vector<std::string> not_seen;      ///< sentences
};

/// Runs the command, or waits; calls `frame` at every interval.
Result<WatchResult> watch(const WatchOptions& options, const std::function<void(const WatchFrame&)>& frame);

/// A frame as lines of at most `width` columns. Pure.
std::vector<std::string> frame_lines(const WatchFrame& frame, std::size_t width);

}  // namespace spillway::real
