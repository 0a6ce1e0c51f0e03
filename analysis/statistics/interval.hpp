#pragma once
/// Intervals for one sample of repeats, each with the level that it really has.
///
/// - mean: Student's t. Its coverage is exact for normal noise; for proportional noise take logarithms first.
/// - median: from order statistics, free of any assumption about the distribution, but few repeats cannot carry a high
///   level: five values, taken whole, cover the median 93.75 times of 100, so "95 %" needs six. A bootstrapped median of
///   five does not cover either (its resamples never leave the five values), it only does not say so; hence the
///   bootstrap here is refused below `kBootstrapLeast` values, where the tests show that it covers.
/// - an interpolated one for the median (Hettmansperger and Sheather 1986), near the nominal level instead of above it.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "sim/result.hpp"

namespace spillway::analysis {

struct Interval {
  double low = 0;
  double high = 0;
  double level = 0;  ///< the coverage that it has by construction, for example 0.9688 for six values and the median
  [[nodiscard]] bool contains(double x) const { return low <= x && x <= high; }
  [[nodiscard]] double half_width() const { return (high - low) / 2; }
};

/// Student's t interval of the mean. Empty for fewer than two values.
std::optional<Interval> mean_interval(std::span<const double> values, double level);

/// The narrowest symmetric pair of order statistics that covers the median with at least `level`. The error says how
/// many values would be needed.
Result<Interval> median_interval(std::span<const double> values, double level);

/// As above with interpolation between the two neighbouring pairs: coverage within about a point of `level` for any
/// distribution in common use. Refused at the same sizes.
Result<Interval> median_interval_interpolated(std::span<const double> values, double level);

/// The least number of values whose range covers the median with `level`.
std::size_t least_for_median(double level);

/// From here on the bootstrap of a mean stays within two points of its level; with 25 values it covers 93 % instead of
/// 95 % (2 F(1.96 sqrt((n-1)/n)) - 1 with F of Student's t), with 40 it covers about 94 %.
inline constexpr std::size_t kBootstrapLeast = 40;

using Statistic = std::function<double(std::span<const double>)>;
/// Percentile bootstrap of a smooth statistic (a mean, a ratio of sums; not a median or a maximum).
Result<Interval> bootstrap_interval(std::span<const double> values, const Statistic& statistic, double level,
                                    std::uint64_t seed, std::size_t resamples = 2000);

}  // namespace spillway::analysis
