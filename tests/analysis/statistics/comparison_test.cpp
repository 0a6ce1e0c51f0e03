#include <catch2/catch.hpp>
#include <cmath>
#include <iostream>

#include "analysis/statistics/blocks.hpp"
#include "analysis/statistics/equivalence.hpp"
#include "analysis/statistics/many_tests.hpp"
#include "analysis/statistics/noise_floor.hpp"
#include "analysis/statistics/two_samples.hpp"
#include "tests/analysis/statistics/trials.hpp"

using namespace spillway;
using namespace spillway::analysis;
using namespace spillway::analysis::test;

namespace {
constexpr std::size_t kTrials = 20'000;
}

TEST_CASE("welch: an example with unequal spreads worked out by hand", "[analysis][statistics]") {
  const std::vector<double> a{1, 2, 3};     // mean 2, variance 1
  const std::vector<double> b{2, 6, 10, 14};  // mean 8, variance 80/3
  const auto test = welch_t(a, b);
  REQUIRE(test);
  const double va = 1.0 / 3;
  const double vb = (80.0 / 3) / 4;
  CHECK(test->statistic == Approx(6 / std::sqrt(va + vb)));
  CHECK(test->df == Approx((va + vb) * (va + vb) / (va * va / 2 + vb * vb / 3)));
  CHECK(test->p > 0.05);
  CHECK(test->p < 0.15);
  CHECK(welch_t(std::vector<double>{2, 2}, std::vector<double>{2, 2})->p == 1.0);
  CHECK(welch_t(std::vector<double>{2, 2}, std::vector<double>{3, 3})->p == 0.0);
  CHECK_FALSE(welch_t(std::vector<double>{2}, std::vector<double>{3, 3}));
}

TEST_CASE("mann-whitney: exact p values counted by hand, with and without ties", "[analysis][statistics]") {
  // 3 against 3 fully separated: 2 of C(6,3) = 20 arrangements are as extreme.
  const auto apart = mann_whitney(std::vector<double>{1, 2, 3}, std::vector<double>{4, 5, 6});
  REQUIRE(apart);
  CHECK(apart->exact);
  CHECK(apart->statistic == 0);
  CHECK(apart->p == Approx(0.1));
  // 5 against 5 fully separated: 2 of 252.
  CHECK(mann_whitney(std::vector<double>{1, 2, 3, 4, 5}, std::vector<double>{6, 7, 8, 9, 10})->p == Approx(2.0 / 252));
  // All values tied: nothing to see.
  CHECK(mann_whitney(std::vector<double>{1, 1}, std::vector<double>{1, 1, 1})->p == 1.0);
  // {1,2} against {2,3}: midranks 1, 2.5, 2.5, 4. Rank sums of pairs: 3.5 3.5 5 5 6.5 6.5; observed 3.5: 4 of 6.
  const auto tied = mann_whitney(std::vector<double>{1, 2}, std::vector<double>{2, 3});
  CHECK(tied->p == Approx(4.0 / 6));
  CHECK(tied->statistic == Approx(0.5));
}

TEST_CASE("mann-whitney: the normal approximation agrees with the exact one where they meet", "[analysis][statistics]") {
  Random random{17};
  std::vector<double> a = normal_sample(random, 30, 10, 0.1);
  std::vector<double> b = normal_sample(random, 30, 10.6, 0.1);
  const auto exact = mann_whitney(a, b);
  b.push_back(10.5);
  const auto normal = mann_whitney(a, b);
  REQUIRE(exact->exact);
  REQUIRE_FALSE(normal->exact);
  CHECK(normal->p == Approx(exact->p).epsilon(0.35));
}

TEST_CASE("hodges-lehmann: shift and exact interval of a small example", "[analysis][statistics]") {
  const auto shift = hodges_lehmann(std::vector<double>{1, 2, 3, 4}, std::vector<double>{11, 12, 13, 14}, 0.95);
  REQUIRE(shift);
  CHECK(shift->shift == Approx(10));
  REQUIRE(shift->interval);
  // 4 against 4: one difference may be left out on each side at P(U = 0) = 1/70 each: level 1 - 2/70.
  CHECK(shift->interval->level == Approx(1 - 2.0 / 70));
  CHECK(shift->interval->low == Approx(7));
  CHECK(shift->interval->high == Approx(13));
  // 3 against 3 cannot carry 95 %.
  CHECK_FALSE(hodges_lehmann(std::vector<double>{1, 2, 3}, std::vector<double>{4, 5, 6}, 0.95)->interval);
}

TEST_CASE("hodges-lehmann: its interval covers as stated", "[analysis][statistics]") {
  const std::uint64_t seed = 401;
  double stated = 0;
  const double covered = share_of(kTrials / 4, seed, [&](Random& random) {
    const auto shift = hodges_lehmann(normal_sample(random, 5, 10, 0.05), normal_sample(random, 5, 11, 0.05), 0.95);
    stated = shift->interval->level;
    return shift->interval->contains(1.0);
  });
  std::cout << "Hodges-Lehmann 5 against 5: covers " << covered << " (states " << stated << ", seed " << seed << ")\n";
  CHECK(covered == Approx(stated).margin(0.02));
}

TEST_CASE("ratio: its interval covers the true ratio within two points", "[analysis][statistics]") {
  const std::size_t n = GENERATE(3U, 5U, 10U);
  const double cv = GENERATE(0.03, 0.10);
  const std::uint64_t seed = 500 + n;
  const double covered = share_of(kTrials, seed, [&](Random& random) {
    return ratio_of(lognormal_sample(random, n, 10, cv), lognormal_sample(random, n, 12, 2 * cv), 0.95)
        ->interval.contains(1.2);
  });
  std::cout << "ratio, n = " << n << ", noise " << cv << " and " << 2 * cv << ": covers " << covered << " (seed " << seed
            << ")\n";
  CHECK(covered == Approx(0.95).margin(0.02));
}

TEST_CASE("A/A: at least 95 of 100 comparisons of equals say no difference", "[analysis][statistics]") {
  const std::size_t n = GENERATE(3U, 5U, 10U);
  const std::uint64_t seed = 600 + n;
  const double quiet = share_of(kTrials, seed, [&](Random& random) {
    return !ratio_of(normal_sample(random, n, 10, 0.03), normal_sample(random, n, 10, 0.03), 0.95)->differs();
  });
  std::cout << "A/A, n = " << n << ": no difference in " << quiet << " (seed " << seed << ")\n";
  CHECK(quiet >= 0.95 - 0.003);  // two standard errors of 20,000 trials
}

TEST_CASE("power: a true change of 10 % at 3 % noise is found with five repeats 90 times of 100", "[analysis][statistics]") {
  const std::uint64_t seed = 700;
  const double found = share_of(kTrials, seed, [&](Random& random) {
    const auto ratio = ratio_of(normal_sample(random, 5, 10, 0.03), normal_sample(random, 5, 11, 0.03), 0.95);
    return ratio->interval.low > 1.0;
  });
  std::cout << "10 % at 3 % noise, 5 repeats: found " << found << " (seed " << seed << ")\n";
  CHECK(found >= 0.90);
}

TEST_CASE("effect size: Hedges' g by hand", "[analysis][statistics]") {
  const auto g = effect_size(std::vector<double>{1, 2, 3}, std::vector<double>{3, 4, 5});
  REQUIRE(g);
  CHECK(*g == Approx(2.0 * (1 - 3.0 / 15)));
  CHECK_FALSE(effect_size(std::vector<double>{2, 2}, std::vector<double>{2, 2}));
}

TEST_CASE("holm: adjusted p values by hand, in the order of the input", "[analysis][statistics]") {
  const std::vector<double> adjusted = holm(std::vector<double>{0.04, 0.01, 0.03, 0.5});
  CHECK(adjusted[1] == Approx(0.04));  // 4 x 0.01
  CHECK(adjusted[2] == Approx(0.09));  // 3 x 0.03
  CHECK(adjusted[0] == Approx(0.09));  // 2 x 0.04 = 0.08, never below the one before
  CHECK(adjusted[3] == Approx(0.5));
}

TEST_CASE("holm: twenty comparisons of equals together give a false claim at most 5 times of 100", "[analysis][statistics]") {
  const std::uint64_t seed = 710;
  const double wrong = share_of(2'000, seed, [&](Random& random) {
    std::vector<double> p;
    for (int i = 0; i < 20; ++i) {
      p.push_back(ratio_of(normal_sample(random, 5, 10, 0.03), normal_sample(random, 5, 10, 0.03), 0.95)->p);
    }
    const std::vector<double> adjusted = holm(p);
    return *std::ranges::min_element(adjusted) < 0.05;
  });
  std::cout << "Holm over 20 A/A comparisons: false claim in " << wrong << " (seed " << seed << ")\n";
  CHECK(wrong <= 0.05 + 0.01);
}

TEST_CASE("equivalence: a ratio on the margin is called unchanged at most 5 times of 100", "[analysis][statistics]") {
  const std::uint64_t seed = 720;
  const double on_margin = share_of(kTrials, seed, [&](Random& random) {
    return equivalence_of(lognormal_sample(random, 5, 10, 0.01), lognormal_sample(random, 5, 10.5, 0.01), 0.05, 0.95)
        ->unchanged;
  });
  const double equal = share_of(kTrials, seed + 1, [&](Random& random) {
    return equivalence_of(lognormal_sample(random, 5, 10, 0.01), lognormal_sample(random, 5, 10, 0.01), 0.05, 0.95)
        ->unchanged;
  });
  std::cout << "unchanged within 5 %: on the margin " << on_margin << ", equal " << equal << " (seed " << seed << ")\n";
  CHECK(on_margin <= 0.05 + 0.005);
  CHECK(equal >= 0.95);
}

TEST_CASE("equivalence: few noisy repeats are never unchanged just because nothing was found", "[analysis][statistics]") {
  const std::uint64_t seed = 730;
  const double unchanged = share_of(5'000, seed, [&](Random& random) {
    return equivalence_of(normal_sample(random, 3, 10, 0.1), normal_sample(random, 3, 10, 0.1), 0.02, 0.95)->unchanged;
  });
  CHECK(unchanged < 0.05);
}

TEST_CASE("blocks: pairing takes out a drift that hides the effect from pooled samples", "[analysis][statistics]") {
  Random random{810};
  std::vector<double> a;
  std::vector<double> b;
  for (int block = 0; block < 6; ++block) {
    const double drift = std::exp(0.1 * block);  // the box gets 10 % slower per block
    a.push_back(10.0 * drift * (1 + 0.01 * random.normal()));
    b.push_back(10.5 * drift * (1 + 0.01 * random.normal()));
  }
  CHECK_FALSE(ratio_of(a, b, 0.95)->differs());
  const auto paired = paired_ratio(a, b, 0.95);
  REQUIRE(paired);
  CHECK(paired->differs());
  CHECK(paired->interval.contains(1.05));
  CHECK(*sign_flip_p(a, b) == Approx(2.0 / 64));
}

TEST_CASE("blocks: the paired interval covers within two points", "[analysis][statistics]") {
  const std::uint64_t seed = 820;
  const double covered = share_of(kTrials, seed, [&](Random& random) {
    return paired_ratio(lognormal_sample(random, 5, 10, 0.05), lognormal_sample(random, 5, 11, 0.05), 0.95)
        ->interval.contains(1.1);
  });
  std::cout << "paired ratio, 5 blocks: covers " << covered << " (seed " << seed << ")\n";
  CHECK(covered == Approx(0.95).margin(0.02));
}

TEST_CASE("noise floor: a quiet box keeps its level, one whose second run is slower does not", "[analysis][statistics]") {
  Random random{830};
  const std::vector<double> first = normal_sample(random, 40, 10, 0.03);
  const std::vector<double> second = normal_sample(random, 40, 10, 0.03);
  const auto quiet = noise_floor(first, second);
  REQUIRE(quiet);
  CHECK(quiet->comparisons == 8);
  CHECK(quiet->keeps_level());
  // (t(0.975; 8) + t(0.9; 8)) x 0.03 x sqrt(2/5) = (2.306 + 1.397) x 0.019 = 7 %.
  CHECK(quiet->smallest_effect == Approx(0.073).margin(0.02));
  std::vector<double> slower = second;
  for (double& value : slower) value *= 1.1;
  const auto biased = noise_floor(first, slower);
  CHECK_FALSE(biased->keeps_level());
  CHECK(biased->mean_interval.low > 1.0);
}
