#pragma once
/// Which blocks an allocation gets: the choice of allocation group, exact extension of a file, stripe alignment, and the
/// fall-backs. fs/xfs/libxfs/xfs_bmap.c xfs_bmap_btalloc(), xfs_alloc.c xfs_alloc_vextent_iterate_ags() (6.18).
///
/// Pure: the allocator says which group it wants next and the caller, who has the groups' locks, lets it have that group
/// or not. Allocation is in order: (1) right behind the file's last extent, (2) aligned to the stripe if the allocation is
/// at the end of the file and at least a stripe unit long, (3) anywhere; each of 2 and 3 walks the groups from the wanted
/// one, first skipping those whose AGF somebody holds, then waiting for them.

#include <functional>
#include <optional>
#include <vector>

#include "sim/random.hpp"
#include "sim/xfs/geometry.hpp"

namespace spillway::sim::xfs {

struct BlockRange {
  int ag = 0;
  AgBlock start = 0;
  std::int64_t length = 0;
  friend bool operator==(const BlockRange&, const BlockRange&) = default;
};

struct AllocationRequest {
  std::int64_t length = 0;        ///< blocks wanted
  int ag = 0;                     ///< group to begin with: the inode's, or the last extent's
  AgBlock target = 0;             ///< wanted block in it
  bool adjacent = false;          ///< target is the block right behind the file's last extent
  std::int64_t alignment = 1;     ///< blocks; above 1 only for file data at the end of the file
  bool user_data = true;
};

/// One attempt in one group.
struct Attempt {
  enum class How : std::uint8_t { exact, near, by_size } how = How::near;
  AgBlock target = 0;
  std::int64_t min = 1, max = 1, alignment = 1, slop = 0;
  bool user_data = true;
};

class Allocator {
 public:
  explicit Allocator(const Geometry& geometry);

  /// The shortest extent to be content with: all of `length` if any group (from `ag` on, those for which `skip` says yes
  /// left out) has such an extent, else the longest that there is. xfs_bmap_btalloc_select_lengths().
  [[nodiscard]] std::int64_t shortest_acceptable(int ag, std::int64_t length, const std::function<bool(int)>& skip) const;
  /// Makes the attempt; nothing if the group has no such extent.
  std::optional<BlockRange> attempt(int ag, const Attempt& a);
  /// Does the group's longest extent allow the attempt? xfs_alloc_space_available().
  [[nodiscard]] bool may_hold(int ag, const Attempt& a) const;
  void give(const BlockRange& range);

  /// The whole walk for a caller without locks: what a box in which nobody else allocates gets.
  std::optional<BlockRange> allocate(const AllocationRequest& request);

  [[nodiscard]] const Geometry& geometry() const { return geometry_; }
  [[nodiscard]] const FreeSpace& group(int ag) const { return groups_[static_cast<std::size_t>(ag)]; }
  [[nodiscard]] std::int64_t free_blocks() const;
  [[nodiscard]] std::int64_t total_blocks() const { return geometry_.blocks; }

  /// Fills every group to `filled` (0 to 1) as an old file system is: files of lognormal sizes (median 48 KiB, sigma 2,
  /// assumed: between the published medians of file-system studies) created and deleted at random until twice the filled
  /// space was written. Large groups get proportionally larger files, at most 8,000 of them a group.
  void age(double filled, Random random);

 private:
  Geometry geometry_;
  std::vector<FreeSpace> groups_;
};

/// The attempts of an allocation in order, for a walk over groups. `stage` 0: exact, 1: aligned, 2: unaligned.
struct AllocationPlan {
  std::optional<Attempt> exact;    ///< in request.ag only
  std::optional<Attempt> aligned;  ///< walk the groups
  Attempt plain;                   ///< walk the groups
};
/// `shortest`: shortest_acceptable(). xfs_bmap_btalloc_at_eof().
[[nodiscard]] AllocationPlan plan_allocation(const AllocationRequest& request, std::int64_t shortest);
/// In other groups than the first the kernel searches by size, not by place.
[[nodiscard]] Attempt in_group(Attempt a, bool first_group);

}  // namespace spillway::sim::xfs
