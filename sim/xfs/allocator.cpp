#include "sim/xfs/allocator.hpp"

#include <algorithm>

#include "sim/check.hpp"

namespace spillway::sim::xfs {

Allocator::Allocator(const Geometry& geometry) : geometry_(geometry) {
  for (int ag = 0; ag < geometry.ag_count; ++ag) {
    FreeSpace space{geometry.first_free, geometry.blocks_of(ag)};
    if (ag == geometry.log_ag) {
      const auto log = space.take_exact(geometry.log_start, geometry.log_blocks, geometry.log_blocks);
      SPILLWAY_CHECK(log.has_value(), "the log does not fit into its group");
    }
    groups_.push_back(std::move(space));
  }
}

std::int64_t Allocator::free_blocks() const {
  std::int64_t sum = 0;
  for (const auto& g : groups_) sum += g.free_blocks();
  return sum;
}

std::int64_t Allocator::shortest_acceptable(int ag, std::int64_t length, const std::function<bool(int)>& skip) const {
  std::int64_t best = 0;
  for (int i = 0; i < geometry_.ag_count && best < length; ++i) {
    const int at = (ag + i) % geometry_.ag_count;
    if (!skip || !skip(at)) best = std::max(best, group(at).longest());
  }
  return std::clamp<std::int64_t>(best, 1, length);
}

bool Allocator::may_hold(int ag, const Attempt& a) const {
  return group(ag).longest() >= a.min + a.alignment - 1 + a.slop;
}

std::optional<BlockRange> Allocator::attempt(int ag, const Attempt& a) {
  FreeSpace& space = groups_[static_cast<std::size_t>(ag)];
  std::optional<AgExtent> got;
  switch (a.how) {
    case Attempt::How::exact: got = space.take_exact(a.target, a.min, a.max); break;
    case Attempt::How::near: got = space.take_near(a.target, a.min, a.max, a.alignment, a.user_data); break;
    case Attempt::How::by_size: got = space.take_by_size(a.min, a.max, a.alignment); break;
  }
  if (!got) return std::nullopt;
  return BlockRange{ag, got->start, got->length};
}

void Allocator::give(const BlockRange& range) { groups_[static_cast<std::size_t>(range.ag)].give({range.start, range.length}); }

Attempt in_group(Attempt a, bool first_group) {
  if (!first_group) {
    a.how = Attempt::How::by_size;
    a.target = 0;
  }
  return a;
}

AllocationPlan plan_allocation(const AllocationRequest& r, std::int64_t shortest) {
  AllocationPlan plan;
  plan.plain = {Attempt::How::near, r.target, shortest, r.length, 1, 0, r.user_data};
  if (r.adjacent) {
    Attempt exact = plan.plain;
    exact.how = Attempt::How::exact;
    if (r.alignment > 1) {
      // Slop: the group must have room for the aligned attempt that follows, too.
      const std::int64_t next_min = shortest > r.alignment && shortest <= r.length ? shortest - r.alignment : shortest;
      exact.slop = std::max<std::int64_t>(0, next_min + r.alignment - shortest - 1);
    }
    plan.exact = exact;
  }
  if (r.alignment > 1) {
    Attempt aligned = plan.plain;
    aligned.alignment = r.alignment;
    if (shortest > r.alignment && shortest <= r.length + r.alignment) aligned.min = shortest - r.alignment;
    plan.aligned = aligned;
  }
  return plan;
}

std::optional<BlockRange> Allocator::allocate(const AllocationRequest& r) {
  const AllocationPlan plan = plan_allocation(r, shortest_acceptable(r.ag, r.length, {}));
  if (plan.exact && may_hold(r.ag, *plan.exact))
    if (const auto got = attempt(r.ag, *plan.exact)) return got;
  const auto walk = [&](const Attempt& a) -> std::optional<BlockRange> {
    for (int i = 0; i < geometry_.ag_count; ++i) {
      const int ag = (r.ag + i) % geometry_.ag_count;
      if (!may_hold(ag, a)) continue;
      if (const auto got = attempt(ag, in_group(a, i == 0))) return got;
    }
    return std::nullopt;
  };
  if (plan.aligned)
    if (const auto got = walk(*plan.aligned)) return got;
  if (const auto got = walk(plan.plain)) return got;
  Attempt any = plan.plain;  // xfs_bmap_btalloc_low_space(): be content with a block
  any.min = 1;
  return walk(any);
}

void Allocator::age(double filled, Random random) {
  if (filled <= 0) return;
  constexpr double kMedianBlocks = 12, kSigma = 2;           // 48 KiB
  constexpr double kMeanBlocks = 12 * 7.389;                 // median * exp(sigma^2 / 2)
  constexpr double kMostFiles = 8'000;
  for (auto& space : groups_) {
    const auto want_free = static_cast<std::int64_t>(static_cast<double>(space.free_blocks()) * (1 - filled));
    const std::int64_t used = space.free_blocks() - want_free;
    if (used <= 0) continue;
    const double scale = std::max(1.0, static_cast<double>(used) / kMeanBlocks / kMostFiles);
    std::vector<std::vector<AgExtent>> files;
    AgBlock last = geometry_.first_free;
    std::int64_t written = 0;
    const auto create = [&](std::int64_t room) {
      std::int64_t left = std::clamp<std::int64_t>(static_cast<std::int64_t>(random.lognormal(portable_log(kMedianBlocks * scale), kSigma)), 1, std::max<std::int64_t>(1, room));
      written += left;
      auto& file = files.emplace_back();
      while (left > 0) {
        const auto got = space.take_near(last, 1, left, 1, true);
        if (!got) break;
        file.push_back(*got);
        left -= got->length;
        last = got->end();
      }
    };
    while (space.free_blocks() > want_free) create(space.free_blocks() - want_free);
    while (written < 2 * used && !files.empty()) {
      const auto victim = static_cast<std::size_t>(random.below(files.size()));
      for (const AgExtent& e : files[victim]) space.give(e);
      files[victim] = std::move(files.back());
      files.pop_back();
      // New files go near other ones: the directories that grow are spread over the group.
      last = geometry_.first_free + static_cast<AgBlock>(random.below(static_cast<std::uint64_t>(geometry_.ag_blocks - geometry_.first_free)));
      while (space.free_blocks() > want_free) create(space.free_blocks() - want_free);
    }
  }
}

}  // namespace spillway::sim::xfs
