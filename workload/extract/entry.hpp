#pragma once
/// One member of an archive as the engine sees it, whatever the format: what to make, with which attributes, and where
/// in the file its data goes. Two sizes are kept apart: `size` is what stat() shall say, `data_bytes` what the archive
/// holds of it (less where there are holes).

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace spillway::extract {

enum class EntryType : std::uint8_t {
  file,
  directory,
  symlink,
  hard_link,
  character_device,
  block_device,
  fifo,
  other,  ///< a socket or a type no format defines; cannot be made
};

/// A stretch of a file that has data; between runs are holes.
struct Run {
  std::int64_t offset = 0;
  std::int64_t length = 0;
  friend bool operator==(const Run&, const Run&) = default;
};

struct Xattr {
  std::string name;
  std::string value;
};

struct Entry {
  std::int64_t index = 0;    ///< 0 for the first member of the archive
  std::string name;          ///< as in the archive
  std::string link;          ///< target of a symbolic or hard link
  EntryType type = EntryType::file;
  mode_t mode = 0644;        ///< permission and set-id bits
  uid_t uid = 0;
  gid_t gid = 0;
  std::int64_t mtime_s = 0;
  std::int32_t mtime_ns = 0;
  bool has_mtime = true;
  std::int64_t size = 0;
  std::int64_t data_bytes = 0;
  /// False: the format tells the size only behind the data (a zip that was written as a stream). Then `size` and
  /// `data_bytes` are 0, and data is read until there is no more.
  bool size_known = true;
  /// The archive has more names for this file. A cpio archive may give the data with the last of them only.
  bool has_other_names = false;
  bool sparse = false;       ///< only `runs` have data; when false, all of the file has
  std::vector<Run> runs;     ///< ascending, not overlapping; of sparse files only
  std::vector<Xattr> xattrs;
  std::string acl_access;    ///< in the text form of acl_from_text, or empty
  std::string acl_default;
  unsigned device_major = 0;
  unsigned device_minor = 0;
};

/// A regular file, or a hard link that has the data of its file with it.
[[nodiscard]] inline bool brings_data(const Entry& entry) {
  return entry.type == EntryType::file || (entry.type == EntryType::hard_link && entry.data_bytes > 0);
}

}  // namespace spillway::extract
