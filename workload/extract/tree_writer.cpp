#include "workload/extract/tree_writer.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/acl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include <acl/libacl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace spillway::extract {
namespace {

constexpr mode_t kPermissions = 07777;
constexpr mode_t kSetId = 07000;

std::string sentence_of(std::string_view what, int code) { return fmt::format("{}: {}.", what, std::strerror(code)); }

void fill_times(timespec (&times)[2], std::int64_t seconds, std::int32_t nanoseconds) {
  times[0] = {0, UTIME_OMIT};
  times[1] = {static_cast<time_t>(seconds), nanoseconds};
}

}  // namespace

void Tally::warn(std::int64_t index, Message message) {
  ++counts.warning_count;
  if (warnings.size() < 100) warnings.push_back({index, std::move(message)});
}

void Tally::error(std::int64_t index, Message message) {
  ++counts.error_count;
  if (errors.size() < 100) errors.push_back({index, std::move(message)});
}

void Tally::take_remarks(EntryReader& reader) {
  if (!reader.has_remarks()) return;
  for (auto& remark : reader.take_remarks()) {
    if (remark.error) error(remark.index, std::move(remark.message));
    else warn(remark.index, std::move(remark.message));
  }
}

void Tally::collision(std::string path) {
  ++counts.collision_count;
  if (counts.collisions.size() < 100) counts.collisions.push_back(std::move(path));
}

TreeWriter::TreeWriter(const Target& target, const ExtractOptions& options, DataSink& sink, Tally& tally)
    : target_(target),
      options_(options),
      sink_(sink),
      tally_(tally),
      directories_(target.fd, (0777 & ~target.umask) | 0700) {}

void TreeWriter::note_refusal(const Entry& entry, const Error& error) {
  tally_.error(entry.index, {entry.name, error.what, error.sys_errno});
}

Result<Directory*> TreeWriter::parent_directory(const CleanName& name) {
  auto directory = directories_.open(parent_of(name.path), true);
  tally_.counts.directories += directories_.made() - directories_counted_;
  directories_counted_ = directories_.made();
  return directory;
}

Status TreeWriter::remove_existing(int directory_fd, const char* base, std::string_view path) {
  if (::unlinkat(directory_fd, base, 0) == 0 || errno == ENOENT) return {};
  if (errno == EISDIR || errno == EPERM) {
    if (::unlinkat(directory_fd, base, AT_REMOVEDIR) == 0) {
      directories_.forget(path);
      return {};
    }
    if (errno == ENOTEMPTY || errno == EEXIST)
      return fail(ErrorKind::refused, "A directory that is not empty has its name; it was not extracted.", errno);
  }
  return fail(ErrorKind::refused, sentence_of("What has its name cannot be removed", errno), errno);
}

void TreeWriter::place(const Entry& entry, const CleanName& name) {
  if (name.path.empty() && entry.type != EntryType::directory) {
    tally_.error(entry.index, {entry.name, "It has the target directory's own name; it was not extracted.", 0});
    return;
  }
  switch (entry.type) {
    case EntryType::directory: make_directory(entry, name); break;
    case EntryType::symlink: make_symlink(entry, name); break;
    case EntryType::hard_link: (void)make_hard_link(entry, name); break;
    case EntryType::character_device:
    case EntryType::block_device:
    case EntryType::fifo: make_special(entry, name); break;
    case EntryType::file:
    case EntryType::other:
      tally_.error(entry.index, {entry.name, "Its type is unknown or cannot be made; it was not extracted.", 0});
  }
}

void TreeWriter::make_directory(const Entry& entry, const CleanName& name) {
  mode_t mode = entry.mode & kPermissions;
  if (!options_.preserve_mode) mode &= 0777 & ~target_.umask;
  const mode_t first = (mode & 0777) | 0700;
  const auto made = directories_.make(name.path, first);
  tally_.counts.directories += directories_.made() - directories_counted_;
  directories_counted_ = directories_.made();
  if (!made) {
    note_refusal(entry, made.error());
    return;
  }
  DirectoryAttributes attributes;
  attributes.index = entry.index;
  attributes.path = name.path;
  attributes.mode = mode;
  attributes.uid = entry.uid;
  attributes.gid = entry.gid;
  attributes.mtime_s = entry.mtime_s;
  attributes.mtime_ns = entry.mtime_ns;
  attributes.has_mtime = entry.has_mtime;
  attributes.xattrs = entry.xattrs;
  attributes.acl_access = entry.acl_access;
  attributes.acl_default = entry.acl_default;
  tally_.directories.push_back(std::move(attributes));
}

void TreeWriter::make_symlink(const Entry& entry, const CleanName& name) {
  const auto directory = parent_directory(name);
  if (!directory) return note_refusal(entry, directory.error());
  const int at = (*directory)->fd.get();
  const std::string base(base_of(name.path));
  if (::symlinkat(entry.link.c_str(), at, base.c_str()) != 0) {
    int code = errno;
    if (code == EEXIST) {
      const Status removed = remove_existing(at, base.c_str(), name.path);
      if (!removed) return note_refusal(entry, removed.error());
      code = ::symlinkat(entry.link.c_str(), at, base.c_str()) == 0 ? 0 : errno;
    }
    if (code != 0) {
      tally_.error(entry.index, {entry.name, sentence_of("The symbolic link cannot be made", code), code});
      return;
    }
  }
  ++tally_.counts.symlinks;
  if (options_.preserve_owner && (entry.uid != target_.euid || entry.gid != target_.egid || !(*directory)->owner_known) &&
      ::fchownat(at, base.c_str(), entry.uid, entry.gid, AT_SYMLINK_NOFOLLOW) != 0)
    tally_.warn(entry.index, {entry.name, sentence_of("Its owner cannot be set", errno), errno});
  if (options_.preserve_mtime && entry.has_mtime) {
    timespec times[2];
    fill_times(times, entry.mtime_s, entry.mtime_ns);
    if (::utimensat(at, base.c_str(), times, AT_SYMLINK_NOFOLLOW) != 0)
      tally_.warn(entry.index, {entry.name, sentence_of("Its time cannot be set", errno), errno});
  }
}

bool TreeWriter::make_hard_link(const Entry& entry, const CleanName& name) {
  const auto target = clean_name(entry.link);
  if (!target || target->path.empty()) {
    tally_.error(entry.index, {entry.name,
                               fmt::format("It is a hard link to \"{}\", which is not a name below the target; it was not "
                                           "extracted.", entry.link),
                               0});
    return false;
  }
  const std::string base(base_of(name.path));
  const std::string target_base(base_of(target->path));
  // Two directories at once: the first is duplicated, because opening the second may close it.
  const auto target_directory = directories_.open(parent_of(target->path), false);
  if (!target_directory) {
    tally_.error(entry.index, {entry.name, fmt::format("It is a hard link to \"{}\": {}", entry.link, target_directory.error().what),
                               target_directory.error().sys_errno});
    return false;
  }
  int target_fd = (*target_directory)->fd.get();
  Fd duplicate;
  if (parent_of(target->path) != parent_of(name.path)) {
    duplicate = Fd{::fcntl(target_fd, F_DUPFD_CLOEXEC, 0)};
    target_fd = duplicate.get();
  }
  const auto directory = parent_directory(name);
  if (!directory) {
    note_refusal(entry, directory.error());
    return false;
  }
  const int at = (*directory)->fd.get();
  if (::linkat(target_fd, target_base.c_str(), at, base.c_str(), 0) != 0) {
    int code = errno;
    if (code == EEXIST) {
      struct stat mine {};
      struct stat theirs {};
      if (::fstatat(at, base.c_str(), &mine, AT_SYMLINK_NOFOLLOW) == 0 &&
          ::fstatat(target_fd, target_base.c_str(), &theirs, AT_SYMLINK_NOFOLLOW) == 0) {
        if (mine.st_ino == theirs.st_ino && mine.st_dev == theirs.st_dev) {
          ++tally_.counts.hard_links;
          return true;
        }
        const Status removed = remove_existing(at, base.c_str(), name.path);
        if (!removed) {
          note_refusal(entry, removed.error());
          return false;
        }
        code = ::linkat(target_fd, target_base.c_str(), at, base.c_str(), 0) == 0 ? 0 : errno;
      } else {
        code = errno;  // its target is not there: what has its name stays
      }
    }
    if (code != 0) {
      tally_.error(entry.index, {entry.name, sentence_of(fmt::format("The hard link to \"{}\" cannot be made", entry.link), code), code});
      return false;
    }
  }
  ++tally_.counts.hard_links;
  return true;
}

/// The link, opened for its data; -1 when an error is noted.
int TreeWriter::open_hard_link(const Entry& entry, const CleanName& name) {
  if (!make_hard_link(entry, name)) return -1;
  const auto directory = parent_directory(name);
  if (!directory) {
    note_refusal(entry, directory.error());
    return -1;
  }
  directory_ = *directory;
  const std::string base(base_of(name.path));
  struct stat there {};
  if (::fstatat(directory_->fd.get(), base.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(there.st_mode) ||
      !made_with_other_names_.contains({there.st_dev, there.st_ino})) {
    tally_.error(entry.index, {entry.name, "It is a hard link with data for a file that this archive did not make; the data was not written.", 0});
    return -1;
  }
  const int fd = ::openat(directory_->fd.get(), base.c_str(), O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) tally_.error(entry.index, {entry.name, sentence_of("The hard link cannot be opened for its data", errno), errno});
  return fd;
}

void TreeWriter::make_special(const Entry& entry, const CleanName& name) {
  const auto directory = parent_directory(name);
  if (!directory) return note_refusal(entry, directory.error());
  const int at = (*directory)->fd.get();
  const std::string base(base_of(name.path));
  mode_t mode = entry.mode & kPermissions;
  if (!options_.preserve_mode) mode &= 0777 & ~target_.umask;
  const mode_t kind = entry.type == EntryType::fifo ? S_IFIFO : entry.type == EntryType::block_device ? S_IFBLK : S_IFCHR;
  const dev_t device = kind == S_IFIFO ? 0 : makedev(entry.device_major, entry.device_minor);
  if (::mknodat(at, base.c_str(), kind | (mode & 0777), device) != 0) {
    int code = errno;
    if (code == EEXIST) {
      const Status removed = remove_existing(at, base.c_str(), name.path);
      if (!removed) return note_refusal(entry, removed.error());
      code = ::mknodat(at, base.c_str(), kind | (mode & 0777), device) == 0 ? 0 : errno;
    }
    if (code != 0) {
      tally_.error(entry.index, {entry.name, sentence_of("The special file cannot be made", code), code});
      return;
    }
  }
  ++tally_.counts.specials;
  if (options_.preserve_owner && ::fchownat(at, base.c_str(), entry.uid, entry.gid, AT_SYMLINK_NOFOLLOW) != 0)
    tally_.warn(entry.index, {entry.name, sentence_of("Its owner cannot be set", errno), errno});
  // It was made here a moment ago under this name, so this follows no link.
  if (((mode & kSetId) != 0 || (*directory)->default_acl) && ::fchmodat(at, base.c_str(), mode, 0) != 0)
    tally_.warn(entry.index, {entry.name, sentence_of("Its mode cannot be set", errno), errno});
  if (options_.preserve_mtime && entry.has_mtime) {
    timespec times[2];
    fill_times(times, entry.mtime_s, entry.mtime_ns);
    if (::utimensat(at, base.c_str(), times, AT_SYMLINK_NOFOLLOW) != 0)
      tally_.warn(entry.index, {entry.name, sentence_of("Its time cannot be set", errno), errno});
  }
}

bool TreeWriter::wants_direct(const Entry& entry) {
  if (options_.direct == DirectMode::off || entry.data_bytes < 4096) return false;
  if (options_.direct == DirectMode::on) return true;
  if (Bytes{entry.data_bytes} < kAutoDirectFrom) return false;
  // The dirty count moves slowly: ask again after 8 MiB of our own or 20 ms.
  const auto now = std::chrono::steady_clock::now();
  if (!dirty_ || written_since_ >= 8 * kMiB || now - dirty_read_ > std::chrono::milliseconds{20}) {
    dirty_ = read_dirty_state();
    dirty_read_ = now;
    written_since_ = 0;
  }
  return dirty_ && auto_direct(*dirty_, Bytes{entry.data_bytes + written_since_}, options_.direct_pays);
}

void TreeWriter::preallocate(const Entry& entry) {
  if (!direct_ || entry.sparse || options_.preallocate_from.value() <= 0 ||
      entry.data_bytes < options_.preallocate_from.value())
    return;
  // A hint only: a file system that cannot, or has no room, says so again when the data is written.
  (void)::fallocate(file_.get(), FALLOC_FL_KEEP_SIZE, 0, entry.data_bytes);
}

bool TreeWriter::open_file(const Entry& entry, const CleanName& name) {
  entry_ = &entry;
  failed_ = true;
  overwritten_ = false;
  if (name.path.empty()) {
    tally_.error(entry.index, {entry.name, "It has the target directory's own name; it was not extracted.", 0});
    return false;
  }
  if (entry.type == EntryType::hard_link) {
    const int linked = open_hard_link(entry, name);
    if (linked < 0) return false;
    file_ = Fd{linked};
    overwritten_ = true;
    failed_ = false;
    direct_ = false;
    sink_.begin(linked, false, entry.size);
    return true;
  }
  const auto directory = parent_directory(name);
  if (!directory) {
    note_refusal(entry, directory.error());
    return false;
  }
  directory_ = *directory;
  const int at = directory_->fd.get();
  const std::string base(base_of(name.path));
  const mode_t mode = options_.preserve_mode ? entry.mode & 0777 : entry.mode & 0777 & ~target_.umask;
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  int fd = ::openat(at, base.c_str(), kFlags, mode);
  if (fd < 0 && errno == EEXIST) {
    struct stat there {};
    if (options_.existing == Existing::overwrite && ::fstatat(at, base.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(there.st_mode) && there.st_nlink == 1) {
      fd = ::openat(at, base.c_str(), O_WRONLY | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
      overwritten_ = fd >= 0;
    }
    if (fd < 0) {
      const Status removed = remove_existing(at, base.c_str(), name.path);
      if (!removed) {
        note_refusal(entry, removed.error());
        return false;
      }
      fd = ::openat(at, base.c_str(), kFlags, mode);
    }
  }
  if (fd < 0) {
    tally_.error(entry.index, {entry.name, sentence_of("The file cannot be made", errno), errno});
    return false;
  }
  file_ = Fd{fd};
  failed_ = false;
  if (entry.has_other_names) {
    struct stat made {};
    if (::fstat(fd, &made) == 0) made_with_other_names_.insert({made.st_dev, made.st_ino});
  }
  direct_ = wants_direct(entry);
  preallocate(entry);
  sink_.begin(fd, direct_, entry.size);
  return true;
}

bool TreeWriter::write(std::span<const std::byte> bytes, std::int64_t offset) {
  const Status done = sink_.write(bytes, offset);
  if (!done) {
    note_refusal(*entry_, done.error());
    failed_ = true;
  }
  return done.has_value();
}

bool TreeWriter::write_stored(const StoredData& stored) {
  const Status done = sink_.write_stored(stored, entry_->sparse ? std::span<const Run>(entry_->runs) : std::span<const Run>{});
  if (!done) {
    note_refusal(*entry_, done.error());
    failed_ = true;
  }
  return done.has_value();
}

void TreeWriter::set_xattrs(int fd, std::int64_t index, const std::string& name, const std::vector<Xattr>& xattrs,
                            const std::string& acl_access, const std::string& acl_default) {
  if (!options_.preserve_xattrs) return;
  for (const Xattr& xattr : xattrs) {
    if (::fsetxattr(fd, xattr.name.c_str(), xattr.value.data(), xattr.value.size(), 0) != 0)
      tally_.warn(index, {name, sentence_of(fmt::format("Its extended attribute {} cannot be set", xattr.name), errno), errno});
  }
  const auto set_acl = [&](const std::string& text, acl_type_t type) {
    if (text.empty()) return;
    acl_t acl = ::acl_from_text(text.c_str());
    const std::string path = fmt::format("/proc/self/fd/{}", fd);
    if (acl == nullptr || ::acl_set_file(path.c_str(), type, acl) != 0)
      tally_.warn(index, {name, sentence_of(fmt::format("Its ACL \"{}\" cannot be set", text), errno), errno});
    if (acl != nullptr) ::acl_free(acl);
  };
  set_acl(acl_access, ACL_TYPE_ACCESS);
  set_acl(acl_default, ACL_TYPE_DEFAULT);
}

void TreeWriter::set_attributes(int fd, bool overwritten) {
  const Entry& entry = *entry_;
  Directory& directory = *directory_;
  uid_t uid = directory.new_uid;
  gid_t gid = directory.new_gid;
  if (options_.preserve_owner && (overwritten || !directory.owner_known)) {
    struct stat made {};
    ::fstat(fd, &made);
    uid = made.st_uid;
    gid = made.st_gid;
    if (!overwritten) {
      directory.new_uid = uid;
      directory.new_gid = gid;
      directory.owner_known = true;
    }
  }
  if (options_.preserve_owner && (uid != entry.uid || gid != entry.gid) && ::fchown(fd, entry.uid, entry.gid) != 0)
    tally_.warn(entry.index, {entry.name, sentence_of("Its owner cannot be set", errno), errno});
  mode_t mode = entry.mode & kPermissions;
  if (!options_.preserve_mode) mode &= 0777 & ~target_.umask;
  // openat() gave the permissions, except where a default ACL or an older file decided.
  if ((overwritten || directory.default_acl || (mode & kSetId) != 0) && ::fchmod(fd, mode) != 0)
    tally_.warn(entry.index, {entry.name, sentence_of("Its mode cannot be set", errno), errno});
  if (!entry.xattrs.empty() || !entry.acl_access.empty())
    set_xattrs(fd, entry.index, entry.name, entry.xattrs, entry.acl_access, {});
  if (options_.preserve_mtime && entry.has_mtime) {
    timespec times[2];
    fill_times(times, entry.mtime_s, entry.mtime_ns);
    if (::futimens(fd, times) != 0)
      tally_.warn(entry.index, {entry.name, sentence_of("Its time cannot be set", errno), errno});
  }
}

void TreeWriter::close_file(const std::optional<Error>& cut) {
  const Entry& entry = *entry_;
  if (!file_) return;
  const Status done = sink_.finish();
  if (!done && !failed_) {
    note_refusal(entry, done.error());
    failed_ = true;
  }
  const std::int64_t written = sink_.written();
  if (cut && !failed_) {
    tally_.error(entry.index, {entry.name, cut->what, cut->sys_errno});
    failed_ = true;
  }
  if (!failed_ && written < entry.data_bytes) {
    tally_.error(entry.index, {entry.name, fmt::format("Only {} of its {} bytes are in the archive.", written, entry.data_bytes), 0});
    failed_ = true;
  }
  // A hole at the end, or a file of nothing but a hole.
  if (!failed_ && entry.sparse) {
    const std::int64_t end = entry.runs.empty() ? 0 : entry.runs.back().offset + entry.runs.back().length;
    if (end < entry.size && ::ftruncate(file_.get(), entry.size) != 0) {
      tally_.error(entry.index, {entry.name, sentence_of("It cannot be made as long as it should be", errno), errno});
      failed_ = true;
    }
  }
  if (failed_) tally_.partial_files.emplace_back(entry.index, PartialFile{entry.name, written, entry.data_bytes});
  if (entry.type == EntryType::file) ++tally_.counts.files;
  tally_.counts.data_bytes += written;
  tally_.counts.direct_bytes += sink_.written_direct();
  tally_.counts.apparent_bytes += entry.size_known ? entry.size : written;
  written_since_ += written;
  set_attributes(file_.get(), overwritten_);
  const int fd = file_.release();
  if (::close(fd) != 0 && !failed_)
    tally_.error(entry.index, {entry.name, sentence_of("Its data cannot be written", errno), errno});
}

void TreeWriter::set_directories(std::vector<DirectoryAttributes> all) {
  // Of several members for one directory the last counts; children come before their parents.
  std::stable_sort(all.begin(), all.end(), [](const DirectoryAttributes& a, const DirectoryAttributes& b) {
    return a.path != b.path ? a.path > b.path : a.index < b.index;
  });
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i + 1 < all.size() && all[i + 1].path == all[i].path) continue;
    const DirectoryAttributes& one = all[i];
    const std::string name = one.path.empty() ? "." : one.path;
    const auto opened = directories_.open(one.path, false);
    if (!opened) continue;  // replaced later in the archive, or already reported
    const Directory& directory = **opened;
    const int fd = directory.fd.get();
    struct stat now {};
    if (::fstat(fd, &now) != 0) continue;
    if (options_.preserve_owner && (now.st_uid != one.uid || now.st_gid != one.gid) &&
        ::fchown(fd, one.uid, one.gid) != 0)
      tally_.warn(one.index, {name, sentence_of("Its owner cannot be set", errno), errno});
    if ((now.st_mode & kPermissions) != one.mode && ::fchmod(fd, one.mode) != 0)
      tally_.warn(one.index, {name, sentence_of("Its mode cannot be set", errno), errno});
    if (!one.xattrs.empty() || !one.acl_access.empty() || !one.acl_default.empty())
      set_xattrs(fd, one.index, name, one.xattrs, one.acl_access, one.acl_default);
    if (options_.preserve_mtime && one.has_mtime) {
      timespec times[2];
      fill_times(times, one.mtime_s, one.mtime_ns);
      if (::futimens(fd, times) != 0)
        tally_.warn(one.index, {name, sentence_of("Its time cannot be set", errno), errno});
    }
  }
}

}  // namespace spillway::extract
