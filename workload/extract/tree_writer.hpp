#pragma once
/// TreeWriter: makes members below the target. One belongs to one writer thread; several may work on one target as the
/// plan (plan.hpp) orders them.
///
/// Per small file: openat, one write, futimens, close. chown, chmod and the like are called only where what creation
/// gave is not what the archive asks for, because on XFS each is a transaction. The thread's umask is 0 meanwhile
/// (private to the thread: unshare(CLONE_FS)), so that openat can give the final mode.

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "workload/extract/data_sink.hpp"
#include "workload/extract/directory_cache.hpp"
#include "workload/extract/entry.hpp"
#include "workload/extract/entry_name.hpp"
#include "workload/extract/entry_reader.hpp"
#include "workload/extract/report.hpp"

namespace spillway::extract {

/// A directory's attributes, set when everything else is done: a directory of mode 0555 still gets its files, and its
/// mtime is the archive's and not that of its last file.
struct DirectoryAttributes {
  std::int64_t index = 0;
  std::string path;
  mode_t mode = 0;
  uid_t uid = 0;
  gid_t gid = 0;
  std::int64_t mtime_s = 0;
  std::int32_t mtime_ns = 0;
  bool has_mtime = false;
  std::vector<Xattr> xattrs;
  std::string acl_access;
  std::string acl_default;
};

/// What is the same for every member of one extraction.
struct Target {
  int fd = -1;          ///< the open target directory
  mode_t umask = 022;   ///< the process's, as it was
  uid_t euid = 0;
  gid_t egid = 0;
};

/// Messages with the member's index, so that those of several writers can be put in the archive's order.
struct Tally {
  struct Noted {
    std::int64_t index = 0;
    Message message;
  };
  ExtractReport counts;  ///< only the numbers are used
  std::vector<Noted> warnings;
  std::vector<Noted> errors;
  std::vector<std::pair<std::int64_t, PartialFile>> partial_files;
  std::vector<DirectoryAttributes> directories;

  void warn(std::int64_t index, Message message);
  void error(std::int64_t index, Message message);
  void collision(std::string path);
  /// What the reader had to say since the last call.
  void take_remarks(EntryReader& reader);
};

class TreeWriter {
 public:
  TreeWriter(const Target& target, const ExtractOptions& options, DataSink& sink, Tally& tally);

  /// Anything but a regular file.
  void place(const Entry& entry, const CleanName& name);

  /// A regular file, or a hard link that brings its file's data: open, then any number of write() or one write_stored(), then close. False: it could not be made
  /// or written, the error is noted, and the rest of its data is to be skipped (close_file() is still called).
  bool open_file(const Entry& entry, const CleanName& name);
  bool write(std::span<const std::byte> bytes, std::int64_t offset);
  bool write_stored(const StoredData& stored);
  /// `cut`: why its data ended early, if it did.
  void close_file(const std::optional<Error>& cut);

  /// Directory attributes, when no writer is at work any more; children before parents.
  void set_directories(std::vector<DirectoryAttributes> all);

 private:
  void make_directory(const Entry& entry, const CleanName& name);
  void make_symlink(const Entry& entry, const CleanName& name);
  bool make_hard_link(const Entry& entry, const CleanName& name);
  int open_hard_link(const Entry& entry, const CleanName& name);
  void make_special(const Entry& entry, const CleanName& name);
  Result<Directory*> parent_directory(const CleanName& name);
  Status remove_existing(int directory_fd, const char* base, std::string_view path);
  void set_attributes(int fd, bool overwritten);
  void set_xattrs(int fd, std::int64_t index, const std::string& name, const std::vector<Xattr>& xattrs,
                  const std::string& acl_access, const std::string& acl_default);
  void note_refusal(const Entry& entry, const Error& error);
  bool wants_direct(const Entry& entry);
  void preallocate(const Entry& entry);

  const Target& target_;
  const ExtractOptions& options_;
  DataSink& sink_;
  Tally& tally_;
  DirectoryCache directories_;
  std::int64_t directories_counted_ = 0;
  /// Files made here whose other names are still to come, by device and inode: only through those may a hard link's data be
  /// written. A file that was in the tree before may have names outside it.
  std::set<std::pair<dev_t, ino_t>> made_with_other_names_;

  // The current file.
  const Entry* entry_ = nullptr;
  Directory* directory_ = nullptr;
  Fd file_;
  bool overwritten_ = false;
  bool failed_ = false;
  bool direct_ = false;

  std::chrono::steady_clock::time_point dirty_read_{};
  std::int64_t written_since_ = 0;
  std::optional<DirtyState> dirty_;
};

}  // namespace spillway::extract
