#pragma once
/// The free space of one allocation group as extents, found by place and by size: what the two free-space btrees of XFS
/// hold (bnobt, cntbt), with the allocator's choice among them. fs/xfs/libxfs/xfs_alloc.c (6.18).
///
/// Cost: a look-up visits a few extents of each power-of-two class of lengths instead of walking the trees as the kernel
/// does; the answer is the nearest extent that fits, save that at most kLook extents of a class are tried in each
/// direction (the kernel bounds its search in its own way, by the order of its two walks).

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

namespace spillway::sim::xfs {

/// File-system blocks of one allocation group, from 0.
using AgBlock = std::int64_t;

struct AgExtent {
  AgBlock start = 0;
  std::int64_t length = 0;
  [[nodiscard]] AgBlock end() const { return start + length; }
  friend bool operator==(const AgExtent&, const AgExtent&) = default;
};

/// Where in the free extent [start, start + length) an allocation of `want_length` that would like to begin at `want` is
/// placed, and how far off that is; nothing when no aligned block lies in it. From the front of an extent behind the
/// wanted block and, for file data, of one before it (so that the file can grow on). xfs_alloc_compute_diff().
struct Placement {
  AgBlock at = 0;
  std::int64_t distance = 0;
};
[[nodiscard]] std::optional<Placement> place_near(AgBlock want, std::int64_t want_length, std::int64_t alignment,
                                                  bool user_data, AgExtent free);

class FreeSpace {
 public:
  /// Everything from `first` to `blocks` is free.
  FreeSpace(AgBlock first, std::int64_t blocks);

  /// The block `at` and what follows it, at least `min` and at most `max` blocks; nothing if it is not free. Exact
  /// allocations extend a file. xfs_alloc_ag_vextent_exact().
  std::optional<AgExtent> take_exact(AgBlock at, std::int64_t min, std::int64_t max);
  /// The longest of at most `max` blocks and at least `min`, among equals the one nearest to `want`.
  /// xfs_alloc_ag_vextent_near().
  std::optional<AgExtent> take_near(AgBlock want, std::int64_t min, std::int64_t max, std::int64_t alignment, bool user_data);
  /// From the shortest extent that holds `max` blocks aligned, else from the longest. xfs_alloc_ag_vextent_size().
  std::optional<AgExtent> take_by_size(std::int64_t min, std::int64_t max, std::int64_t alignment);
  /// Gives blocks back; they join their free neighbours. They must not be free.
  void give(AgExtent extent);

  [[nodiscard]] std::int64_t free_blocks() const { return free_blocks_; }
  [[nodiscard]] std::int64_t longest() const;
  [[nodiscard]] std::size_t extents() const { return by_start_.size(); }
  [[nodiscard]] const std::map<AgBlock, std::int64_t>& by_start() const { return by_start_; }
  /// How many free extents there are of at least 2^i and less than 2^(i+1) blocks.
  [[nodiscard]] std::array<std::int64_t, 40> size_classes() const;

 private:
  static constexpr int kLook = 32;
  static int class_of(std::int64_t length);
  void insert(AgExtent extent);
  void erase(AgExtent extent);
  AgExtent carve(AgExtent from, AgExtent taken);
  /// The nearest place for exactly `length` blocks.
  struct Found {
    AgExtent from;
    Placement place;
  };
  std::optional<Found> nearest(AgBlock want, std::int64_t length, std::int64_t alignment, bool user_data) const;

  std::map<AgBlock, std::int64_t> by_start_;
  std::set<std::pair<std::int64_t, AgBlock>> by_size_;
  std::array<std::set<AgBlock>, 40> classes_;  ///< starts of the extents of each class of lengths
  std::int64_t free_blocks_ = 0;
};

}  // namespace spillway::sim::xfs
