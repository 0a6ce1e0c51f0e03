#pragma once
/// blk-wbt: how many background writes may be in flight, so that reads do not suffer. block/blk-wbt.c, blk-rq-qos.c
/// (6.18). The depths are pure functions; WritebackThrottle keeps the scaling step for loads that only write.

#include <algorithm>
#include <cstdint>

namespace spillway::sim {

struct WbtDepths {
  std::int64_t max_depth = 0, normal = 0, background = 0;
  friend bool operator==(const WbtDepths&, const WbtDepths&) = default;
};

/// Depths for a queue of `queue_depth` at scaling step `step` (negative: deeper). rq_depth_calc_max_depth().
[[nodiscard]] constexpr WbtDepths wbt_depths(std::int64_t queue_depth, int step) {
  WbtDepths d;
  if (queue_depth == 1) {
    d.max_depth = step > 0 ? 1 : 2;
  } else {
    d.max_depth = std::min<std::int64_t>(16, queue_depth);
    if (step > 0) {
      d.max_depth = 1 + ((d.max_depth - 1) >> std::min(step, 31));
    } else if (step < 0) {
      d.max_depth = std::min<std::int64_t>(1 + ((d.max_depth - 1) << std::min(-step, 31)), 3 * queue_depth / 4);
    }
  }
  if (d.max_depth == 1) {
    d.normal = d.background = 1;
  } else if (d.max_depth == 2) {
    d.normal = 2;
    d.background = 1;
  } else {
    d.normal = (d.max_depth + 1) / 2;
    d.background = (d.max_depth + 3) / 4;
  }
  return d;
}

}  // namespace spillway::sim
