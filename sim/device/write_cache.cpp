#include "sim/device/write_cache.hpp"

#include <deque>

#include "sim/check.hpp"
#include "sim/device/completions.hpp"
#include "sim/device/composite.hpp"
#include "sim/device/extent_cache.hpp"
#include "sim/device/host_ops.hpp"

namespace spillway::sim::device {

namespace {

std::vector<std::unique_ptr<Device>> only(std::unique_ptr<Device> below) {
  std::vector<std::unique_ptr<Device>> members;
  members.push_back(std::move(below));
  return members;
}

class WriteCache final : public Composite {
 public:
  WriteCache(const WriteCacheParams& params, std::unique_ptr<Device> below)
      : Composite(only(std::move(below))),
        params_(params),
        size_(params.size.value() / kSectorSize.value()),
        row_(members_[0]->stripe_width().value() / kSectorSize.value()) {
    unit_ = std::max<std::int64_t>(8, params.destage_unit.value() / kSectorSize.value());
    if (row_ > 0) unit_ = std::max(row_, unit_ / row_ * row_);
  }

  Sectors capacity() const override { return members_[0]->capacity(); }
  int queue_depth() const override { return params_.queue_depth; }
  bool volatile_cache() const override { return false; }
  bool rotational() const override { return params_.rotational; }
  Bytes stripe_unit() const override { return members_[0]->stripe_unit(); }
  Bytes stripe_width() const override { return members_[0]->stripe_width(); }
  BytesPerSec sequential_write_rate() const override {
    return std::min(params_.interface_rate, members_[0]->sequential_write_rate());
  }
  Counters counters(SimTime now) const override {
    Counters out = Composite::counters(now);
    out.cache_dirty += Bytes{(cache_.sectors() + destaging_sectors_) * kSectorSize.value()};
    out.absorbed += Bytes{absorbed_ * kSectorSize.value()};
    out.cache_full_waits += full_waits_;
    return out;
  }

 protected:
  void accept(SimTime now, const Request& request) override {
    const std::uint64_t op = ops_.add(request, now);
    ops_[op].request.flush = false;  // the battery keeps what is in the cache
    const bool counts_as_flush = request.flush;
    if (counts_as_flush) ++totals_.flushes;
    const Request& r = ops_[op].request;
    if (r.length.value() == 0) return acknowledge(now, op);
    if (!r.write) {
      if (cache_.covers(r.start.value(), r.end().value())) return acknowledge(now, op);
      return send(now, 0, r, kHost | op << 1);
    }
    last_write_ = now;
    if (r.length.value() > size_) {
      absorbed_ += cache_.erase(r.start.value(), r.end().value());
      return send(now, 0, r, kHost | op << 1);
    }
    if (waiting_for_room_.empty() && has_room(r)) {
      put(now, op);
    } else {
      ++full_waits_;
      waiting_for_room_.push_back(op);
    }
    destage(now);
  }

  std::optional<SimTime> own_event() const override {
    auto next = acknowledged_.next();
    if (!cache_.empty() && destages_ < params_.destage_depth && !urgent()) {
      next = earlier(next, std::max(last_write_ + params_.idle_destage, last_time_));
    }
    return next;
  }

  void own_advance(SimTime now) override {
    last_time_ = now;
    while (acknowledged_.next() && *acknowledged_.next() <= now) {
      const Completion c = acknowledged_.pop();
      const HostOp done = ops_.take(c.id);
      finish(done.request, done.submitted, c.at);
    }
    destage(now);
  }

  void member_done(SimTime at, std::size_t, Tag tag) override {
    last_time_ = at;
    if ((tag & 1) == kHost) {
      const HostOp done = ops_.take(tag >> 1);
      finish(done.request, done.submitted, at);
      return;
    }
    --destages_;
    destaging_sectors_ -= static_cast<std::int64_t>(tag >> 1);
    while (!waiting_for_room_.empty() && has_room(ops_[waiting_for_room_.front()].request)) {
      put(at, waiting_for_room_.front());
      waiting_for_room_.pop_front();
    }
    destage(at);
  }

 private:
  static constexpr Tag kHost = 1, kDestage = 0;

  bool has_room(const Request& r) const {
    return cache_.sectors() + destaging_sectors_ + r.length.value() <= size_;
  }

  void put(SimTime now, std::uint64_t op) {
    const Request& r = ops_[op].request;
    const ExtentCache::Tags tags{r.meta ? r.length.value() : 0, 0, 0};
    absorbed_ += cache_.add(r.start.value(), r.end().value(), tags, now);
    acknowledge(now, op);
  }

  void acknowledge(SimTime now, std::uint64_t op) {
    const HostOp& host = ops_[op];
    link_free_ = std::max(now, link_free_) + time_to_move(to_bytes(host.request.length), params_.interface_rate);
    acknowledged_.add({op, host.submitted, link_free_ + params_.ack_latency});
  }

  bool urgent() const {
    return !waiting_for_room_.empty() ||
           static_cast<double>(cache_.sectors()) > params_.destage_above * static_cast<double>(size_);
  }

  void destage(SimTime now) {
    while (!cache_.empty() && destages_ < params_.destage_depth &&
           (urgent() || now >= last_write_ + params_.idle_destage)) {
      auto run = cache_.map().lower_bound(scan_);
      if (run == cache_.map().end()) run = cache_.map().begin();
      const std::int64_t start = run->first;
      std::int64_t length = std::min(run->second.end - start, unit_);
      if (row_ > 0) {  // end on a row's end if one lies within, so that the next piece starts a row
        const std::int64_t aligned = (start + length) / row_ * row_ - start;
        if (aligned > 0) length = aligned;
      }
      const auto piece = cache_.take(start, length);
      scan_ = piece.end;
      ++destages_;
      destaging_sectors_ += length;
      send(now, 0, Request{.start = Sectors{start}, .length = Sectors{length}, .write = true,
                           .meta = piece.tags.meta * 2 > length, .background = true},
           kDestage | static_cast<Tag>(length) << 1);
    }
  }

  WriteCacheParams params_;
  std::int64_t size_, row_, unit_ = 0;
  ExtentCache cache_;
  HostOps ops_;
  std::deque<std::uint64_t> waiting_for_room_;
  PendingCompletions acknowledged_;
  SimTime link_free_{}, last_write_{}, last_time_{};
  std::int64_t scan_ = 0, destaging_sectors_ = 0, absorbed_ = 0, full_waits_ = 0;
  int destages_ = 0;
};

}  // namespace

std::unique_ptr<Device> make_write_cache(const WriteCacheParams& params, std::unique_ptr<Device> below) {
  return std::make_unique<WriteCache>(params, std::move(below));
}

}  // namespace spillway::sim::device
