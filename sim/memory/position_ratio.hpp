#pragma once
/// How much of the device's rate writers may take, by where the dirty pages stand: 2.0 at freerun, 1.0 at the setpoint,
/// 0 at the limit; times a term for the device's own position. 1024 is 1.0.
/// mm/page-writeback.c, wb_position_ratio(), pos_ratio_polynom() (6.18; the floor of older kernels by ShareFloor).

#include "sim/kernel_version.hpp"
#include "sim/memory/kernel_math.hpp"

namespace spillway::sim {

struct PositionInputs {
  KernelWord thresh = 0, background = 0;  ///< global thresholds
  KernelWord dirty_limit = 0;             ///< the sliding limit
  KernelWord dirty = 0;                   ///< NR_FILE_DIRTY + NR_WRITEBACK
  KernelWord wb_thresh = 0, wb_background = 0;
  KernelWord wb_dirty = 0;                ///< the device's reclaimable and writeback pages
  KernelWord avg_write_bandwidth = 0;     ///< pages per second
  bool strict_limit = false;
  ShareFloor floor = ShareFloor::in_share;
};

/// The cubic alone.
[[nodiscard]] std::int64_t position_cubic(KernelWord setpoint, KernelWord dirty, KernelWord limit);
/// The whole ratio, never negative.
[[nodiscard]] std::int64_t position_ratio(const PositionInputs& in);
/// (freerun + limit)/2, where writers are let settle.
[[nodiscard]] KernelWord setpoint_of(const PositionInputs& in);

}  // namespace spillway::sim
