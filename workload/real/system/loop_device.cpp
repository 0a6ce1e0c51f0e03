#include "workload/real/system/loop_device.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "workload/real/system/text_file.hpp"

namespace spillway::real {
namespace {

/// LOOP_CONFIGURE's argument, for headers older than the kernel (linux/loop.h, since 5.8).
constexpr unsigned long kLoopConfigure = 0x4C0A;

Result<int> open_control() {
  const int fd = ::open("/dev/loop-control", O_RDWR | O_CLOEXEC);
  if (fd < 0)
    return fail(errno == ENOENT ? ErrorKind::unsupported : ErrorKind::refused,
                fmt::format("cannot open /dev/loop-control: {} (needs root and the loop driver: modprobe loop)",
                            std::strerror(errno)),
                errno);
  return fd;
}

}  // namespace

Result<int> unused_loop_number(int from) {
  for (int number = from; number < from + 4096; ++number)
    if (!exists(fmt::format("/sys/block/loop{}", number))) return number;
  return fail(ErrorKind::refused, "no unused loop device number");
}

Status add_loop(int number) {
  SPILLWAY_ASSIGN(const int control, open_control());
  const int made = ::ioctl(control, LOOP_CTL_ADD, number);
  const int error = errno;
  ::close(control);
  if (made < 0)
    return fail(ErrorKind::refused, fmt::format("cannot add /dev/loop{}: {}", number, std::strerror(error)), error);
  // devtmpfs makes the node at once; a udev-managed /dev may take a moment.
  const std::string path = fmt::format("/dev/loop{}", number);
  for (int wait = 0; wait < 200 && !exists(path); ++wait) std::this_thread::sleep_for(std::chrono::milliseconds{5});
  return {};
}

Status remove_loop(int number) {
  if (!exists(fmt::format("/sys/block/loop{}", number))) return {};
  SPILLWAY_ASSIGN(const int control, open_control());
  int error = 0;
  for (int attempt = 0; attempt < 100; ++attempt) {  // EBUSY while udev or a closing file still holds it
    error = ::ioctl(control, LOOP_CTL_REMOVE, number) < 0 ? errno : 0;
    if (error != EBUSY) break;
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
  }
  ::close(control);
  if (error != 0 && error != ENODEV)
    return fail(ErrorKind::refused, fmt::format("cannot remove /dev/loop{}: {}", number, std::strerror(error)), error);
  return {};
}

Status attach_loop(int number, const std::string& backing, bool direct, std::uint32_t block_size) {
  const std::string path = fmt::format("/dev/loop{}", number);
  const int device = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (device < 0)
    return fail(ErrorKind::refused, fmt::format("cannot open {}: {}", path, std::strerror(errno)), errno);
  const int file = ::open(backing.c_str(), O_RDWR | O_CLOEXEC | (direct ? O_DIRECT : 0));
  if (file < 0) {
    const int error = errno;
    ::close(device);
    return fail(ErrorKind::refused, fmt::format("cannot open {}{}: {}", backing, direct ? " for direct I/O" : "",
                                                std::strerror(error)),
                error);
  }
  struct {
    std::uint32_t fd;
    std::uint32_t block_size;
    loop_info64 info;
    std::uint64_t reserved[8];
  } config{};
  config.fd = static_cast<std::uint32_t>(file);
  config.block_size = block_size;
  config.info.lo_flags = direct ? LO_FLAGS_DIRECT_IO : 0;
  std::strncpy(reinterpret_cast<char*>(config.info.lo_file_name), backing.c_str(), LO_NAME_SIZE - 1);
  const int result = ::ioctl(device, kLoopConfigure, &config);
  const int error = errno;
  ::close(file);
  ::close(device);
  if (result < 0)
    return fail(ErrorKind::refused, fmt::format("cannot attach {} to {}: {}", backing, path, std::strerror(error)), error);
  return {};
}

Status detach_loop(int number) {
  const std::string path = fmt::format("/dev/loop{}", number);
  if (!loop_backing(number)) return {};
  const int device = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (device < 0) {
    if (errno == ENOENT || errno == ENXIO) return {};
    return fail(ErrorKind::refused, fmt::format("cannot open {}: {}", path, std::strerror(errno)), errno);
  }
  const int result = ::ioctl(device, LOOP_CLR_FD, 0);
  const int error = errno;
  ::close(device);
  if (result < 0 && error != ENXIO)
    return fail(ErrorKind::refused, fmt::format("cannot detach {}: {}", path, std::strerror(error)), error);
  // Since 5.x the last close does the work; wait until it has.
  for (int wait = 0; wait < 250 && loop_backing(number); ++wait) std::this_thread::sleep_for(std::chrono::milliseconds{4});
  if (loop_backing(number)) return fail(ErrorKind::refused, fmt::format("{} is still in use", path), EBUSY);
  return {};
}

std::optional<std::string> loop_backing(int number) {
  const auto line = read_line(fmt::format("/sys/block/loop{}/loop/backing_file", number));
  if (!line || line->empty()) return std::nullopt;
  return *line;
}

bool loop_is_direct(int number) {
  return read_number(fmt::format("/sys/block/loop{}/loop/dio", number)).value_or(0) == 1;
}

std::optional<std::string> device_number(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || !S_ISBLK(info.st_mode)) return std::nullopt;
  return fmt::format("{}:{}", major(info.st_rdev), minor(info.st_rdev));
}

std::optional<std::string> block_name(const std::string& path) {
  const auto number = device_number(path);
  if (!number) return std::nullopt;
  char resolved[PATH_MAX];
  if (::realpath(("/sys/dev/block/" + *number).c_str(), resolved) == nullptr) return std::nullopt;
  std::string place = resolved;
  if (exists(place + "/partition")) place.resize(place.rfind('/'));
  return place.substr(place.rfind('/') + 1);
}

}  // namespace spillway::real
