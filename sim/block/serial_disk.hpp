#pragma once
/// The plainest device: one request after another at a fixed rate, reads and writes at their own, plus a latency that does
/// not occupy it. Stands for a fast SSD, or for a memory-backed loop under a throttle.

#include <memory>
#include <vector>

#include "sim/block/block_device.hpp"
#include "sim/engine/engine.hpp"

namespace spillway::sim {

struct SerialDiskParams {
  BytesPerSec write_rate{1900 * kMB};
  BytesPerSec read_rate{1900 * kMB};
  Duration latency = std::chrono::microseconds{100};
  Duration flush_time = std::chrono::milliseconds{1};
  /// Largest request: what the count of I/Os is made of. Bios that start at one instant, each where the last one ended, are
  /// one I/O up to this size (the throttle's dispatcher plugs, block/blk-throttle.c blk_throtl_dispatch_work_fn()).
  Bytes max_request{1280 * kKiB};
};

class SerialDisk {
 public:
  SerialDisk(Engine& engine, SerialDiskParams params) : engine_(engine), params_(params) {}
  /// Starts the bio; owner->bio_done() comes when it is done.
  void start(Bio& bio);
  [[nodiscard]] const BlockCounters& counters() const { return counters_; }

 private:
  static void done(void* bio, std::uint64_t ticket);
  Engine& engine_;
  SerialDiskParams params_;
  SimTime free_at_{};
  SimTime last_at_{-Duration{1}};
  Sectors last_end_{0};
  Bytes last_size_{0};
  BlockCounters counters_;
  struct Pending {
    SerialDisk* disk;
    Bio* bio;
    Pending* next;
    std::int64_t requests;  ///< that it is counted as; 0: merged into the one before
  };
  std::vector<std::unique_ptr<Pending>> all_;
  Pending* free_ = nullptr;
};

}  // namespace spillway::sim
