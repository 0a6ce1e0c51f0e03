#pragma once
/// The page lists of one memory node: inactive and active file pages, oldest at the tail. Entries are extents of a file's
/// pages that came in together, so the lists are as long as there are extents, not pages.

#include <cstdint>

namespace spillway::sim {

struct CachedFile;

/// Consecutive cached pages of one file, on one node, on one list, with the same referenced mark. Its lower pages are the
/// older ones. Lives in CachedFile::extents (a std::map, so its address is stable).
struct CachedExtent {
  CachedFile* file = nullptr;
  std::int64_t first = 0, end = 0;  ///< [first, end)
  int node = 0;
  bool active = false;
  bool referenced = false;          ///< PG_referenced: touched once since it came onto its list
  CachedExtent* older = nullptr;    ///< towards the tail
  CachedExtent* newer = nullptr;    ///< towards the head
  [[nodiscard]] std::int64_t pages() const { return end - first; }
};

/// One list. Counts pages.
class LruList {
 public:
  void push_head(CachedExtent& e) {
    e.newer = nullptr;
    e.older = head_;
    (head_ ? head_->newer : tail_) = &e;
    head_ = &e;
    pages_ += e.pages();
  }
  /// Puts `e` right after `at`, on its newer side.
  void insert_newer(CachedExtent& at, CachedExtent& e) {
    e.older = &at;
    e.newer = at.newer;
    (at.newer ? at.newer->older : head_) = &e;
    at.newer = &e;
    pages_ += e.pages();
  }
  void remove(CachedExtent& e) {
    (e.newer ? e.newer->older : head_) = e.older;
    (e.older ? e.older->newer : tail_) = e.newer;
    e.newer = e.older = nullptr;
    pages_ -= e.pages();
  }
  /// An extent on the list became longer or shorter by so many pages.
  void resized(std::int64_t by) { pages_ += by; }
  [[nodiscard]] CachedExtent* head() const { return head_; }
  [[nodiscard]] CachedExtent* tail() const { return tail_; }
  [[nodiscard]] std::int64_t pages() const { return pages_; }

 private:
  CachedExtent* head_ = nullptr;
  CachedExtent* tail_ = nullptr;
  std::int64_t pages_ = 0;
};

/// Must active pages be moved to the inactive list? mm/vmscan.c, inactive_list_is_low() (recollection): the larger the
/// memory, the smaller the inactive share that is enough.
[[nodiscard]] constexpr bool inactive_is_low(std::int64_t inactive, std::int64_t active) {
  const std::int64_t gib = (inactive + active) >> (30 - 12);
  std::int64_t ratio = 1;
  if (gib > 0)
    while ((ratio + 1) * (ratio + 1) <= 10 * gib) ++ratio;
  return inactive * ratio < active;
}

}  // namespace spillway::sim
