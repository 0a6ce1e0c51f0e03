#include "sim/block/serial_disk.hpp"

#include <algorithm>

namespace spillway::sim {

void SerialDisk::start(Bio& bio) {
  Duration service = time_to_move(bio.size, bio.write ? params_.write_rate : params_.read_rate);
  if (bio.flush || bio.fua) service += params_.flush_time;
  const SimTime begin = std::max(engine_.now(), free_at_);
  free_at_ = begin + service;
  counters_.busy += service;
  ++counters_.in_flight;
  if (!free_) {
    all_.push_back(std::make_unique<Pending>());
    free_ = all_.back().get();
    free_->next = nullptr;
  }
  Pending* const pending = free_;
  free_ = pending->next;
  const bool merges = bio.write && bio.size.value() > 0 && !bio.flush && !bio.fua && engine_.now() == last_at_ && bio.start == last_end_ &&
                      last_size_ + bio.size <= params_.max_request;
  pending->requests = merges ? 0 : (bio.size.value() + params_.max_request.value() - 1) / params_.max_request.value();
  last_size_ = merges ? last_size_ + bio.size : bio.size;
  last_end_ = bio.start + Sectors{bio.size / kSectorSize};
  last_at_ = engine_.now();
  pending->disk = this;
  pending->bio = &bio;
  engine_.schedule(free_at_ + params_.latency, Phase::device_done, done, pending);
}

void SerialDisk::done(void* argument, std::uint64_t) {
  auto* const pending = static_cast<Pending*>(argument);
  SerialDisk& self = *pending->disk;
  Bio& bio = *pending->bio;
  const std::int64_t requests = pending->requests;
  pending->next = self.free_;
  self.free_ = pending;
  BlockCounters& c = self.counters_;
  --c.in_flight;
  if (bio.size.value() > 0) {
    if (bio.write) {
      c.writes += requests;
      c.written += bio.size;
      if (bio.meta) c.metadata_written += bio.size;
    } else {
      c.reads += requests;
      c.read += bio.size;
    }
  }
  if (bio.flush || bio.fua) ++c.flushes;
  bio.owner->bio_done(bio);
}

}  // namespace spillway::sim
