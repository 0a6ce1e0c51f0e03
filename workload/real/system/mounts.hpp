#pragma once
/// What is mounted where (/proc/self/mountinfo), mounting and unmounting.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/result.hpp"

namespace spillway::real {

struct MountPoint {
  std::string device_number;  ///< "MAJ:MIN"
  std::string root;           ///< what of the file system is mounted
  std::string point;
  std::string options;        ///< of the mount
  std::string type;
  std::string source;
  std::string super_options;  ///< of the file system
};

std::vector<MountPoint> parse_mountinfo(std::string_view text);
std::vector<MountPoint> mount_points();
/// The topmost mount at exactly this directory.
std::optional<MountPoint> mounted_at(const std::string& point);
/// The mount that holds this path (longest prefix).
std::optional<MountPoint> mount_of(const std::string& path);
/// Whether that block device, or a partition of it, is mounted anywhere or is swap.
bool device_in_use(const std::string& device_path);

/// mount(2); generic words of `options` (noatime, nodiratime, relatime, ro, ...) become flags, the rest goes to the
/// file system.
Status mount_file_system(const std::string& source, const std::string& point, const std::string& type,
                         const std::string& options);
/// umount(2), tried in a child so that a hanging device cannot hang us: after `limit` an error is returned.
Status unmount(const std::string& point, std::chrono::milliseconds limit);
/// XFS_IOC_GOINGDOWN without a log flush: all that is dirty is thrown away, unmounting then takes no time.
Status shut_down_xfs(const std::string& point);
/// syncfs(2) on a directory: the file system's own word on whether everything reached the device.
Status sync_file_system(const std::string& directory);

}  // namespace spillway::real
