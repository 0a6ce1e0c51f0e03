#pragma once
/// "Unchanged" is a claim of its own and needs its own evidence: the absence of a significant difference is none. Two
/// one-sided tests (Schuirmann): unchanged within a margin when the ratio is significantly above 1 / (1 + margin) and
/// significantly below 1 + margin, which is the same as the interval of level 1 - 2 alpha lying between them.

#include <span>

#include "analysis/statistics/two_samples.hpp"
#include "sim/result.hpp"

namespace spillway::analysis {

struct Equivalence {
  bool unchanged = false;
  double p = 1;       ///< the larger of the two one-sided p values
  Interval interval;  ///< of the ratio, level 1 - 2 alpha
};

/// `margin`: 0.05 means "within 5 %". `level`: 0.95 means that a ratio on the margin is called unchanged 5 times of 100.
Equivalence equivalence_of(const Ratio& ratio, double margin, double level);
Result<Equivalence> equivalence_of(std::span<const double> a, std::span<const double> b, double margin, double level);

}  // namespace spillway::analysis
