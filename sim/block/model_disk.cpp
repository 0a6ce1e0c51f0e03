#include "sim/block/model_disk.hpp"

#include <algorithm>

namespace spillway::sim {

namespace {

std::uint64_t slot(std::vector<std::uint64_t>& free, auto& slots) {
  if (free.empty()) {
    slots.emplace_back();
    return slots.size() - 1;
  }
  const std::uint64_t index = free.back();
  free.pop_back();
  return index;
}

}  // namespace

ModelDisk::ModelDisk(Engine& engine, std::unique_ptr<device::Device> device, Bytes max_request)
    : engine_(engine),
      device_(std::move(device)),
      scheduler_({.max_sectors = Sectors{max_request / kSectorSize}}),
      timer_(engine, Phase::device_done, [this] { work(); }) {}

void ModelDisk::start(Bio& bio) {
  const std::uint64_t id = slot(free_bios_, bios_);
  bios_[id] = &bio;
  device::Request r{.id = id, .start = bio.start, .length = Sectors{bio.size / kSectorSize}, .write = bio.write,
                    .flush = bio.flush, .fua = bio.fua, .sync = bio.sync, .meta = bio.meta, .background = bio.background};
  if (r.flush && r.length.value() == 0) r.write = true;
  block::QueuedRequest queued{r, {id}};
  // A flush or forced write does not wait behind sorted requests.
  if (device_->rotational() && !r.flush && !r.fua) {
    scheduler_.insert(engine_.now(), std::move(queued));
  } else {
    arrivals_.push_back(std::move(queued));
  }
  // From an event of its own: bios of the same instant can merge first, and nobody is called back from in here.
  if (!timer_.pending() || timer_.expires() > engine_.now()) timer_.arm(engine_.now());
}

std::optional<block::QueuedRequest> ModelDisk::next() {
  if (!arrivals_.empty()) {
    block::QueuedRequest first = std::move(arrivals_.front());
    arrivals_.pop_front();
    return first;
  }
  return scheduler_.dispatch(engine_.now());
}

void ModelDisk::send(block::QueuedRequest queued) {
  const std::uint64_t id = slot(free_requests_, riders_);
  riders_[id] = std::move(queued.bios);
  queued.request.id = id;
  device_->submit(engine_.now(), queued.request);
}

void ModelDisk::dispatch() {
  if (device_->in_flight() == 0) busy_since_ = engine_.now();
  while (device_->in_flight() < device_->queue_depth()) {
    auto queued = next();
    if (!queued) break;
    send(std::move(*queued));
  }
  if (const auto event = device_->next_event()) timer_.arm(std::max(*event, engine_.now()));
}

void ModelDisk::work() {
  const bool was_busy = device_->in_flight() > 0;
  done_.clear();
  device_->advance(engine_.now(), done_);
  if (was_busy) counters_.busy += engine_.now() - busy_since_;
  busy_since_ = engine_.now();
  for (const device::Completion& c : done_) {
    const std::vector<std::uint64_t> riders = std::move(riders_[c.id]);
    free_requests_.push_back(c.id);
    bool counted = false;
    for (const std::uint64_t id : riders) {
      Bio& bio = *bios_[id];
      free_bios_.push_back(id);
      if (bio.size.value() > 0) {
        if (!counted) ++(bio.write ? counters_.writes : counters_.reads);
        counted = true;
        (bio.write ? counters_.written : counters_.read) += bio.size;
        if (bio.write && bio.meta) counters_.metadata_written += bio.size;
      }
      if (bio.flush) ++counters_.flushes;
      bio.owner->bio_done(bio);
    }
  }
  dispatch();
}

BlockCounters ModelDisk::counters() const {
  BlockCounters out = counters_;
  out.in_flight = device_->in_flight();
  if (out.in_flight > 0) out.busy += engine_.now() - busy_since_;
  return out;
}

}  // namespace spillway::sim
