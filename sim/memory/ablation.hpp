#pragma once

namespace spillway::sim {

/// Mechanisms that can be left out, to see what each carries. Everything on is the model.
struct Ablation {
  bool device_share = true;                 ///< off: wb_thresh = thresh
  bool device_term = true;                  ///< off: pos_ratio is the cubic alone
  bool idle_stamp_reset = true;
  bool delayed_bandwidth_update = true;
  bool extra_tick = true;                   ///< off: sleeps end exactly after the pause
  bool throttle_slices = true;              ///< off: a smooth token bucket
};

}  // namespace spillway::sim
