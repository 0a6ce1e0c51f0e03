#include "sim/device/limit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>

#include "sim/device/composite.hpp"
#include "sim/device/host_ops.hpp"

namespace spillway::sim::device {

namespace {

std::vector<std::unique_ptr<Device>> one_or_none(std::unique_ptr<Device> below) {
  std::vector<std::unique_ptr<Device>> members;
  if (below) members.push_back(std::move(below));
  return members;
}

class Limit final : public Composite {
 public:
  Limit(const LimitParams& params, std::unique_ptr<Device> below)
      : Composite(one_or_none(std::move(below))),
        params_(params),
        burst_(time_to_move(params.burst, params.rate)),
        per_request_(params.iops > 0 ? std::llround(1e9 / params.iops) : 0) {}

  Sectors capacity() const override {
    return members_.empty() ? Sectors{params_.capacity.value() / kSectorSize.value()} : members_[0]->capacity();
  }
  int queue_depth() const override { return params_.queue_depth; }
  Bytes stripe_unit() const override { return members_.empty() ? Bytes{0} : members_[0]->stripe_unit(); }
  Bytes stripe_width() const override { return members_.empty() ? Bytes{0} : members_[0]->stripe_width(); }
  BytesPerSec sequential_write_rate() const override {
    return members_.empty() ? params_.rate : std::min(params_.rate, members_[0]->sequential_write_rate());
  }

  Counters counters(SimTime now) const override {
    Counters out = Composite::counters(now);
    if (!members_.empty()) return out;
    // The ideal disk moves bytes all the time that its budget is in use.
    DiskCounters disk;
    disk.reads = totals_.reads;
    disk.writes = totals_.writes;
    disk.flushes = totals_.flushes;
    disk.read = totals_.read;
    disk.written = totals_.written;
    disk.busy = busy_ + (waiting() > 0 ? now - busy_since_ : Duration{0});
    disk.split.data = disk.busy;
    disk.split.idle = (now - SimTime{}) - disk.busy;
    out.disks.push_back(disk);
    return out;
  }

 protected:
  void accept(SimTime now, const Request& request) override {
    if (waiting() == 0) busy_since_ = now;
    Lane& lane = lanes_[request.write ? 1 : 0];
    // Budgets as clocks: the time at which everything admitted so far is paid for; `burst` before that is allowed.
    lane.bytes_until = std::max(lane.bytes_until, now - burst_) + time_to_move(to_bytes(request.length), params_.rate);
    lane.requests_until = std::max(lane.requests_until + per_request_, now);
    const SimTime at = std::max({now, lane.bytes_until, lane.requests_until, lane.last});
    lane.last = at;  // in order within a direction
    lane.queue.push_back({at, ops_.add(request, now)});
  }

  std::optional<SimTime> own_event() const override {
    std::optional<SimTime> next;
    for (const Lane& lane : lanes_) {
      if (!lane.queue.empty() && (!next || lane.queue.front().at < *next)) next = lane.queue.front().at;
    }
    return next;
  }

  void own_advance(SimTime now) override {
    for (Lane& lane : lanes_) {
      while (!lane.queue.empty() && lane.queue.front().at <= now) {
        const std::uint64_t op = lane.queue.front().op;
        lane.queue.pop_front();
        if (members_.empty()) {
          const HostOp done = ops_.take(op);
          finish(done.request, done.submitted, now);
        } else {
          send(now, 0, ops_[op].request, op);
        }
        if (waiting() == 0) busy_ += now - busy_since_;
      }
    }
  }

  void member_done(SimTime at, std::size_t, Tag op) override {
    const HostOp done = ops_.take(op);
    finish(done.request, done.submitted, at);
  }

 private:
  struct Waiting {
    SimTime at;
    std::uint64_t op;
  };
  struct Lane {
    SimTime bytes_until{}, requests_until{}, last{};
    std::deque<Waiting> queue;
  };
  std::size_t waiting() const { return lanes_[0].queue.size() + lanes_[1].queue.size(); }

  LimitParams params_;
  Duration burst_, per_request_;
  std::array<Lane, 2> lanes_;
  HostOps ops_;
  SimTime busy_since_{};
  Duration busy_{0};
};

}  // namespace

std::unique_ptr<Device> make_limit(const LimitParams& params, std::unique_ptr<Device> below) {
  return std::make_unique<Limit>(params, std::move(below));
}

}  // namespace spillway::sim::device
