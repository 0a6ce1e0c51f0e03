#include "analysis/knee/knee.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <iostream>

#include "tests/analysis/statistics/trials.hpp"

using namespace spillway::analysis;
using namespace spillway::analysis::test;

namespace {

std::vector<double> rates(std::initializer_list<double> elapsed) {
  std::vector<double> out;
  for (const double seconds : elapsed) out.push_back(1.0 / seconds);
  return out;
}

/// `n` values of 100, then 100 / ratio from index `knee` on, with noise.
std::vector<double> with_knee(Random& random, std::size_t n, std::size_t knee, double ratio, double noise) {
  std::vector<double> out(n);
  for (std::size_t i = 0; i < n; ++i) out[i] = (i < knee ? 100.0 : 100.0 / ratio) * std::exp(noise * random.normal());
  return out;
}

constexpr KneeOptions kNoInterval{.resamples = 0};

}  // namespace

TEST_CASE("knee: a known knee is found where it is, at any place", "[analysis][knee]") {
  for (std::size_t knee = 1; knee < 8; ++knee) {
    std::vector<double> series(8, 100.0);
    for (std::size_t i = knee; i < 8; ++i) series[i] = 10.0;
    const auto found = find_knee(series);
    CAPTURE(knee);
    REQUIRE(found);
    REQUIRE(found->knees.size() == 1);
    CHECK(found->first().at == knee);
    CHECK(found->first().ratio == Approx(10.0));
    CHECK(found->before == Approx(100));
    CHECK(found->after == Approx(10));
    CHECK(found->interval.contains(static_cast<double>(knee)));
  }
}

TEST_CASE("knee: two knees are two", "[analysis][knee]") {
  const auto found = find_knee(std::vector<double>{100, 100, 100, 30, 30, 30, 8, 8, 8});
  REQUIRE(found);
  REQUIRE(found->knees.size() == 2);
  CHECK(found->knees[0].at == 3);
  CHECK(found->knees[1].at == 6);
  CHECK(found->knees[1].ratio == Approx(30.0 / 8));
}

TEST_CASE("knee: no knee in flat, rising, gently falling or too short series", "[analysis][knee]") {
  CHECK_FALSE(find_knee(std::vector<double>(8, 42.0)));
  CHECK_FALSE(find_knee(std::vector<double>{1, 2, 4, 8, 16, 32}));
  CHECK_FALSE(find_knee(std::vector<double>{100, 99, 98, 97, 96, 95, 94, 93}));
  CHECK_FALSE(find_knee(std::vector<double>{100, 10}));  // two points
  CHECK_FALSE(find_knee(std::vector<double>{100}));
  CHECK_FALSE(find_knee(std::vector<double>{}));
  CHECK_FALSE(find_knee(std::vector<double>{100, 100, 0, 0}));  // no throughput is not a rate
  CHECK_FALSE(find_knee(std::vector<double>{100, 100, 80, 100, 100, 100, 100, 100}));  // a dip that recovers
}

TEST_CASE("knee: a drop just above the least ratio is one, just below is none", "[analysis][knee]") {
  const auto series = [](double ratio) { return std::vector<double>{100, 100, 100, 100 / ratio, 100 / ratio, 100 / ratio}; };
  CHECK(find_knee(series(1.32)));
  CHECK_FALSE(find_knee(series(1.28)));
}

TEST_CASE("knee: noise alone shows a false one at most 5 times of 100", "[analysis][knee]") {
  const auto n = GENERATE(as<std::size_t>{}, 5, 8, 16, 60);
  const double noise = GENERATE(0.03, 0.1, 0.3);
  const std::uint64_t seed = 1000 + n;
  const std::size_t trials = n > 20 ? 200 : 2'000;
  const double wrong =
      share_of(trials, seed, [&](Random& random) { return find_knee(with_knee(random, n, n, 1, noise), kNoInterval).has_value(); });
  std::cout << "no knee, n = " << n << ", noise " << noise << ": false knee in " << wrong << " (seed " << seed << ")\n";
  CHECK(wrong <= 0.05);
}

TEST_CASE("knee: found under noise, and its interval holds the true place 95 times of 100", "[analysis][knee]") {
  const double noise = GENERATE(0.03, 0.1, 0.2);
  const double ratio = GENERATE(3.0, 10.0);
  const std::uint64_t seed = 1100;
  std::size_t found_count = 0;
  std::size_t held = 0;
  Random random{seed};
  constexpr std::size_t kTrials = 300;
  for (std::size_t i = 0; i < kTrials; ++i) {
    const std::size_t knee = 2 + random.below(5);
    const auto found = find_knee(with_knee(random, 8, knee, ratio, noise), {.resamples = 100, .seed = random.bits()});
    if (!found) continue;
    ++found_count;
    held += found->interval.contains(static_cast<double>(knee)) ? 1 : 0;
  }
  const double found_share = static_cast<double>(found_count) / kTrials;
  const double held_share = static_cast<double>(held) / static_cast<double>(found_count);
  std::cout << "knee of " << ratio << " at noise " << noise << ": found " << found_share << ", interval holds it "
            << held_share << " (seed " << seed << ")\n";
  CHECK(found_share >= 0.90);
  CHECK(held_share >= 0.95);
}

TEST_CASE("knee: the founding mail's two series collapse at untar 5 or 6", "[analysis][knee]") {
  const auto first = find_knee(rates({5.03, 5.17, 5.36, 5.35, 7.36, 27.81, 85.54, 101.64}));
  const auto second = find_knee(rates({5.23, 5.25, 6.08, 5.31, 14.02, 23.32, 31.14, 82.36}));
  REQUIRE(first);
  REQUIRE(second);
  const std::size_t first_untar = first->first().at + 1;
  const std::size_t second_untar = second->first().at + 1;
  std::cout << "founding mail: knee at untar " << first_untar << " (" << first->interval.low + 1 << " to "
            << first->interval.high + 1 << ") and " << second_untar << "\n";
  CHECK((first_untar == 5 || first_untar == 6));
  CHECK(second_untar == 5);
}

TEST_CASE("knee: medians of a real kernel collapse where the dirty limit says", "[analysis][knee]") {
  // Eight untars of 150 MB at 40 MiB/s on a real kernel (6.18, XFS); dirty limit L, background L / 2. Writers are let run until
  // 0.75 L is dirty: 94 MB lie in untar 1 itself (so untar 2 is the first at the device's rate), 188 in untar 2, 375 in
  // untar 3, 750 at the end of untar 5, and the device drains meanwhile: untar 6.
  const auto [limit_mb, expected, elapsed] = GENERATE(table<int, std::size_t, std::vector<double>>({
      {125, 2, {0.91, 3.51, 3.63, 3.66, 3.65, 3.65, 3.66, 3.65}},
      {250, 2, {0.26, 1.74, 3.26, 3.66, 3.67, 3.65, 3.66, 3.69}},
      {500, 3, {0.18, 0.16, 1.31, 1.93, 3.34, 3.71, 3.73, 3.67}},
      {1000, 6, {0.22, 0.18, 0.18, 0.19, 0.18, 2.07, 1.71, 2.46}},
  }));
  CAPTURE(limit_mb);
  std::vector<double> series;
  for (const double seconds : elapsed) series.push_back(150 / seconds);
  const auto found = find_knee(series);
  REQUIRE(found);
  CHECK(found->first().at + 1 == expected);
  // O_DIRECT never runs free: no collapse.
  CHECK_FALSE(find_knee(rates({3.74, 3.78, 3.68, 3.69, 3.63, 3.78, 4.59, 3.94})));
}

TEST_CASE("knee: repeats narrow it and rule the interval", "[analysis][knee]") {
  // Five quiet repeats on a real kernel have medians 0.18 0.16 1.31 1.93 3.34 3.71 3.73 3.67 s.
  std::vector<std::vector<double>> repeats;
  Random random{1200};
  for (int repeat = 0; repeat < 5; ++repeat) {
    std::vector<double> one;
    for (const double seconds : {0.18, 0.16, 1.31, 1.93, 3.34, 3.71, 3.73, 3.67}) {
      one.push_back(150e6 / (seconds * std::exp(0.08 * random.normal())));
    }
    repeats.push_back(one);
  }
  const auto found = find_knee(repeats);
  REQUIRE(found);
  CHECK(found->first().at + 1 == 3);
  CHECK(found->interval.low == 2);
  CHECK(found->interval.high == 2);
  CHECK(found->found_share == 1.0);
  CHECK(found->before / found->after == Approx(3.6 / 0.17).epsilon(0.25));
}

TEST_CASE("knee: the same seed gives the same interval", "[analysis][knee]") {
  Random random{5};
  const auto series = with_knee(random, 12, 6, 2.0, 0.2);
  const auto one = find_knee(series, {.seed = 3});
  const auto two = find_knee(series, {.seed = 3});
  REQUIRE(one);
  CHECK(one->interval.low == two->interval.low);
  CHECK(one->interval.high == two->interval.high);
}
