#pragma once
/// The A/A run: the same case against itself, in interleaved pairs. It says how large an effect must be before this box
/// can show it, and whether the decision procedure keeps its level here (a box that drifts or has neighbours may not).

#include <cstddef>
#include <span>

#include "analysis/statistics/interval.hpp"
#include "sim/result.hpp"

namespace spillway::analysis {

struct NoiseFloor {
  std::size_t pairs = 0;
  double mean_ratio = 1;        ///< of second to first; far from 1 means that order matters on this box
  Interval mean_interval;       ///< of mean_ratio
  double single_pair = 0;       ///< |ratio - 1| that 95 of 100 single pairs stay under
  std::size_t comparisons = 0;  ///< groups of `group` pairs that were compared as if they were A and B
  std::size_t false_differences = 0;
  std::size_t allowed = 0;      ///< what chance alone reaches 99 times of 100 at this level
  double smallest_effect = 0;   ///< the change that `group` repeats a side find 9 times of 10 at this noise
  [[nodiscard]] bool keeps_level() const { return false_differences <= allowed; }
};

/// `first` and `second` are the two sides in the order in which they were run. `group`: repeats per comparison.
Result<NoiseFloor> noise_floor(std::span<const double> first, std::span<const double> second, std::size_t group = 5,
                               double level = 0.95);

}  // namespace spillway::analysis
