#include <catch2/catch.hpp>

#include <cmath>
#include <vector>

#include "sim/random.hpp"

using spillway::sim::portable_exp;
using spillway::sim::portable_log;
using spillway::sim::Random;
using spillway::sim::splitmix64;

TEST_CASE("random: splitmix64 gives the published first outputs for seed 1234567", "[sim][random]") {
  std::uint64_t state = 1234567;  // the reference vector of the generator's authors, as Rosetta Code prints it
  CHECK(splitmix64(state) == 6457827717110365317ULL);
  CHECK(splitmix64(state) == 3203168211198807973ULL);
  CHECK(splitmix64(state) == 9817491932198370423ULL);
}

TEST_CASE("random: a stream depends on seed and name and on nothing else", "[sim][random]") {
  Random a{7, "disk0"}, again{7, "disk0"}, other_name{7, "disk1"}, other_seed{8, "disk0"};
  const auto first = a.bits();
  CHECK(first == again.bits());
  CHECK(first != other_name.bits());
  CHECK(first != other_seed.bits());
}

TEST_CASE("random: log and exp agree with the library to 1e-14", "[sim][random]") {
  Random random{1, "arguments"};
  for (int i = 0; i < 20'000; ++i) {
    const double x = random.uniform(-300, 300);
    CHECK(portable_exp(x) == Approx(std::exp(x)).epsilon(1e-13));
    const double y = std::exp(x);
    CHECK(portable_log(y) == Approx(std::log(y)).epsilon(1e-14).margin(1e-15));
  }
}

TEST_CASE("random: means and deviations are those of the distributions", "[sim][random]") {
  Random random{42, "moments"};
  constexpr int kDraws = 400'000;  // standard error of a mean: deviation / 632
  double uniform = 0, exponential = 0, normal = 0, normal_square = 0, log_sum = 0, below = 0;
  for (int i = 0; i < kDraws; ++i) {
    uniform += random.uniform();
    exponential += random.exponential(3);
    const double n = random.normal(10, 2);
    normal += n;
    normal_square += (n - 10) * (n - 10);
    log_sum += random.lognormal(0.5, 0.75);
    below += static_cast<double>(random.below(7));
  }
  CHECK(uniform / kDraws == Approx(0.5).margin(0.0025));
  CHECK(exponential / kDraws == Approx(3).margin(0.025));
  CHECK(normal / kDraws == Approx(10).margin(0.017));
  CHECK(std::sqrt(normal_square / kDraws) == Approx(2).margin(0.012));
  CHECK(log_sum / kDraws == Approx(std::exp(0.5 + 0.75 * 0.75 / 2)).epsilon(0.007));
  CHECK(below / kDraws == Approx(3).margin(0.017));
}
