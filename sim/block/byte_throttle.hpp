#pragma once
/// blk-throttle for writes: bios over the limit are parked, their submitters do not sleep, and the queue has no bound.
/// The budget comes in slices of 100 ms, elapsed time rounded up to whole slices, so that a slice's worth passes at once
/// and then nothing until the next. Since 6.13 metadata passes at once and is charged. block/blk-throttle.c, tg_within_bps_limit(),
/// tg_within_iops_limit(), throtl_trim_slice() (6.18).
///
/// Not modelled: reads, hierarchies of groups, the 32-bio dispatch round (it costs no time).

#include <cstdint>
#include <functional>

#include "sim/block/bio.hpp"
#include "sim/cpu/jiffies.hpp"
#include "sim/engine/engine.hpp"

namespace spillway::sim {

struct ByteThrottleParams {
  BytesPerSec rate{40 * kMiB};  ///< must be positive
  std::int64_t iops = 0;        ///< write I/Os a second; 0: no limit
  bool begun = false;           ///< a slice begins with the run: the file system was synced, or the limit set, at that instant
  bool slices = true;           ///< false: a smooth bucket (ablation)
  bool keeps_slice = true;      ///< KernelVersion::throttle_keeps_slice
  bool passes_metadata = true;  ///< KernelVersion::throttle_passes_metadata
};

class ByteThrottle {
 public:
  /// `release(bio)` is called for each bio when it may go on.
  ByteThrottle(Engine& engine, const TickClock& clock, ByteThrottleParams params, std::function<void(Bio&)> release);
  void submit(Bio& bio);
  [[nodiscard]] std::int64_t parked() const { return parked_; }

 private:
  /// Ticks until the bio may pass; 0: now.
  [[nodiscard]] Jiffies wait_for(const Bio& bio);
  [[nodiscard]] std::int64_t allowed(std::int64_t per_second, Jiffies ticks) const;
  void charge(const Bio& bio);
  void start_slice();
  /// throtl_set_slice_end(): ends lie on whole slices of the tick count.
  [[nodiscard]] Jiffies ends_at(Jiffies tick) const { return (tick + slice_ - 1) / slice_ * slice_; }
  void trim_slice();
  void dispatch();
  void submit_smoothly(Bio& bio);
  [[nodiscard]] Jiffies now() const { return clock_.jiffies(engine_.now()); }
  [[nodiscard]] bool slice_used() const { return now() > slice_end_ || now() < slice_start_; }

  Engine& engine_;
  const TickClock& clock_;
  ByteThrottleParams params_;
  std::function<void(Bio&)> release_;
  Jiffies slice_;                     ///< 100 ms in ticks
  Jiffies slice_start_ = 0, slice_end_ = -1;
  std::int64_t bytes_ = 0, ios_ = 0;  ///< passed in this slice; may go below 0 by trimming
  Bio* head_ = nullptr;
  Bio* tail_ = nullptr;
  std::int64_t parked_ = 0;
  Timer timer_;
  SimTime smooth_free_at_{};
};

}  // namespace spillway::sim
