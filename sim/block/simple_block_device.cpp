#include "sim/block/simple_block_device.hpp"

#include <algorithm>

#include "sim/check.hpp"

namespace spillway::sim {

using Kind = DeviceInputs::Kind;

namespace {

SerialDiskParams disk_params(const DeviceInputs& in) {
  SerialDiskParams p;
  p.write_rate = in.kind == Kind::fixed ? in.write_rate : in.base_rate;
  p.read_rate = in.kind == Kind::fixed ? in.read_rate : in.base_rate;
  p.latency = in.latency;
  p.flush_time = in.volatile_cache ? in.flush_time : Duration{0};
  p.max_request = in.max_request;
  return p;
}

bool is_tracked(const Bio& bio) { return bio.write && !(bio.sync && bio.idle); }

}  // namespace

SimpleBlockDevice::SimpleBlockDevice(Engine& engine, const TickClock& clock, const DeviceInputs& inputs,
                                     const DeviceWriteback& wb, bool throttle_slices, const KernelVersion& kernel)
    : engine_(engine), clock_(clock), inputs_(inputs), wb_(wb), disk_(engine, disk_params(inputs)),
      room_(engine, Phase::flusher) {
  if (inputs_.kind == Kind::model) {
    auto device = device::make_device(*inputs_.model, engine.seed());
    SPILLWAY_CHECK(device.has_value(), "validate() let a device model through that cannot be made");
    model_.emplace(engine, std::move(*device), inputs_.max_request);
  }
  if (inputs_.kind == Kind::throttled || inputs_.kind == Kind::stacked)
    throttle_.emplace(engine, clock,
                      ByteThrottleParams{.rate = inputs_.write_rate, .iops = inputs_.write_iops, .begun = inputs_.slice_begun, .slices = throttle_slices,
                                         .keeps_slice = kernel.throttle_keeps_slice, .passes_metadata = kernel.throttle_passes_metadata},
                      [this](Bio& bio) { disk_.start(bio); });
}

void SimpleBlockDevice::issue(Bio& request) {
  if (model_) model_->start(request);
  else if (throttle_ && request.write) throttle_->submit(request);
  else disk_.start(request);
}

bool SimpleBlockDevice::try_submit(Bio& bio) {
  if (!bounded()) {
    issue(bio);
    return true;
  }
  TaskPlug* const plug = plug_for(bio);
  if (plug && joins_plug(*plug, bio)) return true;
  if (bio.size > inputs_.max_request || !has_room(bio)) return false;
  Bio& request = request_of(bio, Bytes{0});
  if (plug) into_plug(*plug, request);
  else issue(request);
  return true;
}

// -- plugs -----------------------------------------------------------------------------------------------------------

void SimpleBlockDevice::plug_tasks_of(CpuSet& cpus) {
  if (!model_) return;
  cpus_ = &cpus;
  cpus.on_sleep = [this](const Thread& thread) {
    for (TaskPlug& plug : plugs_)
      if (plug.thread == &thread) return unplug(plug);
  };
}

SimpleBlockDevice::TaskPlug* SimpleBlockDevice::plug_for(const Bio& bio) {
  if (!cpus_ || !cpus_->current() || !bio.write || bio.meta || bio.flush || bio.fua || bio.idle) return nullptr;
  const Thread* const thread = cpus_->current();
  for (TaskPlug& plug : plugs_)
    if (plug.thread == thread) return &plug;
  return &plugs_.emplace_back(thread, std::vector<Bio*>{});
}

/// blk_attempt_plug_merge(): only the last request is looked at, at its end and at its start.
bool SimpleBlockDevice::joins_plug(TaskPlug& plug, Bio& bio) const {
  if (plug.requests.empty()) return false;
  Bio& last = *plug.requests.back();
  const auto end = [](const Bio& b) { return b.start + Sectors{b.size / kSectorSize}; };
  const bool behind = end(last) == bio.start, before = end(bio) == last.start;
  if ((!behind && !before) || last.sync != bio.sync || last.background != bio.background ||
      last.size + bio.size > inputs_.max_request)
    return false;
  if (before) last.start = bio.start;
  last.size += bio.size;
  bio.outstanding = 1;
  bio.riders = last.riders;
  last.riders = &bio;
  return true;
}

void SimpleBlockDevice::into_plug(TaskPlug& plug, Bio& request) {
  if (!plug.requests.empty() && (static_cast<int>(plug.requests.size()) >= plug_params_.max_requests ||
                                 plug.requests.back()->size >= Bytes{plug_params_.flush_size.value() * 512}))
    unplug(plug);
  plug.requests.push_back(&request);
}

void SimpleBlockDevice::unplug(TaskPlug& plug) {
  for (Bio* request : plug.requests) issue(*request);
  plug.requests.clear();
}

// -- tags and wbt ----------------------------------------------------------------------------------------------------

std::int64_t SimpleBlockDevice::wbt_limit(const Bio& bio) {
  const WbtDepths depths = wbt_depths(inputs_.queue_depth, wbt_step_);
  const bool somebody_throttled =
      clock_.jiffies(engine_.now()) - wb_.last_throttle_sleep < clock_.hz();
  if (bio.sync || bio.meta || somebody_throttled) return depths.max_depth;
  return bio.background ? depths.background : depths.normal;
}

bool SimpleBlockDevice::has_room(const Bio& bio) {
  if (tags_used_ >= inputs_.queue_depth) return false;
  if (!inputs_.wbt || !is_tracked(bio)) return true;
  // A window of 100 ms with writes only: one step deeper.
  if (background_in_flight_ > 0 && engine_.now() - wbt_window_ >= std::chrono::milliseconds{100}) {
    wbt_window_ = engine_.now();
    if (wbt_depths(inputs_.queue_depth, wbt_step_).max_depth < 3 * inputs_.queue_depth / 4) --wbt_step_;
  }
  return background_in_flight_ < wbt_limit(bio);
}

Bio& SimpleBlockDevice::request_of(Bio& bio, Bytes offset) {
  Bio& request = pool_.get();
  request = bio;
  request.owner = this;
  request.start = bio.start + Sectors{offset.value() / kSectorSize.value()};
  request.size = std::min(bio.size - offset, inputs_.max_request);
  // One level down the loop's worker writes directly: the metadata mark is lost.
  if (inputs_.kind == Kind::stacked) request.meta = false;
  request.context = &bio;
  request.riders = nullptr;
  bio.next = nullptr;
  ++tags_used_;
  if (is_tracked(bio)) ++background_in_flight_;
  return request;
}

Task<> SimpleBlockDevice::submit(Thread& thread, Bio& bio) {
  if (!bounded()) {
    issue(bio);
    co_return;
  }
  const std::int64_t pieces =
      std::max<std::int64_t>(1, (bio.size.value() + inputs_.max_request.value() - 1) / inputs_.max_request.value());
  bio.outstanding = pieces;
  for (std::int64_t i = 0; i < pieces; ++i) {
    if (!has_room(bio)) {
      Blocked blocked{engine_, thread.account.device};
      while (!has_room(bio)) co_await room_.wait();
    }
    Bio& request = request_of(bio, inputs_.max_request * i);
    if (TaskPlug* const plug = plug_for(request)) into_plug(*plug, request);
    else issue(request);
  }
}

void SimpleBlockDevice::bio_done(Bio& request) {
  Bio& bio = *static_cast<Bio*>(request.context);
  Bio* riders = request.riders;
  --tags_used_;
  if (is_tracked(bio)) --background_in_flight_;
  pool_.put(request);
  room_.wake_one();
  while (riders) {
    Bio& rider = *riders;
    riders = rider.riders;
    rider.riders = nullptr;
    rider.owner->bio_done(rider);
  }
  if (--bio.outstanding <= 0) bio.owner->bio_done(bio);
}

BlockCounters SimpleBlockDevice::counters() const {
  BlockCounters c = model_ ? model_->counters() : disk_.counters();
  if (throttle_) c.parked = throttle_->parked();
  return c;
}

}  // namespace spillway::sim
