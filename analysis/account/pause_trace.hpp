#pragma once
/// bdp.csv beside a record: when each sleep in balance_dirty_pages began, and how long it was asked to be.

#include <string>
#include <string_view>
#include <vector>

#include "workload/record/record.hpp"

namespace spillway::analysis {

struct DatedPause {
  double t_s = 0;       ///< since the first untar's start
  double pause_s = 0;   ///< asked for; the kernel's event comes before the sleep
};

/// The sleeps in a bdp.csv of any box: the columns pause_ms, and t_s, t_ms or t_mono_s (the record's counter monotonic_origin_s is
/// then the first untar's start). Decisions without a sleep are left out. Empty where a column or the origin is missing.
std::vector<DatedPause> read_pauses(std::string_view csv, const Record& record);

}  // namespace spillway::analysis
