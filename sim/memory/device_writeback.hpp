#pragma once
/// What the kernel remembers of one device's writeback, or of one context's of it (struct bdi_writeback): page counters, the bandwidth estimate, the
/// rate limit of its writers, and its part of recent completions. State only; DirtyMemory moves it.

#include <cstdint>
#include <functional>
#include <string>

#include "sim/cpu/cpu_set.hpp"
#include "sim/cpu/jiffies.hpp"
#include "sim/engine/task.hpp"
#include "sim/memory/completion_share.hpp"
#include "sim/memory/device_share.hpp"
#include "sim/memory/rate_limit.hpp"
#include "sim/memory/write_bandwidth.hpp"

namespace spillway::sim {

struct DeviceWriteback {
  std::string name = "device";
  // Pages now, and since the start.
  std::int64_t reclaimable = 0;   ///< dirty, not yet submitted
  std::int64_t writeback = 0;     ///< submitted, not yet ended
  std::int64_t dirtied = 0;       ///< cumulative
  std::int64_t written = 0;       ///< cumulative, at the end of writeback
  std::int64_t cancelled = 0;     ///< cumulative: dirty pages that were truncated
  std::int64_t inodes_under_writeback = 0;

  BandwidthEstimate estimate;
  RateLimit rate;
  Jiffies bandwidth_stamp = 0;    ///< bw_time_stamp
  std::int64_t dirtied_stamp = 0, written_stamp = 0;
  bool dirty_exceeded = false;
  Jiffies last_throttle_sleep = -(1LL << 40);  ///< bdi.last_bdp_sleep: blk-wbt goes deeper within a second of it

  DeviceCompletions completions;
  ShareSettings share;

  /// The flusher: is it in the middle of a pass, and how to wake it. Set by the flusher.
  bool flusher_running = false;
  std::function<void()> wake_flusher = [] {};
  /// Before 3.2: writes so many pages in the caller's thread and returns how many it wrote. Empty: nobody does that.
  std::function<Task<std::int64_t>(Thread&, std::int64_t)> write_by_caller;
  /// The device's first context, where this is a further one: last_throttle_sleep is the device's.
  DeviceWriteback* device = nullptr;
  /// Pages that the memory cgroup behind this context may hold (its own domain, cgroup v2); 0: no limit, no domain.
  std::int64_t cgroup_pages = 0;

  [[nodiscard]] std::int64_t dirty() const { return reclaimable + writeback; }
};

}  // namespace spillway::sim
