#include "sim/device/ssd.hpp"

#include <cmath>
#include <deque>

#include "sim/check.hpp"
#include "sim/device/completions.hpp"

namespace spillway::sim::device {

namespace {

class Ssd final : public Device {
 public:
  explicit Ssd(const SsdParams& params) : params_(params) {}

  void submit(SimTime now, const Request& request) override {
    SPILLWAY_CHECK(now >= now_, "a request was submitted to an SSD in its past");
    SPILLWAY_CHECK(request.start.value() >= 0 && request.end() <= capacity(), "a request lies outside the SSD");
    now_ = now;
    if (in_flight_++ == 0) busy_since_ = now;
    const Command command{request, now};
    if (inside_ < params_.queue_depth) {
      start(command);
    } else {
      waiting_.push_back(command);
    }
  }

  std::optional<SimTime> next_event() const override { return completions_.next(); }

  void advance(SimTime now, std::vector<Completion>& done) override {
    while (completions_.next() && *completions_.next() <= now) {
      const Completion completion = completions_.pop();
      now_ = completion.at;
      done.push_back(completion);
      --inside_;
      if (--in_flight_ == 0) {
        busy_ += now_ - busy_since_;
        last_busy_ = now_;
      }
      if (!waiting_.empty()) {
        const Command next = waiting_.front();
        waiting_.pop_front();
        start(next);
      }
    }
    now_ = std::max(now_, now);
  }

  Counters counters(SimTime now) const override {
    Counters out = totals_;
    DiskCounters disk = disk_;
    disk.busy = busy_ + (in_flight_ > 0 ? now - busy_since_ : Duration{0});
    settle(disk.split, now);
    disk.split.overhead = disk.busy - disk.split.total();
    disk.split.idle = (now - SimTime{}) - disk.busy;
    out.disks.push_back(disk);
    return out;
  }

  std::int64_t in_flight() const override { return in_flight_; }
  int queue_depth() const override { return params_.queue_depth; }
  Sectors capacity() const override { return Sectors{params_.capacity.value() / kSectorSize.value()}; }
  Bytes physical_block() const override { return Bytes{4096}; }
  bool volatile_cache() const override { return params_.volatile_cache; }
  BytesPerSec sequential_write_rate() const override { return params_.write_rate; }

 private:
  struct Command {
    Request request;
    SimTime submitted;
  };
  /// A stretch of pipe time that is reserved; it enters the account when it has passed.
  struct Charge {
    SimTime from;
    Duration alignment{0}, flush{0}, move{0};
    bool meta = false;
    Reason reason = Reason::host;
    Duration redundant{0};
    [[nodiscard]] SimTime end() const { return from + alignment + flush + move; }
  };

  void start(const Command& command) {
    ++inside_;
    const Request& r = command.request;
    const SimTime from = std::max(now_, pipe_free_);
    Charge charge{.from = from, .meta = r.meta, .reason = r.reason};
    const bool forced = r.flush || (r.write && r.fua);
    if (forced) charge.flush = params_.flush_latency;
    Duration latency{0};
    if (r.length.value() > 0) {
      charge.move = r.write ? write_time(r, charge.alignment) : read_time(r);
      latency = r.write ? params_.write_latency : params_.read_latency;
      charge.redundant = Duration{charge.move.count() * r.redundant.value() / r.length.value()};
    }
    pipe_free_ = charge.end();
    charges_.push_back(charge);
    settle_passed();
    count(r);
    completions_.add({r.id, command.submitted, pipe_free_ + latency});
  }

  Duration read_time(const Request& r) const {
    return std::max(time_to_move(to_bytes(r.length), params_.read_rate), per_command(params_.read_iops));
  }

  Duration write_time(const Request& r, Duration& alignment) {
    const std::int64_t unit = params_.indirection_unit.value() / kSectorSize.value();
    const std::int64_t first = r.start.value() / unit * unit, last = (r.end().value() + unit - 1) / unit * unit;
    const Bytes extra{(last - first - r.length.value()) * kSectorSize.value()};
    BytesPerSec rate = params_.write_rate;
    if (params_.fast_cache.value() > 0) rate = fast_rate(to_bytes(r.length));
    Duration move = time_to_move(to_bytes(r.length), rate);
    if (!continues_a_stream(r) && params_.random_write_amplification > 1) {
      move = Duration{std::llround(static_cast<double>(move.count()) * params_.random_write_amplification)};
    }
    if (extra.value() > 0) {  // the units at the edges are read and written whole
      const int edges = (first != r.start.value() ? 1 : 0) + (last != r.end().value() ? 1 : 0);
      alignment = time_to_move(extra, rate) + time_to_move(params_.indirection_unit * edges, params_.read_rate);
    }
    return std::max(move, per_command(params_.write_iops));
  }

  static Duration per_command(double iops) {
    return iops > 0 ? Duration{std::llround(1e9 / iops)} : Duration{0};
  }

  bool continues_a_stream(const Request& r) {
    for (auto it = streams_.begin(); it != streams_.end(); ++it) {
      if (*it == r.start.value()) {
        streams_.erase(it);
        streams_.push_front(r.end().value());
        return true;
      }
    }
    streams_.push_front(r.end().value());
    if (static_cast<int>(streams_.size()) > params_.write_streams) streams_.pop_back();
    return false;
  }

  /// The fast cache empties while nothing is in flight; a write that no longer fits goes at the flash's own rate.
  BytesPerSec fast_rate(Bytes bytes) {
    if (in_flight_ == 1 && now_ > last_busy_) {
      const double drained = to_seconds(now_ - last_busy_) * static_cast<double>(params_.fast_drain_rate.value());
      fast_used_ -= static_cast<std::int64_t>(std::min(drained, static_cast<double>(fast_used_)));
      last_busy_ = now_;
    }
    if (fast_used_ + bytes.value() > params_.fast_cache.value()) return params_.write_rate;
    fast_used_ += bytes.value();
    return params_.fast_write_rate;
  }

  void count(const Request& r) {
    const Bytes bytes = to_bytes(r.length);
    if (r.flush) ++disk_.flushes, ++totals_.flushes;
    if (bytes.value() == 0) return;
    if (r.write) {
      ++disk_.writes, ++totals_.writes;
      disk_.written += bytes;
      totals_.written += bytes;
      if (r.reason == Reason::rmw_write) ++disk_.rmw_writes, disk_.rmw_written += bytes;
    } else {
      ++disk_.reads, ++totals_.reads;
      disk_.read += bytes;
      totals_.read += bytes;
      if (r.reason == Reason::rmw_read) ++disk_.rmw_reads, disk_.rmw_read += bytes;
    }
  }

  static void add(TimeSplit& split, const Charge& c, Duration elapsed) {
    const auto spend = [&](Duration part) {
      const Duration spent = std::min(part, elapsed);
      elapsed -= spent;
      return spent;
    };
    const Duration flush = spend(c.flush), alignment = spend(c.alignment), move = spend(c.move);
    split.flush += flush;
    if (c.meta) {
      split.metadata += alignment + move;
      return;
    }
    split.alignment += alignment;
    const Duration redundant = std::min(move, c.redundant);
    if (c.reason == Reason::rmw_read) {
      split.read_modify_write += move;
    } else {
      (c.reason == Reason::rmw_write ? split.read_modify_write : split.redundancy) += redundant;
      split.data += move - redundant;
    }
  }

  void settle_passed() {
    while (!charges_.empty() && charges_.front().end() <= now_) {
      const Charge& c = charges_.front();
      add(disk_.split, c, c.end() - c.from);
      charges_.pop_front();
    }
  }
  void settle(TimeSplit& split, SimTime now) const {
    for (const Charge& c : charges_) {
      if (c.from >= now) break;
      add(split, c, std::min(now, c.end()) - c.from);
    }
  }

  SsdParams params_;
  SimTime now_{}, pipe_free_{}, busy_since_{}, last_busy_{};
  Duration busy_{0};
  std::deque<Command> waiting_;
  std::deque<Charge> charges_;
  std::deque<std::int64_t> streams_;  ///< ends of the latest writes, newest first
  PendingCompletions completions_;
  std::int64_t fast_used_ = 0;
  std::int64_t inside_ = 0, in_flight_ = 0;
  Counters totals_;
  DiskCounters disk_;
};

}  // namespace

std::unique_ptr<Device> make_ssd(const SsdParams& params) { return std::make_unique<Ssd>(params); }

}  // namespace spillway::sim::device
