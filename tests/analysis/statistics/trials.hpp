#pragma once
/// Simulated samples for the tests of coverage and power. Every test prints its seed.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/random.hpp"

namespace spillway::analysis::test {

/// The stream of one test.
class Random : public sim::Random {
 public:
  explicit Random(std::uint64_t seed) : sim::Random(seed, "trials") {}
  using sim::Random::normal;
  double normal() { return normal(0, 1); }
};

/// `n` normal values around `mean` with coefficient of variation `cv`.
inline std::vector<double> normal_sample(Random& random, std::size_t n, double mean, double cv) {
  std::vector<double> values(n);
  for (double& value : values) value = mean * (1.0 + cv * random.normal());
  return values;
}

/// `n` log-normal values with median `median` and standard deviation `sigma` of the logarithm.
inline std::vector<double> lognormal_sample(Random& random, std::size_t n, double median, double sigma) {
  std::vector<double> values(n);
  for (double& value : values) value = median * std::exp(sigma * random.normal());
  return values;
}

/// The share of `trials` in which `once(random)` is true.
template <class Once>
double share_of(std::size_t trials, std::uint64_t seed, const Once& once) {
  Random random{seed};
  std::size_t yes = 0;
  for (std::size_t i = 0; i < trials; ++i) yes += once(random) ? 1 : 0;
  return static_cast<double>(yes) / static_cast<double>(trials);
}

}  // namespace spillway::analysis::test
