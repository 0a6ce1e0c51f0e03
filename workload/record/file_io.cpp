#include "workload/record/file_io.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace spillway {

namespace {

/// Closes on the way out; `close` errors after a successful fsync carry no news about the data.
struct Fd {
  int fd = -1;
  explicit Fd(int n) : fd(n) {}
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() {
    if (fd >= 0) ::close(fd);
  }
};

std::unexpected<Error> system_failure(std::string_view tried, const std::filesystem::path& path, int number) {
  return fail(ErrorKind::refused, fmt::format("cannot {} {}: {}", tried, path.string(), std::strerror(number)), number);
}

}  // namespace

Result<std::string> read_file(const std::filesystem::path& path) {
  const Fd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0) {
    const int number = errno;
    const ErrorKind kind = number == ENOENT || number == ENOTDIR ? ErrorKind::bad_input : ErrorKind::refused;
    return fail(kind, fmt::format("cannot open {}: {}", path.string(), std::strerror(number)), number);
  }
  struct stat info {};
  if (::fstat(file.fd, &info) != 0) return system_failure("examine", path, errno);
  if (S_ISDIR(info.st_mode)) {
    return fail(ErrorKind::bad_input, fmt::format("{} is a folder, a file was expected", path.string()), EISDIR);
  }
  std::string content;
  char buffer[65536];
  while (true) {
    const ssize_t n = ::read(file.fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_failure("read", path, errno);
    if (n == 0) return content;
    content.append(buffer, static_cast<std::size_t>(n));
  }
}

Status write_file_atomically(const std::filesystem::path& path, std::string_view content) {
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path{"."};
  std::error_code made;
  std::filesystem::create_directories(folder, made);
  if (made) return system_failure("make the folder", folder, made.value());

  const std::filesystem::path temporary = fmt::format("{}.{}.tmp", path.string(), ::getpid());
  const auto give_up = [&](std::string_view tried, int number) {
    ::unlink(temporary.c_str());
    return system_failure(tried, temporary, number);
  };
  {
    const Fd file{::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)};
    if (file.fd < 0) return system_failure("create", temporary, errno);
    for (std::string_view rest = content; !rest.empty();) {
      const ssize_t n = ::write(file.fd, rest.data(), rest.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return give_up("write", errno);
      rest.remove_prefix(static_cast<std::size_t>(n));
    }
    if (::fsync(file.fd) != 0) return give_up("sync", errno);
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) return give_up("rename into place", errno);

  const Fd directory{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  // Some file systems refuse fsync on a folder (EINVAL); the file itself is safe by then.
  if (directory.fd >= 0) (void)::fsync(directory.fd);
  return {};
}

}  // namespace spillway
