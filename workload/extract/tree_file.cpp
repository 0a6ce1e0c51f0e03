#include "workload/extract/tree_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/acl.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <acl/libacl.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string_view>

namespace spillway::extract {
namespace {

constexpr std::size_t kReadBytes = 1 << 20;

std::unexpected<Error> unreadable(const std::string& path, int code) {
  return fail(ErrorKind::refused, fmt::format("\"{}\" in the tree cannot be read: {}.", path, std::strerror(code)), code);
}

}  // namespace

Result<std::optional<TreeFile>> TreeFile::open(int root_fd, const std::string& path) {
  open_how how{};
  how.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  TreeFile file;
  file.path_ = path;
  file.place_ = Fd{static_cast<int>(::syscall(SYS_openat2, root_fd, path.empty() ? "." : path.c_str(), &how, sizeof how))};
  // RESOLVE_NO_SYMLINKS refuses a link as the last part too, unless it is only to be named (O_PATH with O_NOFOLLOW).
  if (!file.place_) {
    if (errno == ENOSYS) return fail(ErrorKind::unsupported, "This kernel has no openat2 (it came with 5.6); the tree cannot be compared safely.", ENOSYS);
    return std::optional<TreeFile>{};
  }
  if (::fstat(file.place_.get(), &file.status_) != 0) return unreadable(path, errno);
  return std::optional<TreeFile>{std::move(file)};
}

std::string TreeFile::proc_path() const { return fmt::format("/proc/self/fd/{}", place_.get()); }

std::string TreeFile::link_target() const {
  std::string target(PATH_MAX, '\0');
  const ssize_t length = ::readlinkat(place_.get(), "", target.data(), target.size());
  target.resize(static_cast<std::size_t>(std::max<ssize_t>(0, length)));
  return target;
}

std::vector<Xattr> TreeFile::xattrs() const {
  std::vector<Xattr> all;
  const std::string path = proc_path();
  std::vector<char> names(XATTR_LIST_MAX);
  const ssize_t length = ::listxattr(path.c_str(), names.data(), names.size());
  for (ssize_t at = 0; at < length;) {
    const std::string name = names.data() + at;
    at += static_cast<ssize_t>(name.size()) + 1;
    if (name.starts_with("system.posix_acl_") || name == "security.selinux" || name == "security.ima" || name == "security.evm") continue;
    std::string value(XATTR_SIZE_MAX, '\0');
    const ssize_t size = ::getxattr(path.c_str(), name.c_str(), value.data(), value.size());
    if (size < 0) continue;
    value.resize(static_cast<std::size_t>(size));
    all.push_back({name, std::move(value)});
  }
  return all;
}

bool TreeFile::acl_is(const std::string& text, bool default_acl) const {
  const std::string path = proc_path();
  const char* const name = default_acl ? "system.posix_acl_default" : "system.posix_acl_access";
  if (text.empty()) return ::getxattr(path.c_str(), name, nullptr, 0) < 0;
  acl_t wanted = ::acl_from_text(text.c_str());
  acl_t there = ::acl_get_file(path.c_str(), default_acl ? ACL_TYPE_DEFAULT : ACL_TYPE_ACCESS);
  const bool same = wanted != nullptr && there != nullptr && ::acl_cmp(wanted, there) == 0;
  if (wanted != nullptr) ::acl_free(wanted);
  if (there != nullptr) ::acl_free(there);
  return same;
}

Status TreeFile::open_data() {
  if (data_) return {};
  // Through /proc: the same inode, whatever the name has become meanwhile.
  data_ = Fd{::open(proc_path().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (!data_) return unreadable(path_, errno);
  buffer_.resize(kReadBytes);
  return {};
}

Result<std::optional<std::int64_t>> TreeFile::first_difference(std::span<const std::byte> bytes, std::int64_t offset) {
  SPILLWAY_TRY(open_data());
  while (!bytes.empty()) {
    const std::size_t want = std::min(bytes.size(), buffer_.size());
    const ssize_t got = ::pread(data_.get(), buffer_.data(), want, offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return unreadable(path_, errno);
    if (got == 0) return std::optional{offset};
    const auto [mine, theirs] = std::mismatch(buffer_.begin(), buffer_.begin() + got, bytes.begin());
    if (mine != buffer_.begin() + got) return std::optional{offset + (mine - buffer_.begin())};
    bytes = bytes.subspan(static_cast<std::size_t>(got));
    offset += got;
  }
  return std::optional<std::int64_t>{};
}

Result<TreeFile::Gap> TreeFile::gap(std::int64_t from, std::int64_t to) {
  Gap gap;
  if (from >= to) return gap;
  SPILLWAY_TRY(open_data());
  const auto block = std::max<std::int64_t>(4096, status_.st_blksize);
  const std::int64_t first_whole = (from + block - 1) / block * block;
  const std::int64_t last_whole = to / block * block;
  while (from < to) {
    const off_t data = ::lseek(data_.get(), from, SEEK_DATA);
    if (data < 0 && errno == ENXIO) break;
    if (data < 0) return unreadable(path_, errno);
    from = std::max<std::int64_t>(from, data);
    if (from >= to) break;
    if (from >= first_whole && from < last_whole) gap.data_block = true;
    const auto want = static_cast<std::size_t>(std::min<std::int64_t>(to - from, static_cast<std::int64_t>(buffer_.size())));
    const ssize_t got = ::pread(data_.get(), buffer_.data(), want, from);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return unreadable(path_, errno);
    if (got == 0) break;
    if (std::any_of(buffer_.begin(), buffer_.begin() + got, [](std::byte b) { return b != std::byte{0}; })) gap.zero = false;
    from += got;
  }
  return gap;
}

}  // namespace spillway::extract
