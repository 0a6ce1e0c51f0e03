#pragma once
/// The block layer of the box: the device shapes of DeviceInputs, one class. Bios larger than a request are split.
/// Merging, plugs and a scheduler only above a device model.
///
///   throttled:  bio -> ByteThrottle -> SerialDisk                       (never makes the submitter wait)
///   stacked:    bio -> tags and wbt -> requests -> ByteThrottle -> SerialDisk
///   fixed:      bio -> tags and wbt -> requests -> SerialDisk
///   model:      bio -> plug of the task -> tags and wbt -> requests -> ModelDisk (scheduler, device model)
///
/// In the stacked shape the lower device sees direct writes without the metadata mark, so metadata is throttled too.
///
/// wbt for loads that write only: the depth grows a step every 100 ms while writes complete, up to 3/4 of the tags.
/// Not modelled: the reaction to read latencies, wake-up batches.
///
/// The plug (Kind::model): a data write of a running task is held back until the task's next request that does not go on
/// where this one ends, until 32 are held, or until the task sleeps; a bio that goes on where the plug's last request ends
/// joins it and needs no tag. Rules and constants: plug.hpp.

#include <memory>
#include <optional>

#include "sim/block/block_device.hpp"
#include "sim/block/byte_throttle.hpp"
#include "sim/block/model_disk.hpp"
#include "sim/block/plug.hpp"
#include "sim/block/serial_disk.hpp"
#include "sim/block/wbt.hpp"
#include "sim/box/inputs.hpp"
#include "sim/memory/device_writeback.hpp"

namespace spillway::sim {

class SimpleBlockDevice final : public BlockDevice, private BioOwner {
 public:
  /// `wb`: whose throttled writers let wbt go to full depth.
  SimpleBlockDevice(Engine& engine, const TickClock& clock, const DeviceInputs& inputs, const DeviceWriteback& wb,
                    bool throttle_slices = true, const KernelVersion& kernel = kernel_versions().back());
  /// From now on tasks on these cores have plugs (Kind::model only).
  void plug_tasks_of(CpuSet& cpus);

  bool try_submit(Bio& bio) override;
  Task<> submit(Thread& thread, Bio& bio) override;
  [[nodiscard]] BlockCounters counters() const override;
  [[nodiscard]] bool volatile_cache() const override {
    return model_ ? model_->device().volatile_cache() : inputs_.volatile_cache;
  }
  /// The device model's own counters (Kind::model).
  [[nodiscard]] const ModelDisk* model() const { return model_ ? &*model_ : nullptr; }

 private:
  void bio_done(Bio& request) override;
  [[nodiscard]] bool bounded() const { return inputs_.kind != DeviceInputs::Kind::throttled; }
  [[nodiscard]] bool has_room(const Bio& bio);
  [[nodiscard]] std::int64_t wbt_limit(const Bio& bio);
  [[nodiscard]] Bio& request_of(Bio& bio, Bytes offset);
  void issue(Bio& request);
  struct TaskPlug {
    const Thread* thread = nullptr;
    std::vector<Bio*> requests;
  };
  /// The plug of the task that runs now, if this bio belongs into it.
  TaskPlug* plug_for(const Bio& bio);
  [[nodiscard]] bool joins_plug(TaskPlug& plug, Bio& bio) const;
  void into_plug(TaskPlug& plug, Bio& request);
  void unplug(TaskPlug& plug);

  Engine& engine_;
  const TickClock& clock_;
  DeviceInputs inputs_;
  const DeviceWriteback& wb_;
  SerialDisk disk_;
  std::optional<ByteThrottle> throttle_;
  std::optional<ModelDisk> model_;
  BioPool pool_;
  const CpuSet* cpus_ = nullptr;
  block::PlugParams plug_params_;
  std::vector<TaskPlug> plugs_;              ///< one per task that ever submitted; few
  WaitQueue room_;
  std::int64_t tags_used_ = 0, background_in_flight_ = 0;
  int wbt_step_ = 0;
  SimTime wbt_window_{};
};

}  // namespace spillway::sim
