#pragma once
/// How long requests took: a histogram over powers of two of a microsecond with mean and largest value. Pure.

#include <array>
#include <cstdint>

#include "sim/units.hpp"

namespace spillway::real {

class ServiceTimes {
 public:
  /// Bucket 0 holds times below 1 us, bucket k those in [2^(k-1), 2^k) us; the last one everything above.
  static constexpr int kBuckets = 32;

  void add(Duration time);
  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] double mean_us() const;
  [[nodiscard]] double max_us() const { return static_cast<double>(max_.count()) * 1e-3; }
  /// The upper edge of the bucket in which the q-th quantile lies (0 < q <= 1); 0 when there is nothing. At most the
  /// largest value.
  [[nodiscard]] double quantile_us(double q) const;
  [[nodiscard]] const std::array<std::int64_t, kBuckets>& buckets() const { return buckets_; }

 private:
  std::array<std::int64_t, kBuckets> buckets_{};
  std::int64_t count_ = 0;
  Duration sum_{0}, max_{0};
};

}  // namespace spillway::real
