#pragma once
/// What the kernel remembers of writeback at this moment: the completion counters of one device and of all together, when
/// they are halved next, the device's bandwidth estimates and rate limits, the sliding limit. No file shows these. Small
/// BPF programs on two tracepoints learn where they lie, and a third, which is run on demand and attached to nothing,
/// copies them:
///  - timer_start: the domain's period timer (its function is writeout_period, by /proc/kallsyms) lies inside the
///    wb_domain. It is armed every 3 s while anything is written, and at once by the first completion after a rest;
///  - writeback_queue: a syncfs of a file system with something dirty queues work on its bdi_writeback.
/// Offsets come from the kernel's type information. Nothing is changed but for one page that is written and synced; the
/// programs vanish with their descriptors.
///
/// Needs root, CONFIG_DEBUG_INFO_BTF and readable kernel symbols.

#include <cstdint>
#include <memory>
#include <string>

#include "sim/result.hpp"
#include "workload/record/record.hpp"

namespace spillway::real {

/// Pages, pages/s and jiffies, as the kernel holds them; `ns` is CLOCK_MONOTONIC.
struct KernelWriteback {
  std::uint64_t ns = 0, jiffies = 0;
  std::uint64_t global_events = 0, global_period = 0;  ///< fprop_global: events as percpu_counter_read() sees them
  std::uint64_t period_time = 0;                       ///< jiffy of the next halving; 0: the timer rests
  std::uint64_t dirty_limit = 0;                       ///< wb_domain.dirty_limit
  std::uint64_t device_events = 0, device_period = 0;  ///< fprop_local_percpu, not yet brought to the global period
  std::uint64_t write_bandwidth = 0, avg_write_bandwidth = 0, dirty_ratelimit = 0, balanced_dirty_ratelimit = 0;
  std::uint64_t bw_time_stamp = 0;
};

class KernelWritebackReader {
 public:
  /// Writes and syncs one page below `directory`, which lies on the device `device_number` ("7:64"), and waits until both
  /// places are known: about 3 s at most, once in a process.
  static Result<std::unique_ptr<KernelWritebackReader>> find(const std::string& directory, const std::string& device_number);
  ~KernelWritebackReader();
  KernelWritebackReader(const KernelWritebackReader&) = delete;
  KernelWritebackReader& operator=(const KernelWritebackReader&) = delete;
  /// Microseconds; for the last moment before a run.
  Result<KernelWriteback> read() const;

 private:
  KernelWritebackReader() = default;
  int map_ = -1, program_ = -1;
  std::uint64_t domain_ = 0, writeback_ = 0;  ///< kernel addresses
};

/// Puts what was read into the state before the run. Pure.
void set_from_kernel(BoxState& state, const KernelWriteback& seen, int hz);

}  // namespace spillway::real
