#include "analysis/verdict/guesser.hpp"

#include <cmath>

#include "analysis/verdict/words.hpp"

namespace spillway::analysis {

std::optional<double> relative_error(double found, double expected) {
  if (expected == 0) return std::nullopt;
  return (found - expected) / expected;
}

std::optional<Guess> score_guess(const Expectation& e) {
  if (e.guess_text) {
    const char* const claimed = e.op == ExpectOp::up ? "up" : e.op == ExpectOp::down ? "down" : "unchanged";
    return Guess{*e.guess_text, *e.guess_text == claimed, std::nullopt};
  }
  if (!e.guess || !e.value) return std::nullopt;
  Guess guess{number_words(*e.guess), false, std::nullopt};
  switch (e.op) {
    case ExpectOp::at_most: guess.right = *e.guess <= *e.value; break;
    case ExpectOp::at_least: guess.right = *e.guess >= *e.value; break;
    default: {
      const double slack = e.tolerance_abs ? *e.tolerance_abs : e.tolerance.value_or(0) * std::abs(*e.value);
      guess.right = std::abs(*e.guess - *e.value) <= slack + 1e-9;
      guess.error = relative_error(*e.guess, *e.value);
    }
  }
  return guess;
}

}  // namespace spillway::analysis
