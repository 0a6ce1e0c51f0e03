#include "sim/memory/rate_limit.hpp"

#include <algorithm>

namespace spillway::sim {

KernelWord balanced_rate(KernelWord task_ratelimit, KernelWord avg_write_bandwidth, KernelWord dirty_rate) {
  return std::min(task_ratelimit * avg_write_bandwidth / (dirty_rate | 1), avg_write_bandwidth);
}

KernelWord step_dirty_ratelimit(KernelWord dirty_ratelimit, KernelWord previous_balanced, KernelWord balanced,
                                KernelWord task_ratelimit, bool below_setpoint, int step_divisor) {
  KernelWord step = 0;
  if (below_setpoint) {
    const KernelWord x = std::min({previous_balanced, balanced, task_ratelimit});
    if (dirty_ratelimit < x) step = x - dirty_ratelimit;
  } else {
    const KernelWord x = std::max({previous_balanced, balanced, task_ratelimit});
    if (dirty_ratelimit > x) step = dirty_ratelimit - x;
  }
  // A small step against the present rate is probably noise: it is shifted away, and what is left is taken by an eighth.
  const KernelWord shift = dirty_ratelimit / (2 * step + 1);
  step = shift < 64 ? div_round_up(step >> shift, static_cast<KernelWord>(step_divisor)) : 0;
  dirty_ratelimit = dirty_ratelimit < balanced ? dirty_ratelimit + step : dirty_ratelimit - step;
  return std::max<KernelWord>(dirty_ratelimit, 1);
}

RateLimitStep update_rate_limit(const RateLimit& before, const RateLimitInputs& in) {
  RateLimitStep out;
  out.dirty_rate = in.dirtied * static_cast<KernelWord>(in.hz) / in.elapsed;
  out.task_ratelimit = (before.dirty_ratelimit * static_cast<KernelWord>(in.pos_ratio) >> kRatioShift) + 1;
  const KernelWord balanced = balanced_rate(out.task_ratelimit, in.avg_write_bandwidth, out.dirty_rate);
  out.after.dirty_ratelimit = step_dirty_ratelimit(before.dirty_ratelimit, before.balanced_dirty_ratelimit, balanced,
                                                   out.task_ratelimit, in.dirty < in.setpoint, in.step_divisor);
  out.after.balanced_dirty_ratelimit = balanced;
  return out;
}

}  // namespace spillway::sim
