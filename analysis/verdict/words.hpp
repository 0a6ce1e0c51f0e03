#pragma once
/// The words of a verdict, in one place, so that nothing ever says "measured" of a simulation.

#include <optional>
#include <string>

#include "analysis/statistics/interval.hpp"
#include "workload/record/expectation.hpp"

namespace spillway::analysis {

/// "predicted" or "measured".
std::string_view verb_of(bool simulated);
/// "up 12 % (8 to 15)", "down 3.4 % (2.9 to 3.9)", "up 5.2-fold (4.8 to 5.6)"; without an interval only the number.
std::string change_words(double ratio, const std::optional<Interval>& interval);
/// "101.6 s (99.1 to 104)".
std::string value_words(double value, const std::optional<Interval>& interval, std::string_view unit);
/// Four significant digits at most, without an exponent for everyday sizes.
std::string number_words(double value);
/// The expectation as a phrase: "untar[8].elapsed_s at most 30 s".
std::string claim_words(const Expectation& expectation);
std::string selector_words(const CaseSelector& selector);

}  // namespace spillway::analysis
