#pragma once
/// How many repeats. Looking at the data after each repeat and stopping when it looks good makes a 5 % error of what was
/// promised as 5 % into 15 to 20 %; the rules here keep the promise.
///
/// - A stated width for one figure: Stein's two stages. A pilot gives the spread, the number of repeats follows from it
///   once, and the interval uses the pilot's degrees of freedom: coverage is at least the level, exactly, for normal noise.
/// - A comparison: looks at planned sizes only, the error shared out equally among them (Bonferroni), so that all looks
///   together are wrong at most as often as one look without the plan.
/// - Warm-up: leading repeats that the others cannot explain are left out, by a rule that is fixed before.

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "analysis/statistics/equivalence.hpp"
#include "analysis/statistics/two_samples.hpp"

namespace spillway::analysis {

/// Stein: total number of repeats for an interval of half-width `half_width` (in the unit of the values), from a pilot of
/// at least two values. Never less than the pilot. Capped at `most`.
std::size_t stein_repeats(std::span<const double> pilot, double half_width, double level, std::size_t most = 10'000);

/// Stein's interval after the second stage: mean of all, spread of the first `pilot_size` values only.
std::optional<Interval> stein_interval(std::span<const double> all, std::size_t pilot_size, double level);

enum class Decision {
  go_on,      ///< not decided, repeat until the next look
  different,  ///< the ratio differs from 1 at the shared-out level
  unchanged,  ///< within the margin at the shared-out level
  undecided,  ///< the last look is over and neither is shown
};

struct ComparePlan {
  /// Sizes per side at which the data are looked at, rising. assumed: five is what a person waits for; doubling keeps the
  /// price of the correction at four looks.
  std::vector<std::size_t> looks{5, 10, 20, 40};
  double level = 0.95;             ///< of the whole procedure
  std::optional<double> margin{};  ///< for "unchanged"; without it that is never concluded
};

struct Look {
  Decision decision = Decision::go_on;
  std::optional<Ratio> ratio;  ///< at the level of this look
  std::size_t next = 0;        ///< repeats per side at the next look; 0 when there is none
};

/// How two samples are turned into a ratio: ratio_of (independent) or paired_ratio (blocks).
using RatioFunction = std::function<Result<Ratio>(std::span<const double>, std::span<const double>, double)>;

/// Decide after n repeats per side (the smaller count is taken). Between looks the answer is go_on.
Look look_at(const ComparePlan& plan, std::span<const double> a, std::span<const double> b,
             const RatioFunction& ratio = ratio_of);

/// How many more repeats per side would make the interval of the ratio narrow enough to decide, judging by the spread so
/// far: to fit into the margin or, where a difference decides too, to exclude 1, whichever is nearer. A guess for a person
/// ("9 more repeats"), not a promise. Empty when no number below `most` would do.
std::optional<std::size_t> more_repeats_to_decide(const Ratio& ratio, std::size_t repeats, std::optional<double> margin,
                                                  double level, bool difference_decides = true, std::size_t most = 1000);

struct WarmUpRule {
  double level = 0.99;           ///< how surely a leading repeat must lie outside what the later ones predict
  double least_difference = 0.02;///< relative; a smaller one is never called warm-up
  std::size_t most = 2;          ///< repeats that may be left out at most. assumed: more is not warm-up but drift
  std::size_t keep = 4;          ///< repeats that must remain to judge by
};
/// How many leading repeats to leave out: 0, 1 or up to `most`.
std::size_t warm_up(std::span<const double> repeats, const WarmUpRule& rule = {});

}  // namespace spillway::analysis
