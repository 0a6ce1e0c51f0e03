#pragma once
/// Samples of the guest kernel's writeback state, every `sample_ms`, as rows of timeline.csv. Read from /proc/vmstat,
/// debugfs bdi/*/stats and /sys/block/*/stat; kept in a tmpfs file, because dirty pages of the monitor's own file would
/// count against the limit under test.

#include "workload/kernel/guest_plan.hpp"

#include <atomic>
#include <string>

namespace spillway::kernel::guest {

/// Shared between the driver and the monitor process.
struct Progress {
  std::atomic<std::int64_t> t0_ns{0};      ///< start of the first untar; 0 before
  std::atomic<int> youngest_untar{0};      ///< number of the youngest untar running
  std::atomic<bool> stop{false};
};
[[nodiscard]] Progress* make_progress();

/// Runs in a process of its own until `stop`; writes timeline rows to `timeline` and the kernel workers seen to `workers`.
void monitor(const GuestPlan& plan, Progress& progress, const std::string& timeline, const std::string& workers);

}  // namespace spillway::kernel::guest
