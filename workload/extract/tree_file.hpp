#pragma once
/// One name of a tree on disk, opened without following any link on the way, and what can be asked of it. For
/// verify_tree().

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/result.hpp"
#include "workload/extract/entry.hpp"
#include "workload/extract/fd.hpp"

namespace spillway::extract {

class TreeFile {
 public:
  /// Open `path` below `root_fd`; nothing when there is no such name, or the way passes a link.
  /// An error: openat2 itself is missing.
  [[nodiscard]] static Result<std::optional<TreeFile>> open(int root_fd, const std::string& path);

  [[nodiscard]] const struct stat& status() const { return status_; }
  [[nodiscard]] std::string link_target() const;
  /// All extended attributes but ACLs and what the kernel's security modules keep.
  [[nodiscard]] std::vector<Xattr> xattrs() const;
  /// Does its ACL equal this text (comma-separated, as acl_from_text has it)? An empty text: it has none.
  [[nodiscard]] bool acl_is(const std::string& text, bool default_acl) const;

  /// Of a regular file: where its data is not `bytes`; nothing when it is.
  [[nodiscard]] Result<std::optional<std::int64_t>> first_difference(std::span<const std::byte> bytes, std::int64_t offset);
  /// From `from` to `to` all bytes should be zero. Whether they are, and whether a whole block there is allocated.
  struct Gap {
    bool zero = true;
    bool data_block = false;
  };
  [[nodiscard]] Result<Gap> gap(std::int64_t from, std::int64_t to);

 private:
  [[nodiscard]] Status open_data();
  [[nodiscard]] std::string proc_path() const;
  std::string path_;
  Fd place_;  ///< O_PATH
  Fd data_;
  struct stat status_ {};
  std::vector<std::byte> buffer_;
};

}  // namespace spillway::extract
