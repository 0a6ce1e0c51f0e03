#include "cli/campaign/lock.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>
#include <utility>

namespace spillway::campaign {

namespace {

namespace fs = std::filesystem;

/// Opens and locks one file; leaves our process number in it when the lock is exclusive.
Result<int> lock_file(const fs::path& file, int kind, const fs::path& out) {
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) {
    return fail(ErrorKind::refused, fmt::format("cannot open {}: {}; give another folder with --out", file.string(), std::strerror(errno)),
                errno);
  }
  if (::flock(fd, kind | LOCK_NB) != 0) {
    const int error = errno;
    char holder[32] = {};
    const auto got = ::pread(fd, holder, sizeof holder - 1, 0);
    ::close(fd);
    if (error != EWOULDBLOCK) {
      return fail(ErrorKind::refused, fmt::format("cannot lock {}: {}", file.string(), std::strerror(error)), error);
    }
    std::string who = got > 0 ? holder : "";
    while (!who.empty() && (who.back() == '\n' || who.back() == ' ')) who.pop_back();
    return fail(ErrorKind::refused, fmt::format("another campaign{} is running in {}; wait for it, or give another folder with --out",
                                                who.empty() ? "" : " (process " + who + ")", out.string()));
  }
  if (kind == LOCK_EX) {
    const std::string pid = fmt::format("{}\n", ::getpid());
    // Only a courtesy for the message above: the lock itself does not depend on it.
    if (::ftruncate(fd, 0) == 0) [[maybe_unused]] const auto written = ::pwrite(fd, pid.data(), pid.size(), 0);
  }
  return fd;
}

}  // namespace

Result<Lock> Lock::take(const fs::path& out, const Shard& shard) {
  std::error_code error;
  fs::create_directories(out, error);
  if (error) {
    return fail(ErrorKind::refused,
                fmt::format("cannot make the folder {}: {}; give another with --out", out.string(), error.message()), error.value());
  }
  SPILLWAY_ASSIGN(const int shared, lock_file(out / "campaign.lock", shard.whole() ? LOCK_EX : LOCK_SH, out));
  if (shard.whole()) return Lock{shared, -1};
  const fs::path own_file = out / fmt::format("campaign.{}-of-{}.lock", shard.index, shard.count);
  auto own = lock_file(own_file, LOCK_EX, out);
  if (!own) {
    ::close(shared);
    return std::unexpected(std::move(own).error());
  }
  return Lock{shared, *own};
}

Lock::Lock(Lock&& other) noexcept
    : shared_fd_(std::exchange(other.shared_fd_, -1)), own_fd_(std::exchange(other.own_fd_, -1)) {}

Lock::~Lock() {
  if (own_fd_ >= 0) ::close(own_fd_);
  if (shared_fd_ >= 0) ::close(shared_fd_);
}

}  // namespace spillway::campaign
