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
  BlockCounters counters_;
  struct Pending {
    SerialDisk* disk;
    Bio* bio;
    Pending* next;
  };
  std::vector<std::unique_ptr<Pending>> all_;
  Pending* free_ = nullptr;
};

}  // namespace spillway::sim
