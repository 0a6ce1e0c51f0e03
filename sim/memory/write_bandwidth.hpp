#pragma once
/// The kernel's estimate of what a device writes, smoothed twice. mm/page-writeback.c, wb_update_write_bandwidth().

#include "sim/memory/kernel_math.hpp"

namespace spillway::sim {

struct BandwidthEstimate {
  KernelWord write_bandwidth = kInitialBandwidth;      ///< pages/s
  KernelWord avg_write_bandwidth = kInitialBandwidth;  ///< pages/s

  friend bool operator==(const BandwidthEstimate&, const BandwidthEstimate&) = default;
};

/// The averaging period in ticks: three seconds, rounded up to a power of two.
[[nodiscard]] constexpr KernelWord bandwidth_period(int hz) { return round_up_pow2(3 * static_cast<KernelWord>(hz)); }

/// One update: `written` pages ended writeback in the `elapsed` ticks (at least 1) since the last one.
[[nodiscard]] BandwidthEstimate update_write_bandwidth(BandwidthEstimate estimate, KernelWord written, KernelWord elapsed,
                                                       int hz);

}  // namespace spillway::sim
