#include "workload/real/modeled_disk/service_times.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace spillway::real {

void ServiceTimes::add(Duration time) {
  time = std::max(time, Duration{0});
  const auto us = static_cast<std::uint64_t>(time.count() / 1000);
  ++buckets_[static_cast<std::size_t>(std::min<int>(std::bit_width(us), kBuckets - 1))];
  ++count_;
  sum_ += time;
  max_ = std::max(max_, time);
}

double ServiceTimes::mean_us() const {
  return count_ == 0 ? 0 : static_cast<double>(sum_.count()) * 1e-3 / static_cast<double>(count_);
}

double ServiceTimes::quantile_us(double q) const {
  const auto wanted = static_cast<std::int64_t>(std::ceil(q * static_cast<double>(count_)));
  std::int64_t below = 0;
  for (int k = 0; k < kBuckets; ++k) {
    below += buckets_[static_cast<std::size_t>(k)];
    if (below >= wanted && below > 0) return std::min(std::ldexp(1.0, k), max_us());
  }
  return 0;
}

}  // namespace spillway::real
