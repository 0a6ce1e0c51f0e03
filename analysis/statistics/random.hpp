#pragma once
/// Random numbers for resampling and for the tests: own generator and own distributions, because those of the
/// standard library differ between implementations. The seed is always an argument and is printed by whoever uses it.
/// Generator: xoshiro256** seeded through splitmix64 (Blackman and Vigna, public domain algorithms).

#include <array>
#include <cstddef>
#include <cstdint>

namespace spillway::analysis {

class Random {
 public:
  explicit Random(std::uint64_t seed);
  /// The next 64 random bits.
  std::uint64_t bits();
  /// Uniform in [0, 1), 53 bits.
  double uniform();
  /// Standard normal (Box and Muller, one of the two values used).
  double normal();
  /// Uniform in [0, n). `n` must be positive. Without modulo bias (rejection).
  std::size_t below(std::size_t n);

 private:
  std::array<std::uint64_t, 4> state_{};
};

}  // namespace spillway::analysis
