#pragma once
/// Randomised blocks (their order is drawn by the campaign loop). A box drifts (caches, other tenants, a disk filling up), so the cases of a comparison are run in
/// blocks: every case once per block, in an order drawn afresh for each block. Comparing within blocks takes the drift
/// out; comparing the pooled samples would take it for noise, or, with a fixed order, for an effect.

#include <optional>
#include <span>

#include "analysis/statistics/two_samples.hpp"
#include "sim/result.hpp"

namespace spillway::analysis {

/// Ratio of b to a from values paired by block: t interval of the mean logarithm of the ratios. The error says what is
/// missing (equally many values, at least two blocks, values above zero).
Result<Ratio> paired_ratio(std::span<const double> a, std::span<const double> b, double level);

/// Exact two-sided p of the sign-flip test on logarithms of paired ratios: no assumption but symmetry. Up to 20 pairs;
/// empty beyond, or without pairs. With n pairs p cannot be below 2 / 2^n: five pairs never reach 5 %.
std::optional<double> sign_flip_p(std::span<const double> a, std::span<const double> b);

}  // namespace spillway::analysis
