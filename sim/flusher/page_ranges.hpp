#pragma once
/// A set of page indices as sorted, disjoint, non-adjacent ranges. Most files have one range (they were written from the
/// front and are flushed from the front), which is kept without allocation.

#include <cstdint>
#include <vector>

namespace spillway::sim {

struct PageRange {
  std::int64_t first = 0, end = 0;  ///< [first, end)
  [[nodiscard]] std::int64_t pages() const { return end - first; }
  friend bool operator==(const PageRange&, const PageRange&) = default;
};

class PageRanges {
 public:
  /// Adds [first, end); returns how many pages were not in the set before.
  std::int64_t add(PageRange range);
  /// Removes [first, end); returns how many pages were in the set.
  std::int64_t remove(PageRange range);
  /// The first range at or after `from`, cut at `from` if it begins earlier; empty (pages() == 0) if there is none.
  [[nodiscard]] PageRange next(std::int64_t from) const;
  /// The whole range that holds `page`; empty if none does.
  [[nodiscard]] PageRange around(std::int64_t page) const;
  [[nodiscard]] bool empty() const { return ranges_.empty() && single_.pages() == 0; }
  [[nodiscard]] std::int64_t pages() const;
  void clear();

 private:
  void spill();                     ///< from the single range to the vector
  PageRange single_;                ///< in use while ranges_ is empty
  std::vector<PageRange> ranges_;
};

}  // namespace spillway::sim
