#include "sim/device/composite.hpp"

#include <algorithm>

#include "sim/check.hpp"
#include "sim/device/completions.hpp"

namespace spillway::sim::device {

void Composite::submit(SimTime now, const Request& request) {
  SPILLWAY_CHECK(now >= now_, "a request was submitted to an array in its past");
  SPILLWAY_CHECK(request.start.value() >= 0 && request.end() <= capacity(), "a request lies outside the array");
  SPILLWAY_CHECK(request.length.value() > 0 || request.flush, "an empty request that is not a flush");
  now_ = now;
  ++in_flight_;
  accept(now, request);
}

std::optional<SimTime> Composite::next_event() const {
  std::optional<SimTime> next = own_event();
  for (const SimTime due : due_)
    if (due != kNever) next = earlier(next, due);
  if (!finished_.empty()) next = earlier(next, finished_.front().at);
  return next;
}

void Composite::advance(SimTime now, std::vector<Completion>& done) {
  for (auto next = next_event(); next && *next <= now; next = next_event()) {
    now_ = std::max(now_, *next);
    for (std::size_t m = 0; m < members_.size(); ++m) {
      if (due_[m] > now_) continue;
      scratch_.clear();
      members_[m]->advance(now_, scratch_);
      look_at(m);
      // A completion may send more to the same member: that completes nothing at once, so the list stays as it is.
      for (const Completion& c : scratch_) {
        const Tag tag = tags_[c.id];
        free_ids_.push_back(c.id);
        member_done(c.at, m, tag);
      }
    }
    if (const auto own = own_event(); own && *own <= now_) own_advance(now_);
    in_flight_ -= static_cast<std::int64_t>(finished_.size());
    done.insert(done.end(), finished_.begin(), finished_.end());
    finished_.clear();
  }
  now_ = std::max(now_, now);
}

void Composite::send(SimTime now, std::size_t member, Request request, Tag tag) {
  std::uint64_t id = tags_.size();
  if (free_ids_.empty()) {
    tags_.push_back(tag);
  } else {
    id = free_ids_.back();
    free_ids_.pop_back();
    tags_[id] = tag;
  }
  request.id = id;
  members_[member]->submit(now, request);
  look_at(member);
}

void Composite::finish(const Request& request, SimTime submitted, SimTime at) {
  if (request.flush) ++totals_.flushes;
  if (request.length.value() > 0) {
    (request.write ? totals_.writes : totals_.reads) += 1;
    (request.write ? totals_.written : totals_.read) += to_bytes(request.length);
  }
  finished_.push_back({request.id, submitted, at});
}

Counters Composite::counters(SimTime now) const {
  Counters out = totals_;
  for (const auto& member : members_) {
    const Counters c = member->counters(now);
    out.disks.insert(out.disks.end(), c.disks.begin(), c.disks.end());
    out.cache_dirty += c.cache_dirty;
    out.absorbed += c.absorbed;
    out.cache_full_waits += c.cache_full_waits;
    out.full_rows += c.full_rows;
    out.rmw_rows += c.rmw_rows;
    out.reconstruct_rows += c.reconstruct_rows;
    out.bitmap_writes += c.bitmap_writes;
  }
  return out;
}

int Composite::queue_depth() const {
  int sum = 0;
  for (const auto& member : members_) sum += member->queue_depth();
  return std::min(sum, 1024);
}

bool Composite::volatile_cache() const {
  return std::any_of(members_.begin(), members_.end(), [](const auto& m) { return m->volatile_cache(); });
}

bool Composite::rotational() const {
  return std::any_of(members_.begin(), members_.end(), [](const auto& m) { return m->rotational(); });
}

Bytes Composite::logical_block() const {
  Bytes most{512};
  for (const auto& member : members_) most = std::max(most, member->logical_block());
  return most;
}

Bytes Composite::physical_block() const {
  Bytes most{512};
  for (const auto& member : members_) most = std::max(most, member->physical_block());
  return most;
}

}  // namespace spillway::sim::device
