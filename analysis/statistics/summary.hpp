#pragma once
/// What a handful of repeats says at a glance. Nothing here is an interval; see interval.hpp.

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace spillway::analysis {

struct Summary {
  std::size_t n = 0;
  double mean = 0;
  double median = 0;
  double stddev = 0;  ///< sample standard deviation (n - 1); 0 for one value
  double min = 0;
  double max = 0;
  /// Coefficient of variation, stddev / |mean|; 0 when the mean is 0.
  [[nodiscard]] double cv() const;
};

/// Empty for no values: "no sample" is not 0.
std::optional<Summary> summarise(std::span<const double> values);

/// The middle value, or the mean of the two middle ones. `values` must not be empty.
double median_of(std::span<const double> values);
/// `values` must not be empty.
double mean_of(std::span<const double> values);
/// Sample variance with n - 1; 0 for fewer than two values.
double variance_of(std::span<const double> values);
/// Linear interpolation between order statistics (type 7). q in [0, 1]. `values` must not be empty.
double quantile_of(std::span<const double> values, double q);
/// Natural logarithms, or nothing if any value is not positive. Times and rates are compared on this scale, because
/// their noise is proportional and the answer wanted is a ratio.
std::optional<std::vector<double>> logarithms(std::span<const double> values);

}  // namespace spillway::analysis
