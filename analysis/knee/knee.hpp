#pragma once
/// The knee: where in a series of untars throughput collapses, by what factor, and how surely it is there. "No knee" is
/// an answer, and so is a second one.
///
/// The first knee is where the collapse begins; later ones deepen it. Where several repeats of the series are given the
/// fit is made on their geometric mean, and the interval follows from their spread; with one repeat it follows from the
/// residuals of the fit (or the noise floor, whichever is larger).

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/knee/falling_steps.hpp"
#include "analysis/statistics/interval.hpp"

namespace spillway::analysis {

struct Knee {
  std::size_t at = 0;     ///< index (from 0) of the first value of the lower level
  double ratio = 1;       ///< level before / level after, above 1
};

struct KneeFinding {
  std::vector<Knee> knees;  ///< at least one, in order
  /// Indices (from 0) between which the first knee lies in `interval.level` of the resamples that have one.
  Interval interval;
  double found_share = 0;   ///< share of the resamples that have a knee at all
  double before = 0;        ///< level before the first knee, in the unit of the series
  double after = 0;         ///< level after the last knee
  [[nodiscard]] const Knee& first() const { return knees.front(); }
};

struct KneeOptions {
  StepOptions steps{};
  double level = 0.95;
  std::size_t resamples = 200;
  std::uint64_t seed = 1;
};

/// Fewer values cannot show a knee: two values are a line, whatever they are.
inline constexpr std::size_t kKneeLeast = 3;

/// `series`: throughput per untar (any positive unit), larger is faster. Empty: no knee, or nothing to see one in.
std::optional<KneeFinding> find_knee(std::span<const double> series, const KneeOptions& options = {});

/// Several repeats of the same series; those of another length than the first are left out.
std::optional<KneeFinding> find_knee(std::span<const std::vector<double>> repeats, const KneeOptions& options = {});

}  // namespace spillway::analysis
