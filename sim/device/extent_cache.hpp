#pragma once
/// Dirty data in a write cache: disjoint runs of sectors by address. Writing over what is there absorbs it; touching runs
/// join. Used by the volatile cache of a disk and by a controller's. Sectors carry a share of "tags" (metadata,
/// parity, read-modify-write) as counts, so that what is destaged later can be attributed without remembering pieces.

#include <algorithm>
#include <cstdint>
#include <map>

#include "sim/units.hpp"

namespace spillway::sim::device {

class ExtentCache {
 public:
  /// Of the sectors of a run, how many are ...
  struct Tags {
    std::int64_t meta = 0, redundant = 0, rmw = 0;
  };
  struct Run {
    std::int64_t end = 0;
    Tags tags;
    SimTime oldest{};
  };
  using Map = std::map<std::int64_t, Run>;

  [[nodiscard]] std::int64_t sectors() const { return sectors_; }
  [[nodiscard]] std::size_t runs() const { return map_.size(); }
  [[nodiscard]] bool empty() const { return map_.empty(); }
  [[nodiscard]] const Map& map() const { return map_; }

  /// Would [start, end) lie in or touch a run that is there (so that adding it makes no further run)?
  [[nodiscard]] bool touches(std::int64_t start, std::int64_t end) const {
    auto it = map_.upper_bound(end);
    return it != map_.begin() && std::prev(it)->second.end >= start;
  }
  [[nodiscard]] bool covers(std::int64_t start, std::int64_t end) const {
    auto it = map_.upper_bound(start);
    return it != map_.begin() && std::prev(it)->second.end >= end;
  }

  /// Adds [start, end); returns how many of its sectors were dirty before (absorbed).
  std::int64_t add(std::int64_t start, std::int64_t end, Tags tags, SimTime now) {
    const std::int64_t absorbed = erase(start, end);
    Run run{end, tags, now};
    if (auto after = map_.find(end); after != map_.end()) {
      join(run, after->second);
      run.end = after->second.end;
      map_.erase(after);
    }
    sectors_ += end - start;
    if (auto before = map_.lower_bound(start); before != map_.begin()) {
      --before;
      if (before->second.end == start) {
        join(before->second, run);
        before->second.end = run.end;
        return absorbed;
      }
    }
    map_.emplace(start, run);
    return absorbed;
  }

  /// Removes whatever is dirty in [start, end); returns how many sectors that was.
  std::int64_t erase(std::int64_t start, std::int64_t end) {
    std::int64_t removed = 0;
    auto it = map_.upper_bound(start);
    if (it != map_.begin()) --it;
    while (it != map_.end() && it->first < end) {
      const std::int64_t from = std::max(start, it->first), to = std::min(end, it->second.end);
      if (from >= to) {
        ++it;
        continue;
      }
      const std::int64_t run_start = it->first;
      const Run run = it->second;
      it = map_.erase(it);
      if (run.end > to) it = map_.emplace(to, part(run, run_start, run.end - to)).first;
      if (run_start < from) map_.emplace(run_start, Run{from, part(run, run_start, from - run_start).tags, run.oldest});
      removed += to - from;
      if (run.end > to) break;
    }
    sectors_ -= removed;
    return removed;
  }

  /// Takes up to `most` sectors from the run that starts at `start`; that run must exist.
  struct Piece {
    std::int64_t start = 0, end = 0;
    Tags tags;
    SimTime oldest{};
  };
  Piece take(std::int64_t start, std::int64_t most) {
    const auto it = map_.find(start);
    const Run run = it->second;
    const std::int64_t end = std::min(run.end, start + most);
    Piece piece{start, end, part(run, start, end - start).tags, run.oldest};
    map_.erase(it);
    if (run.end > end) {
      Run rest = run;
      rest.tags = {run.tags.meta - piece.tags.meta, run.tags.redundant - piece.tags.redundant,
                   run.tags.rmw - piece.tags.rmw};
      map_.emplace(end, rest);
    }
    sectors_ -= end - start;
    return piece;
  }

 private:
  static void join(Run& into, const Run& other) {
    into.tags.meta += other.tags.meta;
    into.tags.redundant += other.tags.redundant;
    into.tags.rmw += other.tags.rmw;
    into.oldest = std::min(into.oldest, other.oldest);
  }
  /// The run cut down to `sectors`, tags in proportion. The end is kept.
  static Run part(const Run& run, std::int64_t start, std::int64_t sectors) {
    const std::int64_t length = run.end - start;
    Run cut = run;
    cut.tags = {run.tags.meta * sectors / length, run.tags.redundant * sectors / length,
                run.tags.rmw * sectors / length};
    return cut;
  }
  Map map_;
  std::int64_t sectors_ = 0;
};

}  // namespace spillway::sim::device
