#include "sim/flusher/page_ranges.hpp"

#include <algorithm>

namespace spillway::sim {

void PageRanges::spill() {
  if (ranges_.empty() && single_.pages() > 0) ranges_.push_back(single_);
  single_ = {};
}

std::int64_t PageRanges::add(PageRange r) {
  if (r.pages() <= 0) return 0;
  if (ranges_.empty()) {
    if (single_.pages() == 0) {
      single_ = r;
      return r.pages();
    }
    if (r.first <= single_.end && r.end >= single_.first) {
      const std::int64_t before = single_.pages();
      single_ = {std::min(single_.first, r.first), std::max(single_.end, r.end)};
      return single_.pages() - before;
    }
    spill();
  }
  auto low = std::lower_bound(ranges_.begin(), ranges_.end(), r.first,
                              [](const PageRange& a, std::int64_t first) { return a.end < first; });
  std::int64_t had = 0;
  auto high = low;
  PageRange merged = r;
  for (; high != ranges_.end() && high->first <= r.end; ++high) {
    had += high->pages();
    merged = {std::min(merged.first, high->first), std::max(merged.end, high->end)};
  }
  if (low == high) {
    ranges_.insert(low, merged);
  } else {
    *low = merged;
    ranges_.erase(low + 1, high);
  }
  return merged.pages() - had;
}

std::int64_t PageRanges::remove(PageRange r) {
  if (r.pages() <= 0) return 0;
  if (ranges_.empty()) {
    const PageRange common{std::max(single_.first, r.first), std::min(single_.end, r.end)};
    if (common.pages() <= 0) return 0;
    if (common.first == single_.first) {
      single_.first = common.end;
      return common.pages();
    }
    if (common.end == single_.end) {
      single_.end = common.first;
      return common.pages();
    }
    spill();
  }
  std::int64_t removed = 0;
  auto at = std::lower_bound(ranges_.begin(), ranges_.end(), r.first,
                             [](const PageRange& a, std::int64_t first) { return a.end <= first; });
  while (at != ranges_.end() && at->first < r.end) {
    const PageRange common{std::max(at->first, r.first), std::min(at->end, r.end)};
    removed += common.pages();
    const PageRange left{at->first, common.first}, right{common.end, at->end};
    if (left.pages() > 0 && right.pages() > 0) {
      *at = left;
      ranges_.insert(at + 1, right);
      return removed;
    }
    if (left.pages() > 0) *at++ = left;
    else if (right.pages() > 0) *at++ = right;
    else at = ranges_.erase(at);
  }
  if (ranges_.size() == 1) {
    single_ = ranges_.front();
    ranges_.clear();
  }
  return removed;
}

PageRange PageRanges::next(std::int64_t from) const {
  const auto cut = [from](PageRange r) { return PageRange{std::max(r.first, from), r.end}; };
  if (ranges_.empty()) return single_.end > from && single_.pages() > 0 ? cut(single_) : PageRange{};
  const auto at = std::lower_bound(ranges_.begin(), ranges_.end(), from,
                                   [](const PageRange& a, std::int64_t first) { return a.end <= first; });
  return at != ranges_.end() ? cut(*at) : PageRange{};
}

PageRange PageRanges::around(std::int64_t page) const {
  if (ranges_.empty()) return single_.first <= page && page < single_.end ? single_ : PageRange{};
  const auto at = std::lower_bound(ranges_.begin(), ranges_.end(), page, [](const PageRange& a, std::int64_t p) { return a.end <= p; });
  return at != ranges_.end() && at->first <= page ? *at : PageRange{};
}

std::int64_t PageRanges::pages() const {
  if (ranges_.empty()) return single_.pages();
  std::int64_t sum = 0;
  for (const auto& r : ranges_) sum += r.pages();
  return sum;
}

void PageRanges::clear() {
  single_ = {};
  ranges_.clear();
}

}  // namespace spillway::sim
