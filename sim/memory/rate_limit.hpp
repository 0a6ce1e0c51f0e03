#pragma once
/// How fast one task may dirty pages of a device: moved in small, strongly non-linear steps towards the device's rate
/// divided by the number of writers, which nobody counts. mm/page-writeback.c, wb_update_dirty_ratelimit().

#include "sim/memory/kernel_constants.hpp"
#include "sim/memory/kernel_math.hpp"

namespace spillway::sim {

struct RateLimit {
  KernelWord dirty_ratelimit = kInitialBandwidth;           ///< pages/s for each task
  KernelWord balanced_dirty_ratelimit = kInitialBandwidth;  ///< what the last update aimed at

  friend bool operator==(const RateLimit&, const RateLimit&) = default;
};

struct RateLimitInputs {
  KernelWord dirtied = 0;              ///< pages dirtied on the device since the last update of the stamps
  KernelWord elapsed = 1;              ///< ticks since then, at least 1
  std::int64_t pos_ratio = 0;
  KernelWord avg_write_bandwidth = 0;  ///< pages/s, before this instant's own bandwidth update
  KernelWord dirty = 0, setpoint = 0;  ///< global; for a strictlimit device its own
  int hz = 250;
  int step_divisor = KernelConstants{}.ratelimit_step;
};

/// What one update computed on its way; the fields of the trace event bdi_dirty_ratelimit.
struct RateLimitStep {
  KernelWord dirty_rate = 0;      ///< pages/s
  KernelWord task_ratelimit = 0;  ///< pages/s
  RateLimit after;
};

/// The balanced rate alone, from the rates that a trace has.
[[nodiscard]] KernelWord balanced_rate(KernelWord task_ratelimit, KernelWord avg_write_bandwidth, KernelWord dirty_rate);
/// The step alone: from the rate limit and the three rates that bound it.
[[nodiscard]] KernelWord step_dirty_ratelimit(KernelWord dirty_ratelimit, KernelWord previous_balanced, KernelWord balanced,
                                              KernelWord task_ratelimit, bool below_setpoint,
                                              int step_divisor = KernelConstants{}.ratelimit_step);
[[nodiscard]] RateLimitStep update_rate_limit(const RateLimit& before, const RateLimitInputs& in);

}  // namespace spillway::sim
