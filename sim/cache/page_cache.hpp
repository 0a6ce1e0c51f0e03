#pragma once
/// The box's memory as the page cache sees it: nodes with free pages, file pages on two lists each, anonymous pages; which
/// pages of which file are cached and where; and who goes when room is needed.
///
/// A page comes from the node of the thread that needs it, then from the next one with free pages (page allocator, local
/// first). Pages that will be dirtied skip a node that holds its share of dirty pages already (node_dirty_ok()). When no
/// node has free pages left above its reserve, every node's kswapd takes clean pages from the tail of its inactive list,
/// up to the high watermark; dirty pages that it meets there go to the active list (shrink_page_list(), 4.18). A page is
/// touched by a read: the first touch marks it, the second moves it to the active list (mark_page_accessed()).
///
/// Not modelled: refault distances (workingset), swap, slab, memory cgroups, transparent huge pages as such, automatic
/// NUMA balancing. The reserve below the watermarks is not part of `pages`.

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "sim/cache/lru.hpp"
#include "sim/cpu/cpu_set.hpp"
#include "sim/engine/engine.hpp"
#include "sim/flusher/inode.hpp"
#include "sim/memory/thresholds.hpp"

namespace spillway::sim {

inline constexpr int kMaxNodes = 8;

/// So many pages on each node.
struct Placement {
  std::array<std::int64_t, kMaxNodes> on{};
  [[nodiscard]] std::int64_t pages() const {
    std::int64_t sum = 0;
    for (const std::int64_t n : on) sum += n;
    return sum;
  }
  /// The same spread over `total` pages; what rounding leaves goes to the first node that has any.
  [[nodiscard]] Placement scaled_to(std::int64_t total) const {
    Placement out;
    const std::int64_t all = pages();
    if (all <= 0) return out;
    std::int64_t left = total;
    for (std::size_t n = 0; n < on.size(); ++n) left -= out.on[n] = on[n] * total / all;
    for (std::size_t n = 0; n < on.size(); ++n)
      if (on[n] > 0) {
        out.on[n] += left;
        break;
      }
    return out;
  }
  /// Those that are not on `node`.
  [[nodiscard]] std::int64_t away_from(int node) const { return pages() - on[static_cast<std::size_t>(node)]; }
};

/// Pages on their way from the device. Waiters look again when `done`.
struct PagesInFlight {
  std::int64_t first = 0, end = 0;
};

/// What the cache knows of one file.
struct CachedFile {
  Inode* inode = nullptr;
  std::map<std::int64_t, CachedExtent> extents;  ///< by first page
  std::vector<PagesInFlight> in_flight;          ///< cached extents whose content is not there yet
  std::unique_ptr<WaitQueue> arrivals;           ///< woken whenever something of in_flight arrives
  std::int64_t cached = 0;                       ///< pages
};

struct PageCacheParams {
  /// Free and file pages at the start, reserves left out: the kernel's dirtyable memory (1.2).
  std::int64_t pages = 0;
  int nodes = 1;
  DirtySettings dirty;
  /// From the low to the high watermark, of the node's pages. cited: vm.watermark_scale_factor = 10 (0.1 %).
  double watermark_gap = 0.001;
  /// kswapd's CPU time for each page that it frees. assumed.
  Duration reclaim_page = std::chrono::nanoseconds{200};
};

class PageCache {
 public:
  enum class Use : std::uint8_t { file, file_to_dirty, anonymous };

  PageCache(Engine& engine, CpuSet& cpus, PageCacheParams params);

  // -- pages ---------------------------------------------------------------------------------------------------------
  /// Takes `pages` pages, nearest to node `home` first; false, and nothing taken, when even reclaim finds no room now.
  [[nodiscard]] bool try_allocate(int home, std::int64_t pages, Use use, Placement& out);
  /// The same, waiting for writeback to clean pages where it must (account.device).
  Task<> allocate(Thread& thread, std::int64_t pages, Use use, Placement& out);
  void free_anonymous(const Placement& pages);
  /// Pages that were taken and not used after all.
  void give_back(const Placement& pages);

  // -- file pages ------------------------------------------------------------------------------------------------------
  [[nodiscard]] CachedFile& file_of(Inode& inode);
  /// Pages of [first, end) that are not cached.
  [[nodiscard]] std::int64_t missing(const CachedFile& file, std::int64_t first, std::int64_t end) const;
  /// Puts the missing pages of [first, end) in, on the nodes of `from` in order of the nodes' nearness; uses `from` up.
  void insert(CachedFile& file, std::int64_t first, std::int64_t end, int home, Placement& from);
  /// The cached extent that holds `page`, or none.
  [[nodiscard]] const CachedExtent* find(const CachedFile& file, std::int64_t page) const;
  /// The first cached page at or after `page`; INT64_MAX when there is none.
  [[nodiscard]] std::int64_t next_cached(const CachedFile& file, std::int64_t page) const;
  /// A program read the pages of [first, end). mark_page_accessed().
  void touch(CachedFile& file, std::int64_t first, std::int64_t end);
  /// Where the cached pages of [first, end) are.
  [[nodiscard]] Placement where(const CachedFile& file, std::int64_t first, std::int64_t end) const;
  /// Before a buffered write of [first, end): the pages that are not cached yet come in. Returns where all of them are.
  Task<Placement> prepare_write(Thread& thread, Inode& inode, std::int64_t first, std::int64_t end);
  /// The same for a program that does not care where the pages are, and what dirtied() needs, in one go.
  Task<> wrote(Thread& thread, Inode& inode, std::int64_t first, std::int64_t end);
  /// Counts pages that became dirty, by node, for the nodes' dirty limits.
  void dirtied(const Placement& pages);
  /// Tells how many pages of this box were written or dropped, ever; asked when a node's limit is looked at.
  std::function<std::int64_t()> cleaned_ever = [] { return std::int64_t{0}; };
  /// The file is gone, or its pages are dropped.
  void drop(Inode& inode);

  // -- to look at --------------------------------------------------------------------------------------------------------
  struct Node {
    std::int64_t pages = 0, free = 0, anonymous = 0, dirty = 0;
    LruList inactive, active;
    Thread* kswapd = nullptr;
    Duration owed{};            ///< CPU time of reclaim that kswapd has not run yet
    bool kswapd_running = false;
    std::int64_t evicted = 0;   ///< ever
    [[nodiscard]] std::int64_t file() const { return inactive.pages() + active.pages(); }
  };
  [[nodiscard]] const std::vector<Node>& nodes() const { return nodes_; }
  [[nodiscard]] std::int64_t cached(const Inode& inode) const;
  [[nodiscard]] std::int64_t evicted() const;
  /// Do the pages add up: each node's free, file and anonymous pages to its pages, and the files' extents to the lists?
  [[nodiscard]] bool adds_up() const;

 private:
  void settle_dirty();
  [[nodiscard]] std::int64_t dirty_room(const Node& node) const;
  std::int64_t take(std::size_t node, std::int64_t want, Placement& out);
  void reclaim(std::size_t node, std::int64_t want);
  void evict_front(CachedExtent& extent, std::int64_t pages);
  CachedExtent& split(CachedExtent& extent, std::int64_t at);
  void merge_with_older(CachedExtent& extent);
  void move(CachedExtent& extent, bool to_active);
  void erase(CachedExtent& extent);
  LruList& list_of(const CachedExtent& e) { return e.active ? nodes_[static_cast<std::size_t>(e.node)].active : nodes_[static_cast<std::size_t>(e.node)].inactive; }
  Task<> run_kswapd(std::size_t node);
  void add_extent(CachedFile& file, std::int64_t first, std::int64_t end, int node);

  Engine& engine_;
  CpuSet& cpus_;
  PageCacheParams params_;
  std::vector<Node> nodes_;
  std::vector<std::unique_ptr<CachedFile>> files_;   ///< by inode number
  struct DirtyRun { std::size_t node; std::int64_t pages; };
  std::vector<DirtyRun> dirty_runs_;                 ///< oldest first, from dirty_from_
  std::size_t dirty_from_ = 0;
  std::int64_t cleaned_seen_ = 0;
};

}  // namespace spillway::sim
