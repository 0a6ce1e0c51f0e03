#pragma once
/// Many comparisons at once: a map of 20 pieces of advice holds a false one at 5 % unless the level is shared out.

#include <span>
#include <vector>

namespace spillway::analysis {

/// Holm's step-down adjustment (controls the chance of any false claim, whatever the dependence between the tests).
/// The result is in the order of the input; compare it with the level as if there were one test.
std::vector<double> holm(std::span<const double> p_values);

}  // namespace spillway::analysis
