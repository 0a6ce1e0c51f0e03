#include "sim/block/mq_deadline.hpp"

namespace spillway::sim::block {

void MqDeadline::store(Lane& lane, Entry entry) {
  const Key key{entry.request.request.start.value(), entry.arrival};
  lane.by_age[entry.arrival] = key;
  lane.by_end[entry.request.request.end().value()] = key;
  lane.sorted.emplace(key, std::move(entry));
}

MqDeadline::Entry MqDeadline::remove(Lane& lane, Place place) {
  Entry entry = std::move(place->second);
  lane.by_age.erase(entry.arrival);
  if (const auto end = lane.by_end.find(entry.request.request.end().value());
      end != lane.by_end.end() && end->second == place->first) {
    lane.by_end.erase(end);
  }
  lane.sorted.erase(place);
  return entry;
}

bool MqDeadline::merge(Lane& lane, const QueuedRequest& incoming) {
  const device::Request& r = incoming.request;
  const auto absorb = [&](Place place, bool front) {
    Entry entry = remove(lane, place);  // age and deadline stay those of the queued request
    device::Request& whole = entry.request.request;
    if (front) whole.start = r.start;
    whole.length += r.length;
    entry.request.bios.insert(entry.request.bios.end(), incoming.bios.begin(), incoming.bios.end());
    store(lane, std::move(entry));
    ++merged_;
    return true;
  };
  if (const auto end = lane.by_end.find(r.start.value()); end != lane.by_end.end()) {
    const Place place = lane.sorted.find(end->second);
    if (mergeable(place->second.request.request, r, params_.max_sectors)) return absorb(place, false);
  }
  if (params_.front_merges) {
    const Place place = lane.sorted.lower_bound({r.end().value(), 0});
    if (place != lane.sorted.end() && mergeable(r, place->second.request.request, params_.max_sectors)) {
      return absorb(place, true);
    }
  }
  return false;
}

void MqDeadline::insert(SimTime now, QueuedRequest request) {
  const bool write = request.request.write;
  Lane& lane = lanes_[write ? 1 : 0];
  if (merge(lane, request)) return;
  store(lane, Entry{std::move(request), now + (write ? params_.write_expire : params_.read_expire), arrivals_++});
}

QueuedRequest MqDeadline::take(Lane& lane, Place place) {
  Entry entry = remove(lane, place);
  lane.position = entry.request.request.end().value();
  ++batched_;
  return std::move(entry.request);
}

std::optional<QueuedRequest> MqDeadline::dispatch(SimTime now) {
  Lane& last = lanes_[direction_];
  if (batched_ < params_.fifo_batch) {
    if (const Place next = above_position(last); batched_ > 0 && next != last.sorted.end()) return take(last, next);
  }
  Lane &reads = lanes_[0], &writes = lanes_[1];
  if (reads.sorted.empty() && writes.sorted.empty()) return std::nullopt;
  int chosen = 0;
  if (reads.sorted.empty() || (!writes.sorted.empty() && starved_++ >= params_.writes_starved)) {
    chosen = 1;
    starved_ = 0;
  }
  direction_ = chosen;
  batched_ = 0;
  Lane& lane = lanes_[chosen];
  const Place oldest = lane.sorted.find(lane.by_age.begin()->second);
  Place next = above_position(lane);
  if (next == lane.sorted.end() || oldest->second.expires <= now) next = oldest;
  return take(lane, next);
}

}  // namespace spillway::sim::block
