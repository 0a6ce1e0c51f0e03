#include "sim/random.hpp"

#include <bit>
#include <cmath>

#include "sim/check.hpp"

namespace spillway::sim {

namespace {

constexpr double kLn2 = 0.6931471805599453094;

std::uint64_t hash_name(std::string_view name) {  // FNV-1a, 64 bits
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : name) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3ULL;
  }
  return hash;
}

}  // namespace

std::uint64_t splitmix64(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15ULL;
  std::uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

Random::Random(std::uint64_t seed, std::string_view name) {
  std::uint64_t mix = seed;
  std::uint64_t start = splitmix64(mix) ^ hash_name(name);
  for (auto& word : state_) word = splitmix64(start);
}

std::uint64_t Random::bits() {
  const std::uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
  const std::uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

std::uint64_t Random::below(std::uint64_t n) {
  SPILLWAY_CHECK(n > 0, "a random number below 0 was asked for");
  const std::uint64_t reject_under = (0 - n) % n;  // 2^64 mod n: the uneven part at the low end
  for (;;) {
    const std::uint64_t x = bits();
    if (x >= reject_under) return x % n;
  }
}

double Random::uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

double Random::uniform(double low, double high) { return low + (high - low) * uniform(); }

double Random::exponential(double mean) { return -mean * portable_log(1.0 - uniform()); }

double Random::normal(double mean, double deviation) {
  if (has_spare_normal_) {
    has_spare_normal_ = false;
    return mean + deviation * spare_normal_;
  }
  double u = 0, v = 0, s = 0;
  do {
    u = 2 * uniform() - 1;
    v = 2 * uniform() - 1;
    s = u * u + v * v;
  } while (s >= 1 || s == 0);
  const double scale = std::sqrt(-2 * portable_log(s) / s);
  spare_normal_ = v * scale;
  has_spare_normal_ = true;
  return mean + deviation * (u * scale);
}

double Random::lognormal(double mu, double sigma) { return portable_exp(normal(mu, sigma)); }

double portable_log(double x) {
  SPILLWAY_CHECK(x > 0, "the logarithm of a number that is not positive was asked for");
  int exponent = 0;
  double m = std::frexp(x, &exponent);  // exact: m in [0.5, 1)
  if (m < 0.70710678118654752) {
    m *= 2;
    --exponent;
  }
  // log(m) = 2 atanh((m - 1) / (m + 1)); |z| <= 0.1716, so 12 terms leave less than 1e-17.
  const double z = (m - 1) / (m + 1);
  const double z2 = z * z;
  double sum = 0;
  for (int k = 23; k >= 1; k -= 2) sum = sum * z2 + 1.0 / k;
  return 2 * z * sum + exponent * kLn2;
}

double portable_exp(double x) {
  SPILLWAY_CHECK(x > -700 && x < 700, "the exponential is out of range");
  const double k = std::floor(x / kLn2 + 0.5);
  const double r = (x - k * 0.693147180369123816490) - k * 1.90821492927058770002e-10;  // ln 2 in two parts
  double sum = 1;  // Taylor, |r| <= 0.3466: 16 terms leave less than 1e-20
  for (int n = 16; n >= 1; --n) sum = 1 + sum * r / n;
  return std::ldexp(sum, static_cast<int>(k));
}

}  // namespace spillway::sim
