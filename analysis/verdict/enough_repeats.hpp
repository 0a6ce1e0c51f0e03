#pragma once
/// Adaptive repeats: is one case repeated often enough? By Stein's two stages, so that asking after every repeat does not
/// make the interval cover less than it says: the number of repeats is fixed once, from the pilot, on logarithms.

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "analysis/statistics/interval.hpp"
#include "sim/result.hpp"
#include "workload/record/record.hpp"

namespace spillway::analysis {

struct RepeatAim {
  std::string metric = "total.untars_end_s";
  double half_width = 0.02;  ///< relative: 0.02 means "known to 2 %"
  double level = 0.95;
  std::size_t pilot = 5;     ///< assumed: below this the pilot's spread is hardly known
  std::size_t most = 50;
};

struct RepeatState {
  std::size_t needed = 0;            ///< repeats in all; 0 while the pilot runs
  bool enough = false;
  std::optional<Interval> interval;  ///< of the metric, once there are enough
};

/// `repeats`: the records of one case, in order. The error is the metric's.
Result<RepeatState> enough_repeats(std::span<const Record> repeats, const RepeatAim& aim);

}  // namespace spillway::analysis
