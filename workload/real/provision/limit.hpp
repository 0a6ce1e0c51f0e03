#pragma once
/// A bandwidth or IOPS limit on a block device, through whichever cgroup interface this box has:
///  - v1: blkio.throttle.* in the root group, which limits all bios, buffered writeback included;
///  - v2: io.max in a group of its own. The root group of v2 has no io.max, and writeback obeys only when memory and io
///    are both on the unified hierarchy: the untars are then started in that group.
/// What it cannot do: XFS metadata passes unthrottled (REQ_META is charged, not delayed, blk_cgroup bio_issue_as_root_blkg),
/// no seeks; slices of 100 ms.

#include <optional>
#include <string>

#include "sim/result.hpp"
#include "sim/units.hpp"
#include "workload/real/journal/journal.hpp"

namespace spillway::real {

struct LimitSpec {
  BytesPerSec write{0}, read{0};  ///< 0: none
  int write_iops = 0;             ///< 0: none
  [[nodiscard]] bool any() const { return write.value() > 0 || read.value() > 0 || write_iops > 0; }
};

struct LimitPlace {
  enum class Version { v1, v2 } version = Version::v1;
  std::string directory;  ///< v1: the root group. v2: the unified root, below which our group is made.
};

/// Where limits can be set here; nullopt if nowhere.
std::optional<LimitPlace> limit_place();

/// Sets the limit on "MAJ:MIN". v2: makes the group, and `group` receives its folder, into which the untars must go.
Status set_limit(Journal& journal, const LimitPlace& place, const std::string& device_number, const LimitSpec& limit,
                 std::string* group);

}  // namespace spillway::real
