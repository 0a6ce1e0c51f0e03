#pragma once
/// A histogram of short times with a fixed size: counts in buckets that grow by 1/8 octave, so that a quantile is known
/// within 9 %, whatever the number of samples. Mean and maximum are exact.

#include <array>
#include <bit>
#include <cstdint>

#include "sim/units.hpp"

namespace spillway::sim::pipeline {

class DelayHistogram {
 public:
  void add(Duration delay) { add(delay, 1); }
  /// So many samples of the same length.
  void add(Duration delay, std::int64_t times);
  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] Duration sum() const { return sum_; }
  [[nodiscard]] Duration max() const { return max_; }
  /// 0 when nothing was added.
  [[nodiscard]] Duration mean() const { return count_ > 0 ? sum_ / count_ : Duration{0}; }
  /// The value below which a share `q` of the samples lies; 0 when nothing was added.
  [[nodiscard]] Duration quantile(double q) const;
  DelayHistogram& operator+=(const DelayHistogram& other);

 private:
  static constexpr int kSteps = 8;  ///< per octave
  static std::size_t bucket_of(std::int64_t ns);
  static std::int64_t upper_bound(std::size_t bucket);
  std::array<std::int64_t, 64 * kSteps> buckets_{};
  std::int64_t count_ = 0;
  Duration sum_{};
  Duration max_{};
};

}  // namespace spillway::sim::pipeline
