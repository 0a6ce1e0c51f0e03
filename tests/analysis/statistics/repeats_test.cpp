#include "analysis/statistics/repeats.hpp"

#include <catch2/catch.hpp>
#include <iostream>

#include "tests/analysis/statistics/trials.hpp"

using namespace spillway;
using namespace spillway::analysis;
using namespace spillway::analysis::test;

TEST_CASE("repeats: Stein's rule reaches the stated width and covers", "[analysis][statistics]") {
  const std::uint64_t seed = 900;
  double widest = 0;
  const double covered = share_of(10'000, seed, [&](Random& random) {
    std::vector<double> values = normal_sample(random, 5, 10, 0.04);
    const std::size_t total = stein_repeats(values, 0.3, 0.95);
    while (values.size() < total) values.push_back(10 * (1 + 0.04 * random.normal()));
    const auto interval = stein_interval(values, 5, 0.95);
    widest = std::max(widest, interval->half_width());
    return interval->contains(10);
  });
  std::cout << "Stein, pilot of 5: covers " << covered << ", widest half-width " << widest << " (seed " << seed << ")\n";
  CHECK(widest <= 0.3 + 1e-9);
  CHECK(covered >= 0.95 - 0.005);
  // A pilot that is more precise than asked covers more than it states; never less.
  CHECK(covered <= 0.99);
}

TEST_CASE("repeats: looking four times at an A/A comparison is still wrong at most 5 times of 100", "[analysis][statistics]") {
  const ComparePlan plan;
  const std::uint64_t seed = 910;
  const auto decide = [&](Random& random, double true_ratio, std::size_t* used) {
    std::vector<double> a;
    std::vector<double> b;
    while (true) {
      a.push_back(10 * (1 + 0.03 * random.normal()));
      b.push_back(10 * true_ratio * (1 + 0.03 * random.normal()));
      const Look look = look_at(plan, a, b);
      if (look.decision != Decision::go_on) {
        if (used != nullptr) *used += a.size();
        return look.decision;
      }
    }
  };
  constexpr std::size_t kTrials = 5'000;
  const double wrong =
      share_of(kTrials, seed, [&](Random& random) { return decide(random, 1.0, nullptr) == Decision::different; });
  std::size_t used = 0;
  const double found =
      share_of(kTrials, seed + 1, [&](Random& random) { return decide(random, 1.1, &used) == Decision::different; });
  std::cout << "looks at 5, 10, 20, 40: false difference " << wrong << ", a true 10 % found " << found << " with "
            << static_cast<double>(used) / kTrials << " repeats on average (seed " << seed << ")\n";
  CHECK(wrong <= 0.05);
  CHECK(found >= 0.99);
  CHECK(static_cast<double>(used) / kTrials < 6.5);

  // What the plan guards against: the same data looked at after every repeat, at the full level each time.
  const double peeking = share_of(kTrials, seed + 2, [&](Random& random) {
    std::vector<double> a;
    std::vector<double> b;
    for (std::size_t n = 1; n <= 40; ++n) {
      a.push_back(10 * (1 + 0.03 * random.normal()));
      b.push_back(10 * (1 + 0.03 * random.normal()));
      if (n >= 5 && ratio_of(a, b, 0.95)->differs()) return true;
    }
    return false;
  });
  std::cout << "looking after every repeat instead: false difference " << peeking << "\n";
  CHECK(peeking > 0.12);
}

TEST_CASE("repeats: between looks nothing is decided, and the next look is named", "[analysis][statistics]") {
  const ComparePlan plan;
  const std::vector<double> a{1, 1.01, 0.99, 1, 1, 1.02, 0.98};
  std::vector<double> b;
  for (const double x : a) b.push_back(3 * x);
  const Look at_four = look_at(plan, std::span{a}.first(4), std::span{b}.first(4));
  CHECK(at_four.decision == Decision::go_on);
  CHECK(at_four.next == 5);
  CHECK(look_at(plan, std::span{a}.first(5), std::span{b}.first(5)).decision == Decision::different);
  const Look at_seven = look_at(plan, a, b);
  CHECK(at_seven.decision == Decision::go_on);
  CHECK(at_seven.next == 10);
}

TEST_CASE("repeats: unchanged within a margin can be decided early too", "[analysis][statistics]") {
  const ComparePlan plan{.margin = 0.05};
  Random random{920};
  const auto a = normal_sample(random, 5, 10, 0.005);
  const auto b = normal_sample(random, 5, 10, 0.005);
  CHECK(look_at(plan, a, b).decision == Decision::unchanged);
}

TEST_CASE("repeats: the number that is still missing falls with the spread and is none where nothing helps",
          "[analysis][statistics]") {
  const auto ratio_with = [](double ratio, double se) {
    return Ratio{.ratio = ratio, .interval = {}, .p = 1, .log_se = se, .df = 8};
  };
  const auto much = more_repeats_to_decide(ratio_with(1.02, 0.03), 5, std::nullopt, 0.95);
  const auto little = more_repeats_to_decide(ratio_with(1.02, 0.011), 5, std::nullopt, 0.95);
  REQUIRE(much);
  REQUIRE(little);
  CHECK(*little < *much);
  // By hand: spread 0.011 x sqrt(5) = 0.0246 a repeat; need t x 0.0246 / sqrt(n) < ln 1.02 = 0.0198. With n = 8, t(0.975;
  // 14) = 2.145: 0.01866 < 0.0198; with n = 7, t(0.975; 12) = 2.179: 0.02026. So three more.
  CHECK(*little == 3);
  CHECK_FALSE(more_repeats_to_decide(ratio_with(1.0, 0.03), 5, std::nullopt, 0.95));
  CHECK(more_repeats_to_decide(ratio_with(1.0, 0.03), 5, 0.05, 0.95));
}

TEST_CASE("warm-up: a slow first repeat is left out, steady ones are kept", "[analysis][statistics]") {
  CHECK(warm_up(std::vector<double>{15, 10, 10.1, 9.9, 10, 10.05}) == 1);
  CHECK(warm_up(std::vector<double>{10.05, 10, 10.1, 9.9, 10, 10.05}) == 0);
  CHECK(warm_up(std::vector<double>{20, 15, 10, 10.1, 9.9, 10, 10.05}) == 2);
  // Too few remain to judge by.
  CHECK(warm_up(std::vector<double>{15, 10, 10, 10}) == 0);
  // Without any spread a difference below 2 % is not warm-up.
  CHECK(warm_up(std::vector<double>{10.1, 10, 10, 10, 10}) == 0);
  const std::uint64_t seed = 930;
  const double dropped =
      share_of(10'000, seed, [&](Random& random) { return warm_up(normal_sample(random, 8, 10, 0.03)) > 0; });
  std::cout << "warm-up rule on steady repeats: leaves one out in " << dropped << " (seed " << seed << ")\n";
  CHECK(dropped <= 0.02);
}
