#include "sim/memory/position_ratio.hpp"

#include <algorithm>

#include "sim/memory/dirty_limit.hpp"

namespace spillway::sim {

std::int64_t position_cubic(KernelWord setpoint, KernelWord dirty, KernelWord limit) {
  const auto distance = static_cast<std::int64_t>(setpoint) - static_cast<std::int64_t>(dirty);
  const std::int64_t x = (distance * kRatioOne) / static_cast<std::int64_t>((limit - setpoint) | 1);
  std::int64_t ratio = x;
  ratio = ratio * x >> kRatioShift;
  ratio = ratio * x >> kRatioShift;
  ratio += kRatioOne;
  return std::clamp<std::int64_t>(ratio, 0, 2 * kRatioOne);
}

KernelWord setpoint_of(const PositionInputs& in) {
  const KernelWord freerun = (in.thresh + in.background) / 2;
  return (freerun + hard_dirty_limit(in.dirty_limit, in.thresh)) / 2;
}

std::int64_t position_ratio(const PositionInputs& in) {
  const KernelWord limit = hard_dirty_limit(in.dirty_limit, in.thresh);
  if (in.dirty >= limit) return 0;
  const KernelWord setpoint = setpoint_of(in);
  std::int64_t ratio = position_cubic(setpoint, in.dirty, limit);

  if (in.strict_limit) {
    if (in.wb_dirty < 8) return std::min<std::int64_t>(ratio * 2, 2 * kRatioOne);
    if (in.wb_dirty >= in.wb_thresh) return 0;
    const KernelWord wb_setpoint = (in.wb_thresh + in.wb_background) / 2;
    if (wb_setpoint == 0 || wb_setpoint == in.wb_thresh) return 0;
    return std::min(ratio, position_cubic(wb_setpoint, in.wb_dirty, in.wb_thresh));
  }

  KernelWord wt = std::min(in.wb_thresh, in.thresh);
  if (in.floor == ShareFloor::in_position_ratio) wt = std::max(wt, (limit - in.dirty) / 8);
  const KernelWord share = (wt << 16) / (in.thresh | 1);
  const KernelWord wb_setpoint = setpoint * share >> 16;
  // With the older floor wt may exceed thresh by nothing that matters; the kernel's subtraction wraps the same way.
  const KernelWord span = (in.thresh - wt + 8 * in.avg_write_bandwidth) * share >> 16;
  const KernelWord intercept = wb_setpoint + span;
  if (in.wb_dirty < intercept - span / 4)
    ratio = static_cast<std::int64_t>(static_cast<KernelWord>(ratio) * (intercept - in.wb_dirty) /
                                      ((intercept - wb_setpoint) | 1));
  else
    ratio /= 4;

  const KernelWord reserve = wt / 2;
  if (in.wb_dirty < reserve) {
    if (in.wb_dirty > reserve / 8)
      ratio = static_cast<std::int64_t>(static_cast<KernelWord>(ratio) * reserve / in.wb_dirty);
    else
      ratio *= 8;
  }
  return ratio;
}

}  // namespace spillway::sim
