#pragma once
/// Files for the measurements: opened with an error that says which, closed on every path.

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "sim/result.hpp"

namespace spillway::calibrate {

inline std::unexpected<Error> file_error(const char* what, const std::string& path) {
  return fail(ErrorKind::refused, fmt::format("calibrate: cannot {} {}: {}", what, path, std::strerror(errno)), errno);
}

class File {
 public:
  static Result<File> open(const std::string& path, int flags) {
    File file;
    file.fd_ = ::open(path.c_str(), flags | O_CLOEXEC, 0600);
    if (file.fd_ < 0) return file_error("open", path);
    return file;
  }
  File(File&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int fd() const { return fd_; }

 private:
  File() = default;
  int fd_ = -1;
};

}  // namespace spillway::calibrate
