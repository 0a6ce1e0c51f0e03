#pragma once
/// verify_tree(): is what lies below a directory what the archive says? Names, types, sizes, contents, owners, modes,
/// times, extended attributes, ACLs, symbolic and hard links, devices, and that holes are holes.
///
/// The archive is read by libarchive and not by the engine's own walk over tar headers, so that a mistake of that walk
/// shows. It is read twice: first which member of each name counts (the last one) and which names are one file, then
/// the data. Nothing is followed on the way to a name (openat2 with RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS).

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "sim/result.hpp"

namespace spillway::extract {

/// What is compared besides names, types, sizes, contents and links. The defaults are what an extraction by root keeps.
struct VerifyOptions {
  bool owner = true;             ///< numeric; a tar that maps owners by their names is not wrong
  bool mode = true;
  mode_t mode_mask = 07777;      ///< of the archive's mode, what the tree should have (0777 & ~umask for ordinary users)
  bool mtime = true;
  bool directory_mtime = true;   ///< false: a directory's other mtime is counted and is no difference. GNU tar 1.34 gives DIR/ its
                                 ///< time too early when DIR-x comes between DIR/ and DIR/file; bsdtar leaves that of "."
  bool xattrs = true;            ///< extended attributes and ACLs
  bool holes = true;             ///< no data blocks where the archive has a hole of a whole block
  bool extra_names = true;       ///< names in the tree that are not in the archive are differences
  bool concatenated = false;     ///< as in ExtractOptions
  std::function<bool()> stop{};  ///< asked at every member; true ends the comparison with an error
};

struct TreeDifference {
  std::string name;  ///< below the directory
  std::string what;  ///< "mode: 0644 in the archive, 0600 in the tree"
};

struct TreeComparison {
  std::int64_t members = 0;                 ///< of the archive, the overwritten ones included
  std::int64_t names = 0;                   ///< compared
  std::int64_t data_bytes = 0;              ///< compared
  std::int64_t refused_names = 0;           ///< members whose name an extraction refuses (".."): not compared
  std::int64_t directory_mtimes = 0;        ///< that differ, where they are no difference
  std::int64_t difference_count = 0;
  std::vector<TreeDifference> differences;  ///< the first 100
  [[nodiscard]] bool same() const { return difference_count == 0; }
};

/// Compare. An error: the archive or the directory cannot be read, or this kernel has no openat2 (before 5.6).
[[nodiscard]] Result<TreeComparison> verify_tree(const std::filesystem::path& archive, const std::filesystem::path& directory,
                                                 const VerifyOptions& options = {});

}  // namespace spillway::extract
