#pragma once
/// A guesser beside the prediction: somebody without a model says a number ("no change" is a ratio of 1, "the disk's rate") or
/// a direction, and is scored by the tolerance that the prediction is scored by. A model that does no better explains nothing.

#include <optional>
#include <string>

#include "workload/record/expectation.hpp"

namespace spillway::analysis {

struct Guess {
  std::string words;            ///< "1", "unchanged"
  bool right = false;
  std::optional<double> error;  ///< relative to the expected value, where both are numbers and it is not 0
};

/// Empty where the expectation has no guess.
std::optional<Guess> score_guess(const Expectation& expectation);

/// (found - expected) / expected; empty where the expected value is 0.
std::optional<double> relative_error(double found, double expected);

}  // namespace spillway::analysis
