#pragma once
/// Random numbers of the simulated box: named streams from (seed, name), the same bits on every machine.
///
/// A part asks for its own stream by name ("device.disk3"), so a draw added in one part moves no other part's numbers.
/// Generator: xoshiro256++ (Blackman and Vigna), its state filled by splitmix64. The distributions are our own, because
/// those of the standard library differ between libraries, and so are log and exp, because those of libm do. Only
/// + - * / and sqrt are used, which IEEE 754 fixes to the bit; the build forbids fused multiply-add.

#include <array>
#include <cstdint>
#include <string_view>

namespace spillway::sim {

/// One step of splitmix64: mixes a 64-bit word. Also useful to hash an index into a phase or a seed.
std::uint64_t splitmix64(std::uint64_t& state);

class Random {
 public:
  /// The stream `name` of the run `seed`.
  Random(std::uint64_t seed, std::string_view name);

  std::uint64_t bits();                          ///< 64 random bits.
  std::uint64_t below(std::uint64_t n);          ///< Uniform in [0, n), unbiased. n must be positive.
  double uniform();                              ///< Uniform in [0, 1), 53 bits.
  double uniform(double low, double high);       ///< Uniform in [low, high).
  double exponential(double mean);
  double normal(double mean, double deviation);  ///< Marsaglia's polar method.
  double lognormal(double mu, double sigma);     ///< exp of a normal: mu and sigma are those of the logarithm.

 private:
  std::array<std::uint64_t, 4> state_{};
  double spare_normal_ = 0;
  bool has_spare_normal_ = false;
};

/// Natural logarithm of a positive finite number and e^x for |x| < 700, portable to the bit, within 1e-14 relative.
double portable_log(double x);
double portable_exp(double x);

}  // namespace spillway::sim
