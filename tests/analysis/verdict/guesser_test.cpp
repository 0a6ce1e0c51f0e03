/// The guesser is scored by the tolerance of the prediction, on both sides of it.

#include <catch2/catch.hpp>

#include "analysis/verdict/advice_map.hpp"
#include "analysis/verdict/guesser.hpp"

using namespace spillway;
using namespace spillway::analysis;

TEST_CASE("guesser: right inside the tolerance and wrong outside", "[analysis][verdict]") {
  Expectation e;
  e.metric = "total.mb_per_s";
  e.value = 200;
  e.tolerance = 0.1;
  CHECK_FALSE(score_guess(e));
  e.guess = 220;
  REQUIRE(score_guess(e));
  CHECK(score_guess(e)->right);
  CHECK(*score_guess(e)->error == Approx(0.1));
  e.guess = 221;
  CHECK_FALSE(score_guess(e)->right);
  e.tolerance.reset();
  e.tolerance_abs = 25;
  CHECK(score_guess(e)->right);
  e.op = ExpectOp::at_least;
  CHECK(score_guess(e)->right);
  e.guess = 199;
  CHECK_FALSE(score_guess(e)->right);
}

TEST_CASE("guesser: a direction is right when it is the claimed one", "[analysis][verdict]") {
  Expectation e;
  e.op = ExpectOp::unchanged;
  e.guess_text = "up";
  CHECK_FALSE(score_guess(e)->right);
  e.guess_text = "unchanged";
  CHECK(score_guess(e)->right);
  e.op = ExpectOp::down;
  CHECK_FALSE(score_guess(e)->right);
}

TEST_CASE("guesser: comparisons with a guess beside them are a case, not a map of advice", "[analysis][verdict]") {
  Expectation e;
  e.op = ExpectOp::value;
  e.value = 2;
  e.versus = CaseSelector{};
  CHECK(is_advice(std::vector{e}));
  e.guess = 1;
  CHECK_FALSE(is_advice(std::vector{e}));
}
