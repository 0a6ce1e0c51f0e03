#include "sim/pipeline/delay_histogram.hpp"

#include <algorithm>

namespace spillway::sim::pipeline {

std::size_t DelayHistogram::bucket_of(std::int64_t ns) {
  if (ns < kSteps) return static_cast<std::size_t>(std::max<std::int64_t>(ns, 0));
  const auto value = static_cast<std::uint64_t>(ns);
  const int octave = std::bit_width(value) - 1;                    // >= 3
  const auto step = (value >> (octave - 3)) & (kSteps - 1);        // the three bits below the leading one
  return static_cast<std::size_t>(octave - 2) * kSteps + static_cast<std::size_t>(step);
}

std::int64_t DelayHistogram::upper_bound(std::size_t bucket) {
  if (bucket < static_cast<std::size_t>(kSteps)) return static_cast<std::int64_t>(bucket);
  const int octave = static_cast<int>(bucket / kSteps) + 2;
  const auto step = static_cast<std::int64_t>(bucket % kSteps);
  return ((kSteps + step + 1) << (octave - 3)) - 1;
}

void DelayHistogram::add(Duration delay, std::int64_t times) {
  if (times <= 0) return;
  buckets_[bucket_of(delay.count())] += times;
  count_ += times;
  sum_ += delay * times;
  max_ = std::max(max_, delay);
}

Duration DelayHistogram::quantile(double q) const {
  const auto wanted = static_cast<std::int64_t>(q * static_cast<double>(count_));
  std::int64_t seen = 0;
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    seen += buckets_[b];
    if (seen > wanted || (seen == count_ && seen > 0)) return std::min(max_, Duration{upper_bound(b)});
  }
  return Duration{0};
}

DelayHistogram& DelayHistogram::operator+=(const DelayHistogram& other) {
  for (std::size_t b = 0; b < buckets_.size(); ++b) buckets_[b] += other.buckets_[b];
  count_ += other.count_;
  sum_ += other.sum_;
  max_ = std::max(max_, other.max_);
  return *this;
}

}  // namespace spillway::sim::pipeline
