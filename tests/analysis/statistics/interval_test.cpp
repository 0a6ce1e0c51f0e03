#include "analysis/statistics/interval.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <iostream>

#include "analysis/statistics/distributions.hpp"
#include "analysis/statistics/summary.hpp"
#include "tests/analysis/statistics/trials.hpp"

using namespace spillway;
using namespace spillway::analysis;
using namespace spillway::analysis::test;

namespace {
constexpr std::size_t kTrials = 20'000;  // standard error of a coverage of 95 %: 0.15 points
}

TEST_CASE("summary: mean, median, spread of five repeats by hand", "[analysis][statistics]") {
  const std::vector<double> values{3, 1, 2, 5, 4};
  const auto summary = summarise(values);
  REQUIRE(summary);
  CHECK(summary->mean == Approx(3));
  CHECK(summary->median == Approx(3));
  CHECK(summary->stddev == Approx(std::sqrt(2.5)));
  CHECK(summary->cv() == Approx(std::sqrt(2.5) / 3));
  CHECK(median_of(std::vector<double>{4, 1, 3, 2}) == Approx(2.5));
  CHECK_FALSE(summarise({}));
}

TEST_CASE("distributions: tabulated quantiles", "[analysis][statistics]") {
  // Student's t from any printed table: t(0.975; 4) = 2.776, t(0.975; 8) = 2.306.
  CHECK(student_t_quantile(0.975, 4) == Approx(2.776).margin(5e-4));
  CHECK(student_t_quantile(0.975, 8) == Approx(2.306).margin(5e-4));
  CHECK(student_t_cdf(-2.306, 8) == Approx(0.025).margin(1e-5));
  CHECK(normal_quantile(0.975) == Approx(1.95996).margin(1e-5));
  CHECK(binomial_cdf(0, 5, 0.5) == Approx(1.0 / 32));
  CHECK(binomial_cdf(-1, 5, 0.5) == 0.0);
  CHECK(std::isinf(student_t_quantile(1.0, 3)));
}

TEST_CASE("intervals: Student's t of the mean covers within two points of its level", "[analysis][statistics]") {
  const std::size_t n = GENERATE(3U, 5U, 10U, 20U);
  const double level = GENERATE(0.9, 0.95);
  const std::uint64_t seed = 100 + n;
  const double covered = share_of(kTrials, seed, [&](Random& random) {
    return mean_interval(normal_sample(random, n, 10.0, 0.05), level)->contains(10.0);
  });
  std::cout << "t interval, n = " << n << ", level " << level << ": covers " << covered << " (seed " << seed << ")\n";
  CHECK(covered == Approx(level).margin(0.02));
}

TEST_CASE("intervals: five repeats cannot cover the median at 95 %, and are told so", "[analysis][statistics]") {
  const std::vector<double> five{1, 2, 3, 4, 5};
  const auto refused = median_interval(five, 0.95);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what.find("93.75") != std::string::npos);
  CHECK(refused.error().what.find("6 are needed") != std::string::npos);
  const auto six = median_interval(std::vector<double>{6, 1, 2, 3, 4, 5}, 0.95);
  REQUIRE(six);
  CHECK(six->low == 1);
  CHECK(six->high == 6);
  CHECK(six->level == Approx(1 - 2.0 / 64));
  CHECK(least_for_median(0.95) == 6);
  CHECK(least_for_median(0.99) == 8);
}

TEST_CASE("intervals: order statistics cover the median as stated, skewed noise included", "[analysis][statistics]") {
  const std::size_t n = GENERATE(6U, 7U, 10U, 15U, 25U);
  const bool skewed = GENERATE(false, true);
  const std::uint64_t seed = 200 + n + (skewed ? 1000 : 0);
  const auto sample = [&](Random& random) {
    return skewed ? lognormal_sample(random, n, 10.0, 0.8) : normal_sample(random, n, 10.0, 0.1);
  };
  double stated = 0;
  const double exact = share_of(kTrials, seed, [&](Random& random) {
    const auto interval = median_interval(sample(random), 0.95);
    stated = interval->level;
    return interval->contains(10.0);
  });
  const double interpolated = share_of(kTrials, seed + 1, [&](Random& random) {
    return median_interval_interpolated(sample(random), 0.95)->contains(10.0);
  });
  std::cout << "median, n = " << n << (skewed ? ", log-normal" : ", normal") << ": exact covers " << exact << " (states "
            << stated << "), interpolated " << interpolated << " (seed " << seed << ")\n";
  CHECK(stated >= 0.95);
  CHECK(exact == Approx(stated).margin(0.01));
  CHECK(interpolated == Approx(0.95).margin(0.02));
}

TEST_CASE("intervals: the bootstrap is refused where it does not cover and covers where it is not", "[analysis][statistics]") {
  const std::size_t n = kBootstrapLeast;
  const std::vector<double> few(n - 1, 1.0);
  CHECK_FALSE(bootstrap_interval(few, mean_of, 0.95, 1));
  const std::uint64_t seed = 300;
  const double covered = share_of(3'000, seed, [&](Random& random) {
    return bootstrap_interval(normal_sample(random, n, 10.0, 0.1), mean_of, 0.95, random.bits(), 1000)->contains(10.0);
  });
  std::cout << "bootstrap of the mean, n = " << n << ": covers " << covered << " (seed " << seed << ")\n";
  CHECK(covered == Approx(0.95).margin(0.02));
}

TEST_CASE("intervals: a bootstrapped median of five is just the range and covers 93.75 %, not the 95 % it claims",
          "[analysis][statistics]") {
  const std::uint64_t seed = 310;
  const double covered = share_of(10'000, seed, [&](Random& random) {
    const std::vector<double> values = normal_sample(random, 5, 10.0, 0.1);
    std::vector<double> medians(400);
    for (double& median : medians) {
      std::vector<double> draw(5);
      for (double& value : draw) value = values[random.below(5)];
      median = median_of(draw);
    }
    const Interval interval{quantile_of(medians, 0.025), quantile_of(medians, 0.975), 0.95};
    return interval.contains(10.0);
  });
  std::cout << "bootstrapped median of five: covers " << covered << " (seed " << seed << ")\n";
  CHECK(covered == Approx(1 - 2.0 / 32).margin(0.007));
}
