#include "workload/extract/verify_tree.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "workload/extract/entry_name.hpp"
#include "workload/extract/libarchive_reader.hpp"
#include "workload/extract/tree_file.hpp"

namespace spillway::extract {
namespace {

std::string_view word_for(EntryType type) {
  switch (type) {
    case EntryType::file: return "a file";
    case EntryType::directory: return "a directory";
    case EntryType::symlink: return "a symbolic link";
    case EntryType::hard_link: return "a hard link";
    case EntryType::character_device: return "a character device";
    case EntryType::block_device: return "a block device";
    case EntryType::fifo: return "a FIFO";
    case EntryType::other: return "of an unknown type";
  }
  return "";
}

EntryType type_of(mode_t mode) {
  if (S_ISREG(mode)) return EntryType::file;
  if (S_ISDIR(mode)) return EntryType::directory;
  if (S_ISLNK(mode)) return EntryType::symlink;
  if (S_ISCHR(mode)) return EntryType::character_device;
  if (S_ISBLK(mode)) return EntryType::block_device;
  if (S_ISFIFO(mode)) return EntryType::fifo;
  return EntryType::other;
}

/// Seconds since 1970 with nine digits, also before it: -5 s and 250 ms after it is "-4.750000000".
std::string time_text(std::int64_t seconds, std::int64_t nanoseconds) {
  if (seconds >= 0 || nanoseconds == 0) return fmt::format("{}.{:09}", seconds, nanoseconds);
  return fmt::format("-{}.{:09}", -(seconds + 1), 1'000'000'000 - nanoseconds);
}

class Comparison {
 public:
  Comparison(const std::filesystem::path& archive, int root_fd, const VerifyOptions& options)
      : archive_(archive), root_fd_(root_fd), options_(options) {}

  Result<TreeComparison> run(const std::filesystem::path& directory) {
    const Utf8Names utf8;
    SPILLWAY_TRY(read_names());
    SPILLWAY_TRY(compare_members());
    if (options_.extra_names) find_extra(directory);
    result_.names = static_cast<std::int64_t>(member_of_.size());
    return std::move(result_);
  }

 private:
  void differ(const std::string& name, std::string what) {
    ++result_.difference_count;
    if (result_.differences.size() < 100) result_.differences.push_back({name.empty() ? "." : name, std::move(what)});
  }

  template <class Visit>
  Status for_each_member(const Visit& visit) {
    SPILLWAY_ASSIGN(const std::unique_ptr<LibarchiveReader> reader, LibarchiveReader::open(archive_, options_.concatenated));
    Entry entry;
    for (;;) {
      SPILLWAY_ASSIGN(const bool more, reader->next(entry));
      if (!more) return {};
      if (options_.stop && options_.stop()) return fail(ErrorKind::refused, "interrupted while the tree was compared", EINTR);
      const auto name = clean_name(entry.name);
      SPILLWAY_TRY(visit(*reader, entry, name ? &*name : nullptr));
    }
  }

  /// Which member stands for each name in the end, and which names share one.
  Status read_names() {
    SPILLWAY_TRY(for_each_member([this](LibarchiveReader&, const Entry& entry, const CleanName* name) -> Status {
      ++result_.members;
      if (name == nullptr) {
        ++result_.refused_names;
        return {};
      }
      std::int64_t member = entry.index;
      if (entry.type == EntryType::hard_link) {
        const auto target = clean_name(entry.link);
        const auto found = target ? member_of_.find(target->path) : member_of_.end();
        if (found == member_of_.end()) {
          ++result_.refused_names;
          return {};
        }
        member = found->second;
        if (entry.data_bytes > 0) data_member_[member] = entry.index;
      }
      member_of_[name->path] = member;
      return {};
    }));
    for (const auto& [path, member] : member_of_) names_of_.emplace_back(member, &path);
    std::sort(names_of_.begin(), names_of_.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first < b.first : *a.second < *b.second;
    });
    return {};
  }

  Status compare_members() {
    return for_each_member([this](LibarchiveReader& reader, const Entry& entry, const CleanName* name) -> Status {
      if (name == nullptr) return {};
      if (entry.type == EntryType::hard_link) {
        // Only its data, which cpio gives with the last name.
        const auto own = member_of_.find(name->path);
        if (entry.data_bytes == 0 || own == member_of_.end()) return {};
        const auto data = data_member_.find(own->second);
        if (data == data_member_.end() || data->second != entry.index) return {};
        SPILLWAY_ASSIGN(std::optional<TreeFile> file, TreeFile::open(root_fd_, name->path));
        if (!file || !S_ISREG(file->status().st_mode)) return {};  // said with its first member
        return compare_data(reader, entry, *file, name->path);
      }
      const auto [first, last] = std::equal_range(names_of_.begin(), names_of_.end(), std::pair{entry.index, static_cast<const std::string*>(nullptr)},
                                                  [](const auto& a, const auto& b) { return a.first < b.first; });
      if (first == last) return {};  // a later member has its name
      const std::string& path = *first->second;
      SPILLWAY_ASSIGN(std::optional<TreeFile> file, TreeFile::open(root_fd_, path));
      if (!file) {
        differ(path, fmt::format("is {} in the archive and not in the tree", word_for(entry.type)));
        return {};
      }
      const EntryType there = type_of(file->status().st_mode);
      if (there != entry.type) {
        differ(path, fmt::format("is {} in the archive and {} in the tree", word_for(entry.type), word_for(there)));
        return {};
      }
      compare_attributes(entry, *file, path);
      if (entry.type == EntryType::file && !data_member_.contains(entry.index)) SPILLWAY_TRY(compare_data(reader, entry, *file, path));
      return compare_links(entry, *file, path, static_cast<std::uint64_t>(last - first), first + 1, last);
    });
  }

  template <class Iterator>
  Status compare_links(const Entry& entry, const TreeFile& file, const std::string& path, std::uint64_t names, Iterator next, Iterator last) {
    if (entry.type == EntryType::directory) return {};
    for (; next != last; ++next) {
      SPILLWAY_ASSIGN(const std::optional<TreeFile> other, TreeFile::open(root_fd_, *next->second));
      if (!other) differ(*next->second, "is a hard link in the archive and not in the tree");
      else if (other->status().st_ino != file.status().st_ino || other->status().st_dev != file.status().st_dev)
        differ(*next->second, fmt::format("is one file with {} in the archive and another in the tree", path));
    }
    if (file.status().st_nlink != names)
      differ(path, fmt::format("names: {} in the archive, {} in the tree", names, file.status().st_nlink));
    return {};
  }

  void compare_attributes(const Entry& entry, const TreeFile& file, const std::string& path) {
    const struct stat& there = file.status();
    if (options_.owner && (there.st_uid != entry.uid || there.st_gid != entry.gid))
      differ(path, fmt::format("owner: {}:{} in the archive, {}:{} in the tree", entry.uid, entry.gid, there.st_uid, there.st_gid));
    if (options_.mtime && entry.has_mtime && (there.st_mtim.tv_sec != entry.mtime_s || there.st_mtim.tv_nsec != entry.mtime_ns)) {
      if (entry.type == EntryType::directory && !options_.directory_mtime) ++result_.directory_mtimes;
      else differ(path, fmt::format("mtime: {} in the archive, {} in the tree", time_text(entry.mtime_s, entry.mtime_ns),
                               time_text(there.st_mtim.tv_sec, there.st_mtim.tv_nsec)));
    }
    if (entry.type == EntryType::symlink) {
      const std::string target = file.link_target();
      if (target != entry.link) differ(path, fmt::format("link target: \"{}\" in the archive, \"{}\" in the tree", entry.link, target));
      return;  // a link's mode means nothing
    }
    // With an ACL the group's bits are its mask on disk and its group entry for libarchive; the ACL is compared below.
    const mode_t bits = entry.acl_access.empty() ? 07777 : 07707;
    const mode_t mode = entry.mode & options_.mode_mask & 07777;
    if (options_.mode && (there.st_mode & bits) != (mode & bits))
      differ(path, fmt::format("mode: {:04o} in the archive, {:04o} in the tree", mode, there.st_mode & 07777));
    if (entry.type == EntryType::character_device || entry.type == EntryType::block_device) {
      if (major(there.st_rdev) != entry.device_major || minor(there.st_rdev) != entry.device_minor)
        differ(path, fmt::format("device: {},{} in the archive, {},{} in the tree", entry.device_major, entry.device_minor,
                                 major(there.st_rdev), minor(there.st_rdev)));
      return;
    }
    if (!options_.xattrs || (entry.type != EntryType::file && entry.type != EntryType::directory)) return;
    compare_xattrs(entry, file, path);
  }

  void compare_xattrs(const Entry& entry, const TreeFile& file, const std::string& path) {
    const std::vector<Xattr> there = file.xattrs();
    const auto with_name = [](const std::vector<Xattr>& all, const std::string& name) {
      return std::find_if(all.begin(), all.end(), [&name](const Xattr& x) { return x.name == name; });
    };
    for (const Xattr& wanted : entry.xattrs) {
      if (wanted.name.starts_with("system.posix_acl_") || wanted.name == "security.selinux") continue;
      const auto found = with_name(there, wanted.name);
      if (found == there.end()) differ(path, fmt::format("the extended attribute {} is missing", wanted.name));
      else if (found->value != wanted.value) differ(path, fmt::format("the extended attribute {} has another value", wanted.name));
    }
    for (const Xattr& found : there)
      if (with_name(entry.xattrs, found.name) == entry.xattrs.end())
        differ(path, fmt::format("the extended attribute {} is not in the archive", found.name));
    if (!file.acl_is(entry.acl_access, false)) differ(path, fmt::format("its ACL is not \"{}\", the archive's", entry.acl_access));
    if (entry.type == EntryType::directory && !file.acl_is(entry.acl_default, true))
      differ(path, fmt::format("its default ACL is not \"{}\", the archive's", entry.acl_default));
  }

  Status compare_data(LibarchiveReader& reader, const Entry& entry, TreeFile& file, const std::string& path) {
    bool content_differs = false;
    bool hole_filled = false;
    const auto hole = [&](std::int64_t from, std::int64_t to) -> Status {
      SPILLWAY_ASSIGN(const TreeFile::Gap gap, file.gap(from, to));
      if (!gap.zero && !content_differs) {
        content_differs = true;
        differ(path, fmt::format("content: not all zero in the archive's hole from byte {}", from));
      }
      hole_filled = hole_filled || gap.data_block;
      return {};
    };
    std::int64_t end = 0;
    for (DataPiece piece;;) {
      SPILLWAY_ASSIGN(const bool more, reader.data(piece));
      if (!more) break;
      SPILLWAY_TRY(hole(end, piece.offset));
      end = piece.offset + static_cast<std::int64_t>(piece.bytes.size());
      result_.data_bytes += static_cast<std::int64_t>(piece.bytes.size());
      if (content_differs) continue;
      SPILLWAY_ASSIGN(const std::optional<std::int64_t> at, file.first_difference(piece.bytes, piece.offset));
      if (at) {
        content_differs = true;
        differ(path, fmt::format("content: differs from byte {} on", *at));
      }
    }
    const std::int64_t size = entry.size_known ? entry.size : end;
    if (file.status().st_size != size)
      differ(path, fmt::format("size: {} in the archive, {} in the tree", size, static_cast<std::int64_t>(file.status().st_size)));
    else
      SPILLWAY_TRY(hole(end, size));
    if (hole_filled && options_.holes) differ(path, "has data blocks where the archive has a hole");
    return {};
  }

  void find_extra(const std::filesystem::path& directory) {
    std::unordered_set<std::string_view> implied;
    for (const auto& [path, member] : member_of_)
      for (std::string_view above = parent_of(path); !above.empty() && implied.insert(above).second;) above = parent_of(above);
    std::error_code error;
    const std::size_t prefix = directory.string().size() + (directory.string().ends_with('/') ? 0 : 1);
    for (std::filesystem::recursive_directory_iterator at(directory, error), last; !error && at != last; at.increment(error)) {
      const std::string path = at->path().string().substr(prefix);
      if (!member_of_.contains(path) && !implied.contains(path)) differ(path, "is in the tree and not in the archive");
    }
    if (error) differ("", fmt::format("the tree cannot be listed: {}", error.message()));
  }

  const std::filesystem::path& archive_;
  int root_fd_;
  const VerifyOptions& options_;
  TreeComparison result_;
  std::unordered_map<std::string, std::int64_t> member_of_;              ///< of each name, the member that it is in the end
  std::unordered_map<std::int64_t, std::int64_t> data_member_;           ///< members whose data comes with a later link
  std::vector<std::pair<std::int64_t, const std::string*>> names_of_;    ///< of each member, its names, sorted
};

}  // namespace

Result<TreeComparison> verify_tree(const std::filesystem::path& archive, const std::filesystem::path& directory, const VerifyOptions& options) {
  const Fd root{::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!root)
    return fail(errno == ENOENT || errno == ENOTDIR ? ErrorKind::bad_input : ErrorKind::refused,
                fmt::format("The directory {} cannot be opened: {}.", directory.string(), std::strerror(errno)), errno);
  return Comparison(archive, root.get(), options).run(directory);
}

}  // namespace spillway::extract
