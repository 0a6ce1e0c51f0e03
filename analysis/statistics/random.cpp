#include "analysis/statistics/random.hpp"

#include <bit>
#include <cmath>
#include <numbers>

#include "sim/check.hpp"

namespace spillway::analysis {

Random::Random(std::uint64_t seed) {
  for (auto& word : state_) {  // splitmix64
    seed += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = seed;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    word = z ^ (z >> 31);
  }
}

std::uint64_t Random::bits() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

double Random::uniform() { return static_cast<double>(bits() >> 11) * 0x1.0p-53; }

double Random::normal() {
  const double u = 1.0 - uniform();  // (0, 1]: the logarithm is finite
  const double v = uniform();
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
}

std::size_t Random::below(std::size_t n) {
  SPILLWAY_CHECK(n > 0, "below(0) has no value");
  const std::uint64_t bound = n;
  const std::uint64_t reject_below = (0 - bound) % bound;
  std::uint64_t draw = bits();
  while (draw < reject_below) draw = bits();
  return static_cast<std::size_t>(draw % bound);
}

}  // namespace spillway::analysis
