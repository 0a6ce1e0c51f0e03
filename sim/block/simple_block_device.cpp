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
                                     const DeviceWriteback& wb, bool throttle_slices)
    : engine_(engine), clock_(clock), inputs_(inputs), wb_(wb), disk_(engine, disk_params(inputs)),
      room_(engine, Phase::flusher) {
  if (inputs_.kind == Kind::model) {
    auto device = device::make_device(*inputs_.model, engine.seed());
    SPILLWAY_CHECK(device.has_value(), "validate() let a device model through that cannot be made");
    model_.emplace(engine, std::move(*device), inputs_.max_request);
  }
  if (inputs_.kind == Kind::throttled || inputs_.kind == Kind::stacked)
    throttle_.emplace(engine, clock,
                      ByteThrottleParams{.rate = inputs_.write_rate, .iops = inputs_.write_iops, .slices = throttle_slices},
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
  if (bio.size > inputs_.max_request || !has_room(bio)) return false;
  Bio& request = request_of(bio, Bytes{0});
  issue(request);
  return true;
}

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
    issue(request_of(bio, inputs_.max_request * i));
  }
}

void SimpleBlockDevice::bio_done(Bio& request) {
  Bio& bio = *static_cast<Bio*>(request.context);
  --tags_used_;
  if (is_tracked(bio)) --background_in_flight_;
  pool_.put(request);
  room_.wake_one();
  if (--bio.outstanding <= 0) bio.owner->bio_done(bio);
}

BlockCounters SimpleBlockDevice::counters() const {
  BlockCounters c = model_ ? model_->counters() : disk_.counters();
  if (throttle_) c.parked = throttle_->parked();
  return c;
}

}  // namespace spillway::sim
