#pragma once
/// How files lie on the device after a run: extents per file (FIEMAP) and their allocation groups (XFS: by physical
/// block and the group size from the geometry ioctl).

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace spillway::real {

struct ExtentSummary {
  std::int64_t files = 0, extents = 0;
  std::map<std::int64_t, std::int64_t> files_by_extents;  ///< files with so many extents: 1, 2, then up to 4, 8, 16, ...
  std::map<int, std::int64_t> extents_per_group;
  std::map<int, std::int64_t> bytes_per_group;
  [[nodiscard]] double mean() const { return files > 0 ? static_cast<double>(extents) / static_cast<double>(files) : 0; }
};

/// Looks at up to `most` regular files below the directory. nullopt if the file system has no FIEMAP.
std::optional<ExtentSummary> look_at_extents(const std::string& directory, std::int64_t most);

}  // namespace spillway::real
