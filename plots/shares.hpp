#pragma once
/// Shares of a whole and counts by name: where the device's time went, kernel workers by queue, lengths of pauses.

#include "plots/figure.hpp"
#include "workload/record/record.hpp"

#include <optional>
#include <vector>

namespace spillway::plots {

/// The device's time from the first untar to durable: transfer, seek, rotation, read-modify-write, ..., idle. None where
/// the device does not say.
std::optional<Figure> device_figure(const Record& record);

/// CPU of each kernel worker, by the queue it served. None when none was seen.
std::optional<Figure> kworkers_figure(const Record& record);

/// How often writers slept how long in balance_dirty_pages, in classes that double. None without a sleep.
std::optional<Figure> pauses_figure(const Record& record, const std::vector<double>& pauses_ms);

/// How many files have how many extents, from the counters files_by_extents.N (1, 2, up to 4, up to 8, ...). None where nobody looked.
std::optional<Figure> extents_figure(const Record& record);

}  // namespace spillway::plots
