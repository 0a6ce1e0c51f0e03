#include "sim/device/parity.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <unordered_map>

#include "sim/check.hpp"
#include "sim/device/composite.hpp"
#include "sim/device/host_ops.hpp"
#include "sim/device/parity_plan.hpp"

namespace spillway::sim::device {

namespace {

constexpr std::int64_t kBlock = 8;  // sectors of a 4 KiB block
constexpr int kFlushing = 1, kBitmap = 2;

class Parity final : public Composite {
 public:
  Parity(const RaidParams& params, std::vector<std::unique_ptr<Device>> members)
      : Composite(std::move(members)), params_(params) {
    shape_.chunk = params.chunk.value() / kSectorSize.value();
    shape_.members = static_cast<int>(members_.size());
    shape_.parity = params.level == RaidLevel::raid6 ? 2 : 1;
    std::int64_t smallest = members_.front()->capacity().value();
    for (const auto& m : members_) smallest = std::min(smallest, m->capacity().value());
    total_ = smallest / shape_.chunk * shape_.row_sectors();
    bitmap_sectors_ = params.bitmap_chunk.value() / kSectorSize.value();
    rows_per_chunk_ = std::max<std::int64_t>(1, shape_.chunk / kBlock);
    stage_limit_ = std::max(params.stripe_cache_rows, rows_per_chunk_);
  }

  Sectors capacity() const override { return Sectors{total_}; }
  Bytes stripe_unit() const override { return Bytes{shape_.chunk * kSectorSize.value()}; }
  Bytes stripe_width() const override { return stripe_unit() * shape_.data(); }
  BytesPerSec sequential_write_rate() const override {
    BytesPerSec slowest = members_.front()->sequential_write_rate();
    for (const auto& m : members_) slowest = std::min(slowest, m->sequential_write_rate());
    return BytesPerSec{slowest.value() * shape_.data()};
  }

 protected:
  void accept(SimTime now, const Request& request) override {
    const std::uint64_t op = ops_.add(request, now);
    if (request.flush) {
      ops_[op].stage = kFlushing;
      ops_[op].outstanding = shape_.members;
      for (std::size_t m = 0; m < members_.size(); ++m) {
        send(now, m, Request{.write = true, .flush = true}, tag(Kind::plain, op));
      }
      return;
    }
    start_data(now, op);
  }

  std::optional<SimTime> own_event() const override {
    std::optional<SimTime> next;
    // Partial rows wait for their time, and for the batch before them to have been read.
    if (!delayed_.empty() && reading_ == 0) next = std::max(delayed_.begin()->first.first, last_time_);
    if (!ready_.empty()) next = earlier_of(next, ready_.begin()->first.first);
    return next;
  }

  void own_advance(SimTime now) override {
    last_time_ = now;
    while (!ready_.empty() && ready_.begin()->first.first <= now) {
      const std::size_t stage = ready_.begin()->second;
      ready_.erase(ready_.begin());
      issue(now, stage);
    }
    if (reading_ == 0) activate_delayed(now);
  }

  void member_done(SimTime at, std::size_t, Tag t) override {
    last_time_ = at;
    const std::size_t index = t >> 1;
    if (static_cast<Kind>(t & 1) == Kind::plain) return host_part_done(at, index);
    Stage& stage = stages_[index];
    if (--stage.outstanding > 0) return;
    if (stage.reading) {
      stage.reading = false;
      --reading_;
      issue_writes(at, index);
      return;
    }
    stage_done(at, index);
  }

 private:
  enum class Kind : std::uint8_t { plain = 0, stage = 1 };
  static Tag tag(Kind kind, std::size_t index) { return index << 1 | static_cast<Tag>(kind); }
  static std::optional<SimTime> earlier_of(std::optional<SimTime> a, SimTime b) { return a && *a < b ? a : b; }

  /// A batch of member I/O that needs room in the stripe cache: a run of whole chunk rows, or one partial chunk row.
  struct Stage {
    std::int64_t first_row = 0, rows = 0;  ///< chunk rows; 1 for a partial one
    std::int64_t cache_rows = 0;           ///< 4 KiB-high rows taken from the stripe cache
    RowPlan plan;                          ///< partial rows only
    bool partial = false, reading = false;
    bool meta = false, sync = false, fua = false;
    std::int64_t outstanding = 0;
    std::vector<std::uint64_t> waiters;    ///< host operations that this completes a part of
  };
  struct Partial {
    Intervals dirty, unaligned;            ///< whole blocks, and blocks at the edges that were covered in part
    std::vector<std::uint64_t> waiters;
    SimTime due{};
    bool meta = true, sync = false, fua = false;
  };
  struct Cached {
    RowContents contents;
    std::int64_t rows = 0;
    std::uint64_t used = 0;
  };

  // --- From the host ------------------------------------------------------------------------------------------------

  void start_data(SimTime now, std::uint64_t op) {
    const Request& r = ops_[op].request;
    ops_[op].stage = 0;
    if (!r.write) return read(now, op);
    if (bitmap_sectors_ > 0 && !bitmap_ready(now, op)) return;
    write(now, op);
  }

  void host_part_done(SimTime at, std::uint64_t op) {
    if (--ops_[op].outstanding > 0) return;
    if (ops_[op].stage == kFlushing && ops_[op].request.length.value() > 0) return start_data(at, op);
    if (ops_[op].stage == kBitmap) {
      ops_[op].stage = 0;
      return write(at, op);
    }
    const HostOp done = ops_.take(op);
    finish(done.request, done.submitted, at);
  }

  /// Are the bits of this write set? If not, sets them with one forced write on every member, for which it waits.
  bool bitmap_ready(SimTime now, std::uint64_t op) {
    const Request& r = ops_[op].request;
    bool ready = true;
    for (std::int64_t bit = r.start.value() / bitmap_sectors_; bit <= (r.end().value() - 1) / bitmap_sectors_; ++bit) {
      const auto [it, is_new] = bitmap_.try_emplace(bit, now);
      if (is_new || now - it->second > params_.bitmap_clear_after) ready = false;
      it->second = now;
    }
    if (ready) return true;
    ++totals_.bitmap_writes;
    ops_[op].stage = kBitmap;
    ops_[op].outstanding = shape_.members;
    for (std::size_t m = 0; m < members_.size(); ++m) {
      send(now, m, Request{.length = Sectors{kBlock}, .write = true, .flush = true, .fua = true, .sync = true,
                           .meta = true}, tag(Kind::plain, op));
    }
    return false;
  }

  void read(SimTime now, std::uint64_t op) {
    const Request r = ops_[op].request;
    std::vector<PlannedIo> runs;
    std::int64_t at = r.start.value();
    while (at < r.end().value()) {
      const std::int64_t row = at / shape_.row_sectors(), in_row = at % shape_.row_sectors();
      const std::int64_t index = in_row / shape_.chunk, offset = in_row % shape_.chunk;
      const std::int64_t here = std::min(shape_.chunk - offset, r.end().value() - at);
      const int member = shape_.data_member(row, static_cast<int>(index));
      const std::int64_t start = row * shape_.chunk + offset;
      auto last = std::find_if(runs.rbegin(), runs.rend(), [&](const PlannedIo& io) { return io.member == member; });
      if (last != runs.rend() && last->start + last->length == start) {
        last->length += here;
      } else {
        runs.push_back({member, start, here, 0});
      }
      at += here;
    }
    ops_[op].outstanding = static_cast<std::int64_t>(runs.size());
    for (const PlannedIo& io : runs) {
      Request part = r;
      part.start = Sectors{io.start};
      part.length = Sectors{io.length};
      send(now, static_cast<std::size_t>(io.member), part, tag(Kind::plain, op));
    }
  }

  void write(SimTime now, std::uint64_t op) {
    const Request r = ops_[op].request;
    const std::int64_t width = shape_.row_sectors();
    std::int64_t at = r.start.value();
    const std::int64_t end = r.end().value();
    ops_[op].outstanding = 1;  // so that nothing completes before all parts are known
    while (at < end) {
      const std::int64_t row = at / width;
      if (at % width == 0 && end - at >= width) {
        // Whole rows, as many at a time as the stripe cache holds; rows that wait for their rest get it here.
        const std::int64_t most = std::max<std::int64_t>(1, stage_limit_ / rows_per_chunk_);
        const std::int64_t rows = std::min((end - at) / width, most);
        add_full_rows(now, op, row, rows);
        at += rows * width;
        continue;
      }
      const std::int64_t to = std::min(end, (row + 1) * width);
      add_partial(now, op, row, at % width, to - row * width);
      at = to;
    }
    host_part_done(now, op);
    admit(now);
  }

  void add_full_rows(SimTime now, std::uint64_t op, std::int64_t row, std::int64_t rows) {
    const std::size_t index = new_stage();
    Stage& stage = stages_[index];
    const Request& r = ops_[op].request;
    stage.first_row = row;
    stage.rows = rows;
    stage.cache_rows = rows * rows_per_chunk_;
    stage.meta = r.meta;
    stage.sync = r.sync;
    stage.fua = r.fua;
    stage.waiters.push_back(op);
    ++ops_[op].outstanding;
    for (auto it = partial_.lower_bound(row); it != partial_.end() && it->first < row + rows;) {
      stage.waiters.insert(stage.waiters.end(), it->second.waiters.begin(), it->second.waiters.end());
      delayed_.erase({it->second.due, it->first});
      it = partial_.erase(it);
    }
    waiting_.push_back(index);
    (void)now;
  }

  void add_partial(SimTime now, std::uint64_t op, std::int64_t row, std::int64_t from, std::int64_t to) {
    const Request& r = ops_[op].request;
    auto [it, is_new] = partial_.try_emplace(row);
    Partial& partial = it->second;
    const std::int64_t first = from / kBlock * kBlock, last = (to + kBlock - 1) / kBlock * kBlock;
    if (first != from && !partial.dirty.covers({first, first + kBlock})) partial.unaligned.add({first, first + kBlock});
    if (last != to && !partial.dirty.covers({last - kBlock, last})) partial.unaligned.add({last - kBlock, last});
    partial.dirty.add({first, last});
    partial.waiters.push_back(op);
    ++ops_[op].outstanding;
    partial.meta = partial.meta && r.meta;
    partial.fua = partial.fua || r.fua;
    // Whoever waits for it unplugs at once; a flusher goes on filling the row for a while.
    SimTime due = r.sync || r.fua ? now : now + params_.partial_row_delay;
    if (!is_new) {
      due = std::min(due, partial.due);
      delayed_.erase({partial.due, row});
    }
    partial.sync = partial.sync || r.sync;
    partial.due = due;
    const bool full = partial.dirty.covers({0, shape_.row_sectors()}) && partial.unaligned.empty();
    if (full && !busy_.contains(row)) {
      const std::size_t index = stage_of_partial(row);
      waiting_.push_back(index);
      return;
    }
    // A row that is being read and written takes what came meanwhile when it is done.
    if (!busy_.contains(row)) delayed_.emplace(std::pair{due, row}, 0);
  }

  // --- Rows under way -----------------------------------------------------------------------------------------------

  std::size_t new_stage() {
    if (free_stages_.empty()) {
      stages_.emplace_back();
      return stages_.size() - 1;
    }
    const std::size_t index = free_stages_.back();
    free_stages_.pop_back();
    stages_[index] = Stage{};
    return index;
  }

  std::size_t stage_of_partial(std::int64_t row) {
    const auto it = partial_.find(row);
    const std::size_t index = new_stage();
    Stage& stage = stages_[index];
    stage.first_row = row;
    stage.rows = 1;
    stage.partial = true;
    const auto cached = cached_.find(row);
    static const RowContents nothing;
    stage.plan = plan_row_write(shape_, row, it->second.dirty, cached == cached_.end() ? nothing : cached->second.contents,
                                params_.read_modify_write);
    for (const Interval& block : it->second.unaligned) {
      // A block that is covered in part is read whatever the method, unless the cache has it.
      if (cached != cached_.end() && cached->second.contents.data.covers(block)) continue;
      stage.plan.reads.push_back({shape_.data_member(row, static_cast<int>(block.begin / shape_.chunk)),
                                  row * shape_.chunk + block.begin % shape_.chunk, block.length(), 0});
    }
    stage.cache_rows = std::max<std::int64_t>(1, stage.plan.rows());
    stage.meta = it->second.meta;
    stage.sync = it->second.sync;
    stage.fua = it->second.fua;
    stage.waiters = std::move(it->second.waiters);
    partial_.erase(it);
    busy_.insert(row);
    return index;
  }

  void activate_delayed(SimTime now) {
    while (!delayed_.empty() && delayed_.begin()->first.first <= now) {
      const std::int64_t row = delayed_.begin()->first.second;
      delayed_.erase(delayed_.begin());
      const std::size_t index = stage_of_partial(row);
      if (!stages_[index].plan.reads.empty()) {
        stages_[index].reading = true;
        ++reading_;
      }
      waiting_.push_back(index);
    }
    admit(now);
  }

  /// Lets waiting stages in while the stripe cache has room, in order.
  void admit(SimTime now) {
    while (!waiting_.empty()) {
      const std::size_t index = waiting_.front();
      Stage& stage = stages_[index];
      if (active_rows_ > 0 && active_rows_ + stage.cache_rows > stage_limit_) return;
      waiting_.pop_front();
      active_rows_ += stage.cache_rows;
      shrink_cache();
      if (params_.row_cpu > Duration{0}) {
        // Each row is handled once, and once more if it had to be read first.
        const std::int64_t passes = stage.cache_rows * (stage.reading ? 2 : 1);
        cpu_free_ = std::max(now, cpu_free_) + params_.row_cpu * passes / params_.row_threads;
        ready_.emplace(std::pair{cpu_free_, sequence_++}, index);
      } else {
        issue(now, index);
      }
    }
  }

  void issue(SimTime now, std::size_t index) {
    Stage& stage = stages_[index];
    if (!stage.reading) return issue_writes(now, index);
    stage.outstanding = static_cast<std::int64_t>(stage.plan.reads.size());
    for (const PlannedIo& io : stage.plan.reads) {
      send(now, static_cast<std::size_t>(io.member),
           Request{.start = Sectors{io.start}, .length = Sectors{io.length}, .sync = stage.sync, .meta = stage.meta,
                   .reason = Reason::rmw_read}, tag(Kind::stage, index));
    }
  }

  void issue_writes(SimTime now, std::size_t index) {
    Stage& stage = stages_[index];
    Request out{.write = true, .fua = stage.fua, .sync = stage.sync, .meta = stage.meta};
    if (stage.partial) {
      totals_.full_rows += stage.plan.full_rows;
      totals_.rmw_rows += stage.plan.rmw_rows;
      totals_.reconstruct_rows += stage.plan.reconstruct_rows;
      out.reason = stage.plan.rmw_rows + stage.plan.reconstruct_rows > 0 ? Reason::rmw_write : Reason::host;
      stage.outstanding = static_cast<std::int64_t>(stage.plan.writes.size());
      for (const PlannedIo& io : stage.plan.writes) {
        out.start = Sectors{io.start};
        out.length = Sectors{io.length};
        out.redundant = Sectors{io.redundant};
        send(now, static_cast<std::size_t>(io.member), out, tag(Kind::stage, index));
      }
      return;
    }
    totals_.full_rows += stage.cache_rows;
    stage.outstanding = shape_.members;
    for (int m = 0; m < shape_.members; ++m) {
      std::int64_t parity_rows = 0;
      if (stage.rows >= shape_.members) parity_rows = stage.rows / shape_.members * shape_.parity;
      for (std::int64_t row = stage.first_row + stage.rows / shape_.members * shape_.members;
           row < stage.first_row + stage.rows; ++row) {
        for (int w = 0; w < shape_.parity; ++w) parity_rows += shape_.parity_member(row, w) == m ? 1 : 0;
      }
      out.start = Sectors{stage.first_row * shape_.chunk};
      out.length = Sectors{stage.rows * shape_.chunk};
      out.redundant = Sectors{parity_rows * shape_.chunk};
      send(now, static_cast<std::size_t>(m), out, tag(Kind::stage, index));
    }
  }

  void stage_done(SimTime at, std::size_t index) {
    Stage stage = std::move(stages_[index]);
    free_stages_.push_back(index);
    active_rows_ -= stage.cache_rows;
    if (stage.partial) {
      remember(stage);
      busy_.erase(stage.first_row);
      if (const auto next = partial_.find(stage.first_row); next != partial_.end()) {
        next->second.due = std::max(next->second.due, at);
        delayed_.emplace(std::pair{next->second.due, stage.first_row}, 0);
      }
    }
    for (const std::uint64_t op : stage.waiters) host_part_done(at, op);
    admit(at);
  }

  // --- The stripe cache's memory ------------------------------------------------------------------------------------

  void remember(const Stage& stage) {
    Cached& cached = cached_[stage.first_row];
    cached.contents.data.add(stage.plan.known.data);
    cached.contents.parity.add(stage.plan.known.parity);
    by_use_.erase(cached.used);
    cached.used = ++use_clock_;
    by_use_[cached.used] = stage.first_row;
    remembered_rows_ -= cached.rows;
    cached.rows = (cached.contents.parity.size() + kBlock - 1) / kBlock;
    remembered_rows_ += cached.rows;
    shrink_cache();
  }

  void shrink_cache() {
    while (!by_use_.empty() && active_rows_ + remembered_rows_ > stage_limit_) {
      const auto oldest = by_use_.begin();
      const auto it = cached_.find(oldest->second);
      remembered_rows_ -= it->second.rows;
      cached_.erase(it);
      by_use_.erase(oldest);
    }
  }

  RaidParams params_;
  ParityShape shape_;
  std::int64_t total_ = 0, bitmap_sectors_ = 0, rows_per_chunk_ = 1, stage_limit_ = 0;
  HostOps ops_;
  std::map<std::int64_t, Partial> partial_;                        ///< chunk rows waiting for their rest
  std::map<std::pair<SimTime, std::int64_t>, int> delayed_;        ///< those of them that may start, by due time
  std::set<std::int64_t> busy_;                                    ///< partial chunk rows under way
  std::vector<Stage> stages_;
  std::vector<std::size_t> free_stages_;
  std::deque<std::size_t> waiting_;                                ///< for room in the stripe cache
  std::map<std::pair<SimTime, std::uint64_t>, std::size_t> ready_; ///< for the time at which a thread has handled them
  std::int64_t active_rows_ = 0, reading_ = 0;
  SimTime cpu_free_{}, last_time_{};
  std::uint64_t sequence_ = 0;
  std::map<std::int64_t, Cached> cached_;
  std::map<std::uint64_t, std::int64_t> by_use_;
  std::uint64_t use_clock_ = 0;
  std::int64_t remembered_rows_ = 0;
  std::unordered_map<std::int64_t, SimTime> bitmap_;               ///< set bits and their last use; never iterated
};

}  // namespace

std::unique_ptr<Device> make_parity(const RaidParams& params, std::vector<std::unique_ptr<Device>> members) {
  return std::make_unique<Parity>(params, std::move(members));
}

}  // namespace spillway::sim::device
