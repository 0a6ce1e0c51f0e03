#pragma once
/// The controller's own variables at each balance_dirty_pages decision, which the trace event leaves out: the bandwidth
/// estimates, the exact thresholds, the device's share and pos_ratio. A small BPF program on the same tracepoint reads
/// them from the kernel's structures; where they lie is looked up in the kernel's own type information (BTF), so no
/// offset is assumed. Optional: needs root, CONFIG_DEBUG_INFO_BTF and a tracepoint that passes a dirty_throttle_control
/// (6.17 or later). The program vanishes with its descriptors: nothing is left to undo.

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/result.hpp"

namespace spillway::real {

/// Pages, pages/s, jiffies; `ns` is CLOCK_MONOTONIC.
struct ControllerState {
  std::uint64_t ns = 0, pid_tgid = 0;
  std::uint64_t write_bandwidth = 0, avg_write_bandwidth = 0, bw_time_stamp = 0;
  std::uint64_t dirty = 0, thresh = 0, bg_thresh = 0, limit = 0, wb_dirty = 0, wb_thresh = 0, pos_ratio = 0;
  std::uint64_t dirty_ratelimit = 0, task_ratelimit = 0, dirtied = 0, period = 0, pause = 0;
  [[nodiscard]] int thread() const { return static_cast<int>(pid_tgid & 0xffffffff); }
};

class ControllerProbe {
 public:
  static Result<std::unique_ptr<ControllerProbe>> start();
  ~ControllerProbe();
  ControllerProbe(const ControllerProbe&) = delete;
  ControllerProbe& operator=(const ControllerProbe&) = delete;
  /// Takes what the kernel has put into the ring since the last call. Called by one thread.
  void drain();
  [[nodiscard]] const std::vector<ControllerState>& states() const { return states_; }

 private:
  ControllerProbe() = default;
  int map_ = -1, program_ = -1, link_ = -1;
  void* ring_ = nullptr;
  std::vector<ControllerState> states_;
};

}  // namespace spillway::real
