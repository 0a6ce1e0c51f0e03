#include "tests/workload/extract/tree_snapshot.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <map>

namespace spillway::test {
namespace {

/// FNV-1a over (block number, block) of the 4 KiB blocks that are not all zero.
std::string data_hash(const std::string& path, off_t size) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW);
  if (fd < 0) return "unreadable";
  std::uint64_t hash = 1469598103934665603ULL;
  const auto mix = [&hash](unsigned char byte) { hash = (hash ^ byte) * 1099511628211ULL; };
  char block[4096];
  off_t at = 0;
  while (at < size) {
    const off_t data = ::lseek(fd, at, SEEK_DATA);
    if (data < 0) break;
    at = data / 4096 * 4096;
    const ssize_t got = ::pread(fd, block, sizeof block, at);
    if (got <= 0) break;
    bool zero = true;
    for (ssize_t i = 0; i < got; ++i) zero = zero && block[i] == 0;
    if (!zero) {
      for (int shift = 0; shift < 64; shift += 8) mix(static_cast<unsigned char>(static_cast<std::uint64_t>(at) >> shift));
      ssize_t used = got;
      while (block[used - 1] == 0) --used;
      for (ssize_t i = 0; i < used; ++i) mix(static_cast<unsigned char>(block[i]));
    }
    at += 4096;
  }
  ::close(fd);
  return fmt::format("{:016x}", hash);
}

}  // namespace

std::vector<std::string> snapshot(const std::filesystem::path& root, SnapshotOptions options) {
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& item : std::filesystem::recursive_directory_iterator(root, error))
    paths.push_back(item.path().string().substr(root.string().size() + 1));
  std::sort(paths.begin(), paths.end());
  std::map<std::pair<dev_t, ino_t>, std::string> groups;
  std::vector<std::string> lines;
  for (const std::string& path : paths) {
    const std::string full = (root / path).string();
    struct stat s {};
    if (::lstat(full.c_str(), &s) != 0) continue;
    std::string line = path;
    const char kind = S_ISREG(s.st_mode)   ? 'f'
                      : S_ISDIR(s.st_mode) ? 'd'
                      : S_ISLNK(s.st_mode) ? 'l'
                      : S_ISFIFO(s.st_mode) ? 'p'
                      : S_ISCHR(s.st_mode) ? 'c'
                      : S_ISBLK(s.st_mode) ? 'b' : '?';
    line += fmt::format(" {}", kind);
    if (kind != 'l') line += fmt::format(" {:04o}", s.st_mode & 07777);
    if (options.owners) line += fmt::format(" {}:{}", s.st_uid, s.st_gid);
    if (options.mtimes) line += fmt::format(" {}.{:09}", s.st_mtim.tv_sec, s.st_mtim.tv_nsec);
    if (kind == 'f') {
      line += fmt::format(" {} {}", static_cast<long long>(s.st_size), data_hash(full, s.st_size));
      char value[65536];
      const ssize_t got = ::lgetxattr(full.c_str(), "user.note", value, sizeof value);
      if (got >= 0) line += fmt::format(" user.note={}", got);
    }
    if (kind == 'c' || kind == 'b') line += fmt::format(" {},{}", major(s.st_rdev), minor(s.st_rdev));
    if (kind == 'l') line += " -> " + std::filesystem::read_symlink(full).string();
    if (kind != 'd' && s.st_nlink > 1) {
      const auto [group, fresh] = groups.try_emplace({s.st_dev, s.st_ino}, path);
      line += " = " + group->second;
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

long long allocated_bytes(const std::filesystem::path& path) {
  struct stat s {};
  return ::lstat(path.c_str(), &s) == 0 ? static_cast<long long>(s.st_blocks) * 512 : -1;
}

}  // namespace spillway::test
