#include "sim/device/hdd.hpp"

#include <cmath>
#include <deque>

#include "sim/check.hpp"
#include "sim/device/completions.hpp"
#include "sim/device/extent_cache.hpp"
#include "sim/device/hdd_geometry.hpp"
#include "sim/random.hpp"

namespace spillway::sim::device {

namespace {

/// A head that is this little late still catches its sector: rounding to nanoseconds must not cost a revolution.
constexpr Duration kAngleTolerance = std::chrono::microseconds{5};

Duration revolution_of(const HddParams& params, Random& random) {
  const double ns = 60e9 / params.revolutions_per_minute;
  return Duration{std::llround(ns * (1 + params.spindle_tolerance * random.uniform(-1, 1)))};
}

class Hdd final : public Device {
 public:
  Hdd(const HddParams& params, std::uint64_t seed, std::string_view name)
      : params_(params),
        random_(seed, name),
        geometry_(params, revolution_of(params, random_)),
        phase_(static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(geometry_.revolution().count())))),
        cache_sectors_(params.write_cache.value() / kSectorSize.value()),
        unit_sectors_(std::max<std::int64_t>(8, params.destage_unit.value() / kSectorSize.value())),
        read_ahead_sectors_(params.read_ahead.value() / kSectorSize.value()) {}

  void submit(SimTime now, const Request& request) override {
    SPILLWAY_CHECK(now >= now_, "a request was submitted to a disk in its past");
    SPILLWAY_CHECK(request.start.value() >= 0 && request.end().value() <= geometry_.capacity(),
                   "a request lies outside the disk");
    now_ = now;
    ++in_flight_;
    const Command command{request, now, now + params_.command_overhead};
    if (draining_ || !held_.empty()) {
      held_.push_back(command);
    } else {
      accept(command);
    }
    start_if_idle(now);
  }

  std::optional<SimTime> next_event() const override {
    auto next = earlier(mechanical_ ? std::optional{mechanical_->end} : std::nullopt, acknowledged_.next());
    if (!mechanical_ && !queue_.empty()) next = earlier(next, std::max(now_, next_eligible()));
    return next;
  }

  void advance(SimTime now, std::vector<Completion>& done) override {
    for (auto t = next_event(); t && *t <= now; t = next_event()) {
      now_ = *t;
      while (acknowledged_.next() && *acknowledged_.next() <= now_) finish(acknowledged_.pop(), done);
      if (mechanical_ && mechanical_->end <= now_) end_mechanical();
      while (acknowledged_.next() && *acknowledged_.next() <= now_) finish(acknowledged_.pop(), done);
      start_if_idle(now_);
    }
    now_ = std::max(now_, now);
  }

  Counters counters(SimTime now) const override {
    Counters out = totals_;
    DiskCounters disk = disk_;
    if (mechanical_) charge(disk, *mechanical_, std::min(now, mechanical_->end) - mechanical_->start);
    disk.busy = disk.split.total();
    disk.split.idle = (now - SimTime{}) - disk.busy;
    out.cache_dirty = Bytes{(cache_.sectors() + destaging_sectors()) * kSectorSize.value()};
    out.absorbed = Bytes{absorbed_ * kSectorSize.value()};
    out.disks.push_back(disk);
    return out;
  }
  std::int64_t in_flight() const override { return in_flight_; }
  int queue_depth() const override { return params_.queue_depth; }
  Sectors capacity() const override { return Sectors{geometry_.capacity()}; }
  Bytes physical_block() const override { return params_.physical_block; }
  bool volatile_cache() const override { return cache_sectors_ > 0; }
  bool rotational() const override { return true; }
  BytesPerSec sequential_write_rate() const override { return params_.outer_rate; }

 private:
  struct Command {
    Request request;
    SimTime submitted;
    SimTime eligible;
  };
  /// What arm and platter do now: a command of the queue, or a piece of the cache.
  struct Mechanical {
    std::int64_t start_sector = 0, sectors = 0;
    bool write = false;
    ExtentCache::Tags tags;
    Reason reason = Reason::host;
    std::int64_t seek_tracks = 0;
    Duration seek{0}, rotation{0}, extra{0}, transfer{0};  // extra: the revolution of a partly covered block
    SimTime start{}, end{};
    std::optional<Command> command;  // nothing: destaging
  };
  struct Access {
    std::int64_t seek_tracks = 0;
    Duration seek{0}, rotation{0}, extra{0}, transfer{0};
    std::int64_t end_track = 0;
    [[nodiscard]] Duration positioning() const { return seek + rotation; }
  };

  // --- Taking commands in -------------------------------------------------------------------------------------------

  void accept(const Command& command) {
    const Request& r = command.request;
    if (r.flush) {
      draining_ = command;
      finish_drain_if_empty(now_);
      return;
    }
    accept_data(command);
  }

  void accept_data(const Command& command) {
    const Request& r = command.request;
    if (r.write && cache_sectors_ > 0 && !r.fua && r.length.value() <= cache_sectors_) {
      if (waiting_for_room_.empty() && has_room(r)) {
        put_in_cache(command, now_);
      } else {
        ++totals_.cache_full_waits;
        waiting_for_room_.push_back(command);
      }
      return;
    }
    // Newer data supersedes what is in the cache; only FUA and oversized writes come here with the cache on.
    if (r.write) absorbed_ += cache_.erase(r.start.value(), r.end().value());
    queue_.push_back(command);
  }

  bool has_room(const Request& r) const {
    const std::int64_t used = cache_.sectors() + destaging_sectors();
    if (used + r.length.value() > cache_sectors_) return false;
    return cache_.touches(r.start.value(), r.end().value()) ||
           static_cast<int>(cache_.runs()) < params_.write_cache_runs;
  }

  void put_in_cache(const Command& command, SimTime now) {
    const Request& r = command.request;
    absorbed_ += cache_.add(r.start.value(), r.end().value(), tags_of(r), now);
    invalidate_buffer(r.start.value(), r.end().value());
    const SimTime from = std::max(std::max(now, command.eligible), link_free_);
    link_free_ = from + time_to_move(to_bytes(r.length), params_.interface_rate);
    acknowledge(command, link_free_);
  }

  static ExtentCache::Tags tags_of(const Request& r) {
    return {r.meta ? r.length.value() : 0, r.redundant.value(), r.reason == Reason::rmw_write ? r.length.value() : 0};
  }

  void acknowledge(const Command& command, SimTime at) {
    const Request& r = command.request;
    acknowledged_.add({r.id, command.submitted, at});
    if (r.length.value() > 0) {
      (r.write ? totals_.writes : totals_.reads) += 1;
      (r.write ? totals_.written : totals_.read) += to_bytes(r.length);
    }
  }

  void finish(const Completion& completion, std::vector<Completion>& done) {
    --in_flight_;
    done.push_back(completion);
  }

  // --- Choosing what the arm does next ------------------------------------------------------------------------------

  SimTime next_eligible() const {
    SimTime first = SimTime::max();
    const std::size_t window = std::min<std::size_t>(queue_.size(), static_cast<std::size_t>(params_.queue_depth));
    for (std::size_t i = 0; i < window; ++i) first = std::min(first, queue_[i].eligible);
    return first;
  }

  void start_if_idle(SimTime now) {
    while (!mechanical_) {
      if (!serve_from_buffer(now)) break;
    }
    if (mechanical_) return;
    std::optional<std::size_t> command = choose_command(now);
    if (command && (!must_destage() || cache_.empty())) return start_command(*command, now);
    if (cache_.empty()) return;
    const std::int64_t run = choose_run(now);
    if (command) {  // both want the arm: the shorter access wins
      const std::int64_t end = std::min(cache_.map().at(run).end, run + unit_sectors_);
      const Command& c = queue_[*command];
      const bool aged = now - c.submitted > params_.starvation_limit;
      if (aged || access(c.request.start.value(), c.request.length.value(), c.request.write, now).positioning() <=
                      access(run, end - run, true, now).positioning()) {
        return start_command(*command, now);
      }
    }
    start_destage(run, now);
  }

  /// Is the cache so full, or so urgently wanted empty, that destaging competes with queued commands?
  bool must_destage() const {
    return draining_.has_value() || !waiting_for_room_.empty() ||
           static_cast<double>(cache_.sectors()) >
               params_.destage_over_reads_above * static_cast<double>(cache_sectors_) ||
           static_cast<double>(cache_.runs()) > params_.destage_over_reads_above * params_.write_cache_runs;
  }

  std::optional<std::size_t> choose_command(SimTime now) const {
    const std::size_t window = std::min<std::size_t>(queue_.size(), static_cast<std::size_t>(params_.queue_depth));
    std::optional<std::size_t> best;
    Duration best_time{0};
    std::int64_t best_distance = 0;
    for (std::size_t i = 0; i < window; ++i) {
      const Command& c = queue_[i];
      if (c.eligible > now) continue;
      if (params_.scheduling == Scheduling::fifo) return i;
      if (now - c.submitted > params_.starvation_limit) return i;  // the queue is in order of arrival: the oldest
      if (params_.scheduling == Scheduling::cscan) {
        std::int64_t distance = c.request.start.value() - head_sector_;
        if (distance < 0) distance += geometry_.capacity();
        if (!best || distance < best_distance) best = i, best_distance = distance;
      } else {
        const Duration time =
            access(c.request.start.value(), c.request.length.value(), c.request.write, now).positioning();
        if (!best || time < best_time) best = i, best_time = time;
      }
    }
    return best;
  }

  std::int64_t choose_run(SimTime now) const {
    const auto& map = cache_.map();
    if (params_.scheduling != Scheduling::shortest_access) {
      const auto it = map.lower_bound(head_sector_);
      return it == map.end() ? map.begin()->first : it->first;
    }
    std::int64_t best = map.begin()->first;
    Duration best_time = Duration::max();
    for (const auto& [start, run] : map) {
      const std::int64_t end = std::min(run.end, start + unit_sectors_);
      const Duration time = access(start, end - start, true, now).positioning();
      if (time < best_time) best = start, best_time = time;
    }
    return best;
  }

  Access access(std::int64_t start, std::int64_t sectors, bool write, SimTime now) const {
    Access a;
    const auto p = geometry_.position(start);
    a.end_track = p.track + (p.offset + sectors - 1) / p.sectors_per_track;
    a.seek_tracks = std::abs(p.track - head_track_);
    a.seek = geometry_.seek(p.track - head_track_, write);
    a.transfer = geometry_.transfer(p, sectors);
    const Duration rev = geometry_.revolution();
    if (params_.rotation == Rotation::drawn) {
      // The expected value for choosing; the draw itself is made when the command starts.
      a.rotation = start == head_sector_ && now - last_end_ <= kAngleTolerance ? Duration{0} : rev / 2;
    } else {
      const std::int64_t arrived = (now - SimTime{}).count() + a.seek.count() + phase_;
      std::int64_t wait = (geometry_.angle(p).count() - arrived) % rev.count();
      if (wait < 0) wait += rev.count();
      if (Duration{wait} >= rev - kAngleTolerance) wait = 0;
      a.rotation = Duration{wait};
    }
    const std::int64_t block = params_.physical_block.value() / kSectorSize.value();
    if (write && block > 1 && (start % block != 0 || (start + sectors) % block != 0)) a.extra = rev;
    return a;
  }

  void start_command(std::size_t index, SimTime now) {
    const Command command = queue_[index];
    queue_.erase(queue_.begin() + static_cast<std::ptrdiff_t>(index));
    const Request& r = command.request;
    Mechanical m;
    m.start_sector = r.start.value();
    m.sectors = r.length.value();
    m.write = r.write;
    m.tags = tags_of(r);
    m.reason = r.reason;
    m.command = command;
    // While the arm stood still and this command was being decoded, the disk was not idle.
    disk_.split.overhead += std::max(Duration{0}, now - std::max(last_end_, command.submitted));
    const std::int64_t buffered = buffered_to(now);
    if (!r.write && buffer_growing_ && buffered < buffer_to_ + read_ahead_sectors_ &&
        r.start.value() >= buffer_from_ && r.start.value() <= buffered) {
      // The read-ahead is under way in this very place: only what it has not yet read is left to do.
      const std::int64_t have = buffered - r.start.value();
      m.start_sector += have;
      m.sectors -= have;
      Access a;
      const auto p = geometry_.position(m.start_sector);
      a.transfer = geometry_.transfer(p, m.sectors);
      a.end_track = p.track + (p.offset + m.sectors - 1) / p.sectors_per_track;
      return begin(m, a, now);
    }
    stop_read_ahead(now);
    begin(m, access(m.start_sector, m.sectors, m.write, now), now);
  }

  void start_destage(std::int64_t run, SimTime now) {
    stop_read_ahead(now);
    const auto piece = cache_.take(run, unit_sectors_);
    Mechanical m;
    m.start_sector = piece.start;
    m.sectors = piece.end - piece.start;
    m.write = true;
    m.tags = piece.tags;
    begin(m, access(m.start_sector, m.sectors, true, now), now);
  }

  void begin(Mechanical m, const Access& a, SimTime now) {
    if (params_.rotation == Rotation::drawn && a.rotation > Duration{0}) {
      m.rotation = Duration{static_cast<std::int64_t>(
          random_.below(static_cast<std::uint64_t>(geometry_.revolution().count())))};
    } else {
      m.rotation = a.rotation;
    }
    stop_read_ahead(now);
    m.seek_tracks = a.seek_tracks;
    m.seek = a.seek;
    m.extra = a.extra;
    m.transfer = a.transfer;
    m.start = now;
    m.end = now + m.seek + m.rotation + m.extra + m.transfer;
    end_track_ = a.end_track;
    mechanical_ = m;
  }

  void end_mechanical() {
    const Mechanical m = *mechanical_;
    mechanical_.reset();
    charge(disk_, m, m.end - m.start);
    count(m);
    head_sector_ = m.start_sector + m.sectors;
    head_track_ = end_track_;
    last_end_ = m.end;
    if (m.command) {
      acknowledge(*m.command, m.end);
      if (m.write) {
        invalidate_buffer(m.start_sector, head_sector_);
      } else {
        buffer_from_ = m.command->request.start.value();
        buffer_to_ = head_sector_;
        buffer_since_ = m.end;
        buffer_growing_ = read_ahead_sectors_ > 0;
      }
    }
    while (!waiting_for_room_.empty() && has_room(waiting_for_room_.front().request)) {
      put_in_cache(waiting_for_room_.front(), m.end);
      waiting_for_room_.pop_front();
    }
    finish_drain_if_empty(m.end);
  }

  void finish_drain_if_empty(SimTime now) {
    while (draining_ && !mechanical_ && queue_.empty() && cache_.empty() && waiting_for_room_.empty()) {
      const Command flush = *draining_;
      draining_.reset();
      ++totals_.flushes;
      ++disk_.flushes;
      if (flush.request.length.value() == 0) {
        acknowledge(flush, std::max(now, flush.eligible));
      } else {
        Command data = flush;
        data.request.flush = false;
        accept_data(data);
      }
      while (!draining_ && !held_.empty()) {
        const Command next = held_.front();
        held_.pop_front();
        if (next.request.flush) {
          draining_ = next;
        } else {
          accept_data(next);
        }
      }
    }
  }

  // --- The read-ahead buffer ----------------------------------------------------------------------------------------

  std::int64_t buffered_to(SimTime now) const {
    if (!buffer_growing_) return buffer_to_;
    const auto p = geometry_.position(std::min(buffer_to_, geometry_.capacity() - 1));
    const std::int64_t more =
        (now - buffer_since_).count() * p.sectors_per_track / geometry_.revolution().count();
    return std::min({buffer_to_ + std::min(more, read_ahead_sectors_), geometry_.capacity()});
  }

  void stop_read_ahead(SimTime now) {
    if (!buffer_growing_) return;
    const std::int64_t to = buffered_to(now);
    if (to > buffer_to_) {
      const auto p = geometry_.position(std::min(to, geometry_.capacity() - 1));
      head_track_ = p.track;
      head_sector_ = to;
    }
    buffer_to_ = to;
    buffer_growing_ = false;
  }

  void invalidate_buffer(std::int64_t start, std::int64_t end) {
    if (start < buffered_to(now_) && end > buffer_from_) {
      stop_read_ahead(now_);
      buffer_from_ = buffer_to_ = 0;
    }
  }

  /// Serves one eligible read that lies wholly in the buffer or in dirty data.
  bool serve_from_buffer(SimTime now) {
    const std::size_t window = std::min<std::size_t>(queue_.size(), static_cast<std::size_t>(params_.queue_depth));
    for (std::size_t i = 0; i < window; ++i) {
      const Command& c = queue_[i];
      if (c.request.write || c.eligible > now) continue;
      const std::int64_t start = c.request.start.value(), end = c.request.end().value();
      const bool in_buffer = start >= buffer_from_ && end <= buffered_to(now);
      if (!in_buffer && !cache_.covers(start, end)) continue;
      link_free_ = std::max(now, link_free_) + time_to_move(to_bytes(c.request.length), params_.interface_rate);
      ++disk_.cache_hits;
      ++disk_.reads;
      disk_.read += to_bytes(c.request.length);
      if (c.request.reason == Reason::rmw_read) ++disk_.rmw_reads, disk_.rmw_read += to_bytes(c.request.length);
      acknowledge(c, link_free_);
      queue_.erase(queue_.begin() + static_cast<std::ptrdiff_t>(i));
      if (queue_.empty()) finish_drain_if_empty(now);
      return true;
    }
    return false;
  }

  // --- Accounts -----------------------------------------------------------------------------------------------------

  std::int64_t destaging_sectors() const {
    return mechanical_ && !mechanical_->command ? mechanical_->sectors : 0;
  }

  void count(const Mechanical& m) {
    const Bytes bytes{m.sectors * kSectorSize.value()};
    const Bytes asked = m.command ? to_bytes(m.command->request.length) : bytes;  // a read's first part may have been buffered
    (m.write ? disk_.writes : disk_.reads) += 1;
    (m.write ? disk_.written : disk_.read) += asked;
    if (m.seek_tracks > 1) ++disk_.seeks;
    disk_.seek_time += m.seek;
    disk_.rotation_time += m.rotation;
    if (m.reason == Reason::rmw_read) ++disk_.rmw_reads, disk_.rmw_read += asked;
    if (m.tags.rmw > 0) {
      ++disk_.rmw_writes;
      disk_.rmw_written += Bytes{m.tags.rmw * kSectorSize.value()};
    }
  }

  /// Puts the first `elapsed` of an operation into the account, in the order in which its parts happen.
  static void charge(DiskCounters& disk, const Mechanical& m, Duration elapsed) {
    const auto spend = [&](Duration part) {
      const Duration spent = std::min(part, elapsed);
      elapsed -= spent;
      return spent;
    };
    TimeSplit& split = disk.split;
    const Duration seek = spend(m.seek), rotation = spend(m.rotation), extra = spend(m.extra), transfer = spend(m.transfer);
    if (m.tags.meta * 2 > m.sectors) {
      split.metadata += seek + rotation + extra + transfer;
      return;
    }
    split.alignment += extra;
    if (m.reason == Reason::rmw_read) {
      split.read_modify_write += seek + rotation + transfer;
      return;
    }
    if (m.tags.rmw * 2 > m.sectors) {
      split.read_modify_write += seek + rotation;
    } else {
      split.seek += seek;
      split.rotation += rotation;
    }
    const Duration redundant{transfer.count() * m.tags.redundant / std::max<std::int64_t>(1, m.sectors)};
    (m.tags.rmw * 2 > m.sectors ? split.read_modify_write : split.redundancy) += redundant;
    split.data += transfer - redundant;
  }

  HddParams params_;
  Random random_;
  HddGeometry geometry_;
  std::int64_t phase_;
  std::int64_t cache_sectors_, unit_sectors_, read_ahead_sectors_;

  SimTime now_{};
  std::deque<Command> queue_;             ///< for the arm, in order of arrival
  std::deque<Command> waiting_for_room_;  ///< writes for which the cache is too full
  std::deque<Command> held_;              ///< came while a flush was under way
  std::optional<Command> draining_;       ///< the flush under way
  std::optional<Mechanical> mechanical_;
  PendingCompletions acknowledged_;
  ExtentCache cache_;
  SimTime link_free_{};

  std::int64_t head_track_ = 0, end_track_ = 0, head_sector_ = 0;
  SimTime last_end_{};
  std::int64_t buffer_from_ = 0, buffer_to_ = 0;
  SimTime buffer_since_{};
  bool buffer_growing_ = false;

  Counters totals_;
  DiskCounters disk_;
  std::int64_t absorbed_ = 0;
  std::int64_t in_flight_ = 0;
};

}  // namespace

std::unique_ptr<Device> make_hdd(const HddParams& params, std::uint64_t seed, std::string_view name) {
  return std::make_unique<Hdd>(params, seed, name);
}

}  // namespace spillway::sim::device
