#include "sim/device/striped.hpp"

#include <algorithm>

#include "sim/check.hpp"
#include "sim/device/composite.hpp"
#include "sim/device/host_ops.hpp"
#include "sim/device/stripe_map.hpp"

namespace spillway::sim::device {

namespace {

constexpr int kFlushing = 1;

class Striped final : public Composite {
 public:
  Striped(const RaidParams& params, std::vector<std::unique_ptr<Device>> members)
      : Composite(std::move(members)), level_(params.level) {
    shape_.chunk = params.chunk.value() / kSectorSize.value();
    shape_.members = static_cast<int>(members_.size());
    shape_.copies = level_ == RaidLevel::raid10 ? params.copies : 1;
    std::int64_t smallest = members_.front()->capacity().value();
    for (const auto& m : members_) {
      first_sector_.push_back(total_);
      total_ += m->capacity().value();
      smallest = std::min(smallest, m->capacity().value());
    }
    if (level_ != RaidLevel::linear) {
      total_ = smallest / shape_.chunk * shape_.members / shape_.copies * shape_.chunk;
    }
  }

  Sectors capacity() const override { return Sectors{total_}; }
  Bytes stripe_unit() const override {
    return level_ == RaidLevel::linear ? Bytes{0} : Bytes{shape_.chunk * kSectorSize.value()};
  }
  Bytes stripe_width() const override { return stripe_unit() * (shape_.members / shape_.copies); }
  BytesPerSec sequential_write_rate() const override {
    if (level_ == RaidLevel::linear) return members_.front()->sequential_write_rate();
    BytesPerSec slowest = members_.front()->sequential_write_rate();
    for (const auto& m : members_) slowest = std::min(slowest, m->sequential_write_rate());
    return BytesPerSec{slowest.value() * shape_.members / shape_.copies};
  }

 protected:
  void accept(SimTime now, const Request& request) override {
    const std::uint64_t op = ops_.add(request, now);
    if (!request.flush) return send_data(now, op);
    ops_[op].stage = kFlushing;
    ops_[op].outstanding = static_cast<std::int64_t>(members_.size());
    for (std::size_t m = 0; m < members_.size(); ++m) send(now, m, Request{.write = true, .flush = true}, op);
  }

  void member_done(SimTime at, std::size_t, Tag op) override {
    if (--ops_[op].outstanding > 0) return;
    if (ops_[op].stage == kFlushing && ops_[op].request.length.value() > 0) {
      ops_[op].stage = 0;
      return send_data(at, op);
    }
    const HostOp done = ops_.take(op);
    finish(done.request, done.submitted, at);
  }

 private:
  void send_data(SimTime now, std::uint64_t op) {
    const Request& r = ops_[op].request;
    const auto runs = runs_of(r);
    ops_[op].outstanding = static_cast<std::int64_t>(runs.size());
    for (const MemberRun& run : runs) {
      Request part = ops_[op].request;
      part.flush = false;
      part.start = Sectors{run.start};
      part.length = Sectors{run.length};
      part.redundant = Sectors{run.redundant};
      send(now, static_cast<std::size_t>(run.member), part, op);
    }
  }

  std::vector<MemberRun> runs_of(const Request& r) const {
    const std::int64_t start = r.start.value(), length = r.length.value();
    if (level_ == RaidLevel::linear) return linear_runs(start, length);
    if (r.write || shape_.copies == 1) return stripe_runs(shape_, start, length);
    return read_runs(start, length);
  }

  std::vector<MemberRun> linear_runs(std::int64_t start, std::int64_t length) const {
    std::vector<MemberRun> runs;
    for (std::size_t m = 0; m < members_.size() && length > 0; ++m) {
      const std::int64_t offset = start - first_sector_[m];
      const std::int64_t here = std::min(length, members_[m]->capacity().value() - offset);
      if (here <= 0) continue;
      runs.push_back({static_cast<int>(m), offset, here, 0});
      start += here;
      length -= here;
    }
    return runs;
  }

  /// Mirrored reads: per chunk (per group of copies where the groups are fixed) the copy with least to do.
  std::vector<MemberRun> read_runs(std::int64_t start, std::int64_t length) const {
    std::vector<MemberRun> runs;
    if (shape_.members % shape_.copies == 0) {
      const StripeShape groups{shape_.chunk, shape_.members / shape_.copies, 1};
      runs = stripe_runs(groups, start, length);
      for (MemberRun& run : runs) run.member = least_busy(run.member * shape_.copies, run.start);
      return runs;
    }
    const std::int64_t end = start + length;
    while (start < end) {
      const std::int64_t chunk = start / shape_.chunk;
      const std::int64_t to = std::min(end, (chunk + 1) * shape_.chunk);
      ChunkPlace best = chunk_place(shape_, chunk, 0);
      for (int copy = 1; copy < shape_.copies; ++copy) {
        const ChunkPlace other = chunk_place(shape_, chunk, copy);
        if (load(other.member) < load(best.member)) best = other;
      }
      runs.push_back({best.member, best.start + start % shape_.chunk, to - start, 0});
      start = to;
    }
    return runs;
  }

  std::int64_t load(int member) const { return members_[static_cast<std::size_t>(member)]->in_flight(); }

  /// Ties go by address, so that both copies' arms work, and each in its own half.
  int least_busy(int first, std::int64_t sector) const {
    const std::int64_t half = members_.front()->capacity().value() / shape_.copies + 1;
    int best = first + static_cast<int>(sector / half);
    for (int copy = 0; copy < shape_.copies; ++copy) {
      if (load(first + copy) < load(best)) best = first + copy;
    }
    return best;
  }

  RaidLevel level_;
  StripeShape shape_;
  std::vector<std::int64_t> first_sector_;
  std::int64_t total_ = 0;
  HostOps ops_;
};

}  // namespace

std::unique_ptr<Device> make_striped(const RaidParams& params, std::vector<std::unique_ptr<Device>> members) {
  return std::make_unique<Striped>(params, std::move(members));
}

}  // namespace spillway::sim::device
