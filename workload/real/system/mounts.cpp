#include "workload/real/system/mounts.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <thread>
#include <utility>

#include "workload/real/system/loop_device.hpp"
#include "workload/real/system/text_file.hpp"

namespace spillway::real {
namespace {

/// XFS_IOC_GOINGDOWN and XFS_FSOP_GOING_FLAGS_NOLOGFLUSH (xfs/xfs_fs.h, stable ABI); the header itself drags in too much.
constexpr unsigned long kXfsGoingDown = _IOR('X', 125, std::uint32_t);
constexpr std::uint32_t kNoLogFlush = 2;

std::string unescaped(std::string_view text) {  // mountinfo writes blanks as \040
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

constexpr std::pair<std::string_view, unsigned long> kFlags[] = {
    {"ro", MS_RDONLY},       {"noatime", MS_NOATIME},   {"nodiratime", MS_NODIRATIME}, {"relatime", MS_RELATIME},
    {"strictatime", MS_STRICTATIME}, {"nosuid", MS_NOSUID}, {"nodev", MS_NODEV},       {"noexec", MS_NOEXEC},
    {"sync", MS_SYNCHRONOUS}, {"dirsync", MS_DIRSYNC},  {"lazytime", MS_LAZYTIME}};

}  // namespace

std::vector<MountPoint> parse_mountinfo(std::string_view text) {
  std::vector<MountPoint> mounts;
  for (const auto line : split_lines(text)) {
    const auto words = split_words(line);
    std::size_t dash = 6;
    while (dash < words.size() && words[dash] != "-") ++dash;
    if (dash + 3 > words.size()) continue;
    mounts.push_back({std::string{words[2]}, unescaped(words[3]), unescaped(words[4]), std::string{words[5]},
                      std::string{words[dash + 1]}, unescaped(words[dash + 2]),
                      dash + 3 < words.size() ? std::string{words[dash + 3]} : std::string{}});
  }
  return mounts;
}

std::vector<MountPoint> mount_points() {
  const auto text = read_text("/proc/self/mountinfo");
  return text ? parse_mountinfo(*text) : std::vector<MountPoint>{};
}

std::optional<MountPoint> mounted_at(const std::string& point) {
  std::optional<MountPoint> found;
  for (auto& mount : mount_points())
    if (mount.point == point) found = std::move(mount);
  return found;
}

std::optional<MountPoint> mount_of(const std::string& path) {
  std::optional<MountPoint> found;
  for (auto& mount : mount_points()) {
    const bool holds = mount.point == "/" || path == mount.point || path.starts_with(mount.point + "/");
    if (holds && (!found || mount.point.size() >= found->point.size())) found = std::move(mount);
  }
  return found;
}

bool device_in_use(const std::string& device_path) {
  const auto name = block_name(device_path);
  for (const auto& mount : mount_points()) {
    if (!mount.source.starts_with("/dev/")) continue;
    if (mount.source == device_path || (name && block_name(mount.source) == name)) return true;
  }
  if (const auto swaps = read_text("/proc/swaps"))
    for (const auto line : split_lines(*swaps)) {
      const auto words = split_words(line);
      if (!words.empty() && words[0].starts_with("/dev/") && name && block_name(std::string{words[0]}) == name) return true;
    }
  return false;
}

Status mount_file_system(const std::string& source, const std::string& point, const std::string& type,
                         const std::string& options) {
  unsigned long flags = 0;
  std::string data;
  std::string_view rest = options;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    const auto word = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (word.empty() || word == "defaults" || word == "rw") continue;
    bool is_flag = false;
    for (const auto& [name, flag] : kFlags)
      if (word == name) {
        flags |= flag;
        is_flag = true;
      }
    if (!is_flag) data += (data.empty() ? "" : ",") + std::string{word};
  }
  if (::mount(source.c_str(), point.c_str(), type.c_str(), flags, data.empty() ? nullptr : data.c_str()) != 0)
    return fail(ErrorKind::refused,
                fmt::format("cannot mount {} ({}, options '{}') on {}: {}", source, type, options, point,
                            std::strerror(errno)),
                errno);
  return {};
}

Status unmount(const std::string& point, std::chrono::milliseconds limit) {
  const pid_t child = ::fork();
  if (child == 0) {
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    for (int attempt = 0; attempt < 100; ++attempt) {  // EBUSY for a moment after a process was killed
      if (::umount2(point.c_str(), UMOUNT_NOFOLLOW) == 0 || errno == EINVAL || errno == ENOENT) _exit(0);
      if (errno != EBUSY) _exit(errno);
      ::usleep(20'000);
    }
    _exit(EBUSY);
  }
  if (child < 0) return fail(ErrorKind::refused, "cannot fork to unmount", errno);
  const auto deadline = std::chrono::steady_clock::now() + limit;
  int status = 0;
  for (;;) {
    const pid_t done = ::waitpid(child, &status, WNOHANG);
    if (done == child) break;
    if (std::chrono::steady_clock::now() > deadline) {
      ::kill(child, SIGKILL);
      return fail(ErrorKind::refused, fmt::format("unmounting {} takes longer than {} ms", point, limit.count()), ETIMEDOUT);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
  }
  const int error = WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
  if (error != 0)
    return fail(ErrorKind::refused, fmt::format("cannot unmount {}: {}", point, std::strerror(error)), error);
  return {};
}

Status shut_down_xfs(const std::string& point) {
  const int fd = ::open(point.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return fail(ErrorKind::refused, fmt::format("cannot open {}: {}", point, std::strerror(errno)), errno);
  std::uint32_t how = kNoLogFlush;
  const int result = ::ioctl(fd, kXfsGoingDown, &how);
  const int error = errno;
  ::close(fd);
  if (result != 0)
    return fail(ErrorKind::refused, fmt::format("cannot shut down the XFS on {}: {}", point, std::strerror(error)), error);
  return {};
}

Status sync_file_system(const std::string& directory) {
  const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return fail(ErrorKind::refused, fmt::format("cannot open {}: {}", directory, std::strerror(errno)), errno);
  const int result = ::syncfs(fd);
  const int error = errno;
  ::close(fd);
  if (result != 0)
    return fail(ErrorKind::refused,
                fmt::format("syncfs of {} says {}: data that the untars wrote did not reach the disk", directory,
                            std::strerror(error)),
                error);
  return {};
}

}  // namespace spillway::real
