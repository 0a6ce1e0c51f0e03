#pragma once
/// One device's share of a dirty threshold (wb_thresh): by its part of recent completions, with a floor that keeps an
/// idle device writable. mm/page-writeback.c, __wb_calc_thresh(), wb_position_ratio().

#include "sim/kernel_version.hpp"
#include "sim/memory/completion_share.hpp"
#include "sim/memory/kernel_math.hpp"

namespace spillway::sim {

/// What an administrator or a driver sets for one device, parts per million.
struct ShareSettings {
  KernelWord min_ratio = 0;
  KernelWord max_ratio = 1'000'000;
  KernelWord sum_of_min_ratios = 0;  ///< over all devices
  bool strict_limit = false;         ///< BDI_CAP_STRICTLIMIT: the share is a hard limit (FUSE)
};

struct ShareInputs {
  KernelWord thresh = 0;  ///< the global (or background) threshold
  KernelWord dirty = 0;   ///< what counts against it
  Fraction completions;
  ShareSettings settings;
  ShareFloor floor = ShareFloor::in_share;
};

/// wb_thresh in pages.
[[nodiscard]] KernelWord device_share(const ShareInputs& in);

}  // namespace spillway::sim
