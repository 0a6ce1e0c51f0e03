#pragma once
/// A program's buffer: anonymous pages that appear when they are first touched, from the front on. Remembers on which node
/// each stretch is, so that copying from it costs what it costs.

#include <cstdint>
#include <vector>

#include "sim/cache/page_cache.hpp"

namespace spillway::sim {

class AnonymousBuffer {
 public:
  /// Pages that were just allocated come to its end, those of `home` first.
  void append(const Placement& pages, int home, int nodes) {
    for (int i = 0; i < nodes; ++i) {
      const int node = (home + i) % nodes;
      const std::int64_t n = pages.on[static_cast<std::size_t>(node)];
      if (n == 0) continue;
      if (!runs_.empty() && runs_.back().node == node) runs_.back().end += n;
      else runs_.push_back({node, pages_ + n});
      pages_ += n;
      all_.on[static_cast<std::size_t>(node)] += n;
    }
  }
  [[nodiscard]] std::int64_t pages() const { return pages_; }
  [[nodiscard]] const Placement& placement() const { return all_; }
  /// Of [first, end), how many pages are not on `node`. What lies past its end counts as near.
  [[nodiscard]] std::int64_t away_from(int node, std::int64_t first, std::int64_t end) const {
    std::int64_t away = 0, at = 0;
    for (const Run& run : runs_) {
      const std::int64_t overlap = std::min(end, run.end) - std::max(first, at);
      if (overlap > 0 && run.node != node) away += overlap;
      at = run.end;
      if (at >= end) break;
    }
    return away;
  }
  void clear() {
    runs_.clear();
    pages_ = 0;
    all_ = {};
  }

 private:
  struct Run {
    int node;
    std::int64_t end;
  };
  std::vector<Run> runs_;
  std::int64_t pages_ = 0;
  Placement all_;
};

}  // namespace spillway::sim
