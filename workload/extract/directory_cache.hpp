#pragma once
/// Directories below the target, walked once and kept open. Every step is one component, relative to an open parent and
/// without following links (O_NOFOLLOW | O_DIRECTORY), so no name can leave the target, whatever lies on the disk:
/// the same as openat2's RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS, but each prefix is resolved once for all its members.
///
/// One cache belongs to one thread. Two caches over one target may make the same directory: whoever comes second finds
/// it. A directory that is removed or replaced must be forgotten (forget()) by every cache that may hold it.

#include <sys/types.h>

#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>

#include "sim/result.hpp"
#include "workload/extract/fd.hpp"

namespace spillway::extract {

/// An open directory and what a file made in it inherits.
struct Directory {
  Fd fd;
  bool default_acl = false;   ///< new files get their mode from it, not from open()
  bool owner_known = false;   ///< the next two are filled from the first file made here
  uid_t new_uid = 0;
  gid_t new_gid = 0;          ///< differs from the process's in set-gid directories and on grpid mounts
};

class DirectoryCache {
 public:
  /// `target_fd`: the open target directory, kept by the caller. `implied_mode`: for parents no member describes.
  DirectoryCache(int target_fd, mode_t implied_mode);

  /// The directory at `path` (clean, "" is the target); missing ones are made when `create`. The pointer holds until
  /// the next call. Errors: a component is a symbolic link or not a directory (refused), or what the kernel says.
  [[nodiscard]] Result<Directory*> open(std::string_view path, bool create);

  /// Make one directory. True: it was made; false: it was there. Anything else that is there is removed first.
  [[nodiscard]] Result<bool> make(std::string_view path, mode_t mode);

  /// Close `path` and everything below.
  void forget(std::string_view path);

  /// Directories made by open() and make().
  [[nodiscard]] std::int64_t made() const { return made_; }

 private:
  struct Slot {
    std::string path;
    Directory directory;
  };
  using Slots = std::list<Slot>;

  Result<Directory*> enter(Directory& parent, std::string_view path, bool create);
  Slot& keep(std::string_view path, Directory directory);

  Slots slots_;  ///< most recently used first
  std::unordered_map<std::string_view, Slots::iterator> by_path_;
  Directory root_;
  mode_t implied_mode_;
  std::int64_t made_ = 0;
};

}  // namespace spillway::extract
