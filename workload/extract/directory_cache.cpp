#include "workload/extract/directory_cache.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <cerrno>
#include <cstring>

#include "workload/extract/entry_name.hpp"

namespace spillway::extract {
namespace {

/// Open directories per cache. 64 writers of 256 stay below the usual limit of 20,000 descriptors, and a depth-first
/// archive needs as many as it is deep.
constexpr std::size_t kKept = 256;

bool has_default_acl(int fd) { return ::fgetxattr(fd, "system.posix_acl_default", nullptr, 0) > 0; }

std::unexpected<Error> not_a_directory(std::string_view path, int code, bool is_link) {
  if (is_link)
    return fail(ErrorKind::refused,
                fmt::format("The name passes through the symbolic link \"{}\"; it was not extracted.", path), code);
  return fail(ErrorKind::refused,
              fmt::format("\"{}\" on the way to it is not a directory; it was not extracted.", path), code);
}

}  // namespace

DirectoryCache::DirectoryCache(int target_fd, mode_t implied_mode) : implied_mode_(implied_mode) {
  root_.fd = Fd{::dup(target_fd)};
  root_.default_acl = has_default_acl(root_.fd.get());
}

DirectoryCache::Slot& DirectoryCache::keep(std::string_view path, Directory directory) {
  if (slots_.size() >= kKept) {
    by_path_.erase(slots_.back().path);
    slots_.pop_back();
  }
  slots_.push_front({std::string(path), std::move(directory)});
  by_path_.emplace(slots_.front().path, slots_.begin());
  return slots_.front();
}

Result<Directory*> DirectoryCache::enter(Directory& parent, std::string_view path, bool create) {
  const std::string name(base_of(path));
  const int parent_fd = parent.fd.get();
  bool fresh = false;
  for (int attempt = 0; attempt < 3; ++attempt) {
    // Readable where possible: attributes of an O_PATH descriptor cannot be asked.
    int fd = ::openat(parent_fd, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == EACCES) fd = ::openat(parent_fd, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0) {
      Directory directory;
      directory.fd = Fd{fd};
      directory.default_acl = fresh ? parent.default_acl : has_default_acl(fd);
      return &keep(path, std::move(directory)).directory;
    }
    const int code = errno;
    if (code == ELOOP || code == ENOTDIR) {
      struct stat there {};
      const bool is_link =
          ::fstatat(parent_fd, name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(there.st_mode);
      return not_a_directory(path, code, is_link);
    }
    if (code != ENOENT || !create)
      return fail(ErrorKind::refused, fmt::format("The directory \"{}\" cannot be opened: {}.", path, std::strerror(code)),
                  code);
    if (::mkdirat(parent_fd, name.c_str(), implied_mode_) == 0) {
      fresh = true;
      ++made_;
    } else if (errno != EEXIST) {
      return fail(ErrorKind::refused, fmt::format("The directory \"{}\" cannot be made: {}.", path, std::strerror(errno)),
                  errno);
    }
  }
  return fail(ErrorKind::refused, fmt::format("The directory \"{}\" vanishes as soon as it is made.", path), ENOENT);
}

Result<Directory*> DirectoryCache::open(std::string_view path, bool create) {
  if (path.empty()) return &root_;
  if (const auto found = by_path_.find(path); found != by_path_.end()) {
    slots_.splice(slots_.begin(), slots_, found->second);
    return &found->second->directory;
  }
  // The nearest kept ancestor, then down one component at a time.
  std::string_view ancestor = parent_of(path);
  auto found = by_path_.end();
  while (!ancestor.empty() && (found = by_path_.find(ancestor)) == by_path_.end()) ancestor = parent_of(ancestor);
  Directory* at = &root_;
  if (!ancestor.empty()) {
    slots_.splice(slots_.begin(), slots_, found->second);
    at = &found->second->directory;
  }
  std::size_t done = ancestor.size();
  while (done < path.size()) {
    std::size_t end = path.find('/', done + (done == 0 ? 0 : 1));
    if (end == std::string_view::npos) end = path.size();
    SPILLWAY_ASSIGN(at, enter(*at, path.substr(0, end), create));
    done = end;
  }
  return at;
}

Result<bool> DirectoryCache::make(std::string_view path, mode_t mode) {
  if (path.empty()) return false;
  SPILLWAY_ASSIGN(Directory* const parent, open(parent_of(path), true));
  const std::string name(base_of(path));
  if (::mkdirat(parent->fd.get(), name.c_str(), mode) == 0) {
    ++made_;
    return true;
  }
  if (errno == EEXIST) {
    struct stat there {};
    if (::fstatat(parent->fd.get(), name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(there.st_mode))
      return false;
    if (::unlinkat(parent->fd.get(), name.c_str(), 0) == 0 && ::mkdirat(parent->fd.get(), name.c_str(), mode) == 0) {
      ++made_;
      return true;
    }
  }
  return fail(ErrorKind::refused, fmt::format("The directory cannot be made: {}.", std::strerror(errno)), errno);
}

void DirectoryCache::forget(std::string_view path) {
  for (auto slot = slots_.begin(); slot != slots_.end();) {
    const std::string_view kept = slot->path;
    const bool below = kept.size() > path.size() && kept.starts_with(path) && (path.empty() || kept[path.size()] == '/');
    if (kept == path || below) {
      by_path_.erase(kept);
      slot = slots_.erase(slot);
    } else {
      ++slot;
    }
  }
}

}  // namespace spillway::extract
