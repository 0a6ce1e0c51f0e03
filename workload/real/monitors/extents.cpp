#include "workload/real/monitors/extents.hpp"

#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xfs/xfs.h>

#include <bit>
#include <filesystem>
#include <vector>

namespace spillway::real {
namespace {

constexpr std::uint32_t kBatch = 256;

/// Bytes per allocation group; 0 for another file system.
std::int64_t group_bytes(const std::string& directory) {
  const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return 0;
  xfs_fsop_geom geometry{};
  const int result = ::ioctl(fd, XFS_IOC_FSGEOMETRY, &geometry);
  ::close(fd);
  return result == 0 ? static_cast<std::int64_t>(geometry.agblocks) * geometry.blocksize : 0;
}

/// Adds one file; false if FIEMAP is refused.
bool add_file(const char* path, std::int64_t group, std::vector<char>& room, ExtentSummary& summary) {
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return true;
  auto* map = reinterpret_cast<fiemap*>(room.data());
  std::uint64_t from = 0;
  bool last = false, allowed = true;
  const std::int64_t before = summary.extents;
  while (!last && allowed) {
    *map = fiemap{};
    map->fm_start = from;
    map->fm_length = ~0ULL - from;
    map->fm_extent_count = kBatch;
    allowed = ::ioctl(fd, FS_IOC_FIEMAP, map) == 0;
    if (!allowed || map->fm_mapped_extents == 0) break;
    for (std::uint32_t i = 0; i < map->fm_mapped_extents; ++i) {
      const auto& extent = map->fm_extents[i];
      ++summary.extents;
      const int number = group > 0 ? static_cast<int>(static_cast<std::int64_t>(extent.fe_physical) / group) : 0;
      ++summary.extents_per_group[number];
      summary.bytes_per_group[number] += static_cast<std::int64_t>(extent.fe_length);
      last = (extent.fe_flags & FIEMAP_EXTENT_LAST) != 0;
      from = extent.fe_logical + extent.fe_length;
    }
  }
  ::close(fd);
  if (allowed) {
    ++summary.files;
    const std::int64_t extents = summary.extents - before;
    if (extents > 0) ++summary.files_by_extents[static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(extents)))];
  }
  return allowed;
}

}  // namespace

std::optional<ExtentSummary> look_at_extents(const std::string& directory, std::int64_t most) {
  ExtentSummary summary;
  const std::int64_t group = group_bytes(directory);
  std::vector<char> room(sizeof(fiemap) + kBatch * sizeof(fiemap_extent));
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator it{directory, error}, end; !error && it != end && summary.files < most; it.increment(error)) {
    std::error_code status_error;
    if (!it->is_regular_file(status_error) || it->is_symlink(status_error)) continue;
    if (!add_file(it->path().c_str(), group, room, summary)) return std::nullopt;
  }
  if (summary.files == 0) return std::nullopt;
  return summary;
}

}  // namespace spillway::real
