#pragma once
/// Two independent samples: do they differ, and by how much? The ratio on the scale of logarithms is the main answer,
/// since the noise of times and rates is proportional; the rank test stands beside it because one disturbed repeat
/// must not make or break a claim.

#include <optional>
#include <span>

#include "analysis/statistics/interval.hpp"

namespace spillway::analysis {

struct TestResult {
  double statistic = 0;
  double df = 0;      ///< degrees of freedom where there are any
  double p = 1;       ///< two-sided
  bool exact = false; ///< from the exact null distribution, ties included
};

/// Welch's t test. Empty unless both have two values. Two samples without any spread: p is 0 or 1.
std::optional<TestResult> welch_t(std::span<const double> a, std::span<const double> b);

/// Mann and Whitney's U (of `a`: pairs in which a > b, ties as halves). The exact distribution, ties included, up to
/// 60 values together; the normal one with tie and continuity correction beyond. Empty if a sample is empty.
std::optional<TestResult> mann_whitney(std::span<const double> a, std::span<const double> b);

struct Shift {
  double shift = 0;                   ///< median of all differences b - a
  std::optional<Interval> interval;   ///< exact, at least the level asked for; empty when the samples are too small
};
/// Hodges and Lehmann's shift from `a` to `b`. Empty if a sample is empty.
std::optional<Shift> hodges_lehmann(std::span<const double> a, std::span<const double> b, double level);

struct Ratio {
  double ratio = 1;    ///< b over a, of geometric means
  Interval interval;   ///< of the ratio, asymmetric as ratios are
  double p = 1;        ///< two-sided, that the ratio is 1
  double log_se = 0;   ///< standard error of the logarithm of the ratio
  double df = 0;
  [[nodiscard]] bool differs() const { return interval.low > 1.0 || interval.high < 1.0; }
};
/// Ratio of b to a: Welch's interval of the difference of logarithms. The error says what is missing (two repeats
/// each, positive values).
Result<Ratio> ratio_of(std::span<const double> a, std::span<const double> b, double level);

/// Hedges' g: difference b - a in pooled standard deviations, corrected for small samples. Empty without spread or with
/// fewer than two values in either.
std::optional<double> effect_size(std::span<const double> a, std::span<const double> b);

}  // namespace spillway::analysis
