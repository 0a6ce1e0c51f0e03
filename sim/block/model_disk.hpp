#pragma once
/// A `sim/device/` model at the bottom of the simulated box's block layer: bios in, completions out at the model's times.
///
/// Rotating devices get the mq-deadline scheduler in front, which merges neighbouring bios and sorts; others get bios in
/// order of arrival, as the kernel does by default. No more requests are inside the model than its own queue depth.

#include <deque>
#include <memory>
#include <vector>

#include "sim/block/block_device.hpp"
#include "sim/block/mq_deadline.hpp"
#include "sim/device/device_spec.hpp"
#include "sim/engine/engine.hpp"

namespace spillway::sim {

class ModelDisk {
 public:
  /// `max_request`: largest request after merging.
  ModelDisk(Engine& engine, std::unique_ptr<device::Device> device, Bytes max_request);

  /// Takes the bio; owner->bio_done() comes when it is done, never from within this call.
  void start(Bio& bio);
  [[nodiscard]] BlockCounters counters() const;
  [[nodiscard]] device::Counters device_counters() const { return device_->counters(engine_.now()); }
  [[nodiscard]] const device::Device& device() const { return *device_; }

 private:
  void work();
  void dispatch();
  void send(block::QueuedRequest queued);
  std::optional<block::QueuedRequest> next();

  Engine& engine_;
  std::unique_ptr<device::Device> device_;
  block::MqDeadline scheduler_;
  std::deque<block::QueuedRequest> arrivals_;  ///< instead of the scheduler on devices that do not rotate
  std::vector<Bio*> bios_;                     ///< by the id that they have in the queue
  std::vector<std::uint64_t> free_bios_;
  std::vector<std::vector<std::uint64_t>> riders_;  ///< bios of a request inside the model, by its id there
  std::vector<std::uint64_t> free_requests_;
  std::vector<device::Completion> done_;
  Timer timer_;
  BlockCounters counters_;
  SimTime busy_since_{};
};

}  // namespace spillway::sim
