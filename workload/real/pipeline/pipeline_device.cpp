#include "workload/real/pipeline/pipeline_device.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "workload/real/system/process.hpp"

namespace spillway::real {
namespace {

/// assumed: large enough for seeks to be seeks, small enough for an image of a gigabyte.
constexpr std::int64_t kFileBytes = 256 * kMiB;
constexpr std::size_t kAlignment = 4096;

struct Free {
  void operator()(char* memory) const { std::free(memory); }
};
/// A buffer of the calling thread.
char* buffer_of(std::int64_t bytes) {
  static thread_local std::unique_ptr<char, Free> buffer;
  static thread_local std::int64_t have = 0;
  if (have < bytes) {
    const auto rounded = (static_cast<std::size_t>(bytes) + kAlignment - 1) / kAlignment * kAlignment;
    buffer.reset(static_cast<char*>(std::aligned_alloc(kAlignment, rounded)));
    std::memset(buffer.get(), 'p', rounded);
    have = bytes;
  }
  return buffer.get();
}

}  // namespace

Result<std::unique_ptr<PipelineDevice>> PipelineDevice::make(const PipelineSpec& spec, const std::string& directory) {
  std::unique_ptr<PipelineDevice> device{new PipelineDevice};
  device->path_ = directory + "/spillway-pipeline-file";
  device->request_ = spec.request.value();
  device->write_ = spec.rw.ends_with("write");
  device->random_ = spec.rw.starts_with("rand");
  device->blocks_ = std::max<std::int64_t>(1, kFileBytes / device->request_);
  const int flags = O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC;
  device->direct_ = device->request_ % static_cast<std::int64_t>(kAlignment) == 0;
  if (device->direct_) {
    device->fd_ = ::open(device->path_.c_str(), flags | O_DIRECT, 0600);
    if (device->fd_ < 0 && errno == EINVAL) device->direct_ = false;  // a file system without direct I/O
  }
  if (!device->direct_) device->fd_ = ::open(device->path_.c_str(), flags, 0600);
  if (device->fd_ < 0) return fail(ErrorKind::refused, fmt::format("cannot make {}: {}", device->path_, std::strerror(errno)), errno);
  if (!device->write_ || device->random_) {
    // What is read, and what is overwritten at random places, is there before the time is taken.
    constexpr std::int64_t kChunk = kMiB;
    for (std::int64_t at = 0; at < device->blocks_ * device->request_; at += kChunk)
      if (::pwrite(device->fd_, buffer_of(kChunk), static_cast<std::size_t>(kChunk), at) != kChunk)
        return fail(ErrorKind::refused, fmt::format("cannot fill {}: {}", device->path_, std::strerror(errno)), errno);
    if (::fdatasync(device->fd_) != 0) return fail(ErrorKind::refused, fmt::format("cannot sync {}: {}", device->path_, std::strerror(errno)), errno);
  }
  return device;
}

PipelineDevice::~PipelineDevice() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(path_.c_str());
}

void PipelineDevice::begin() {
  const std::scoped_lock lock{mutex_};
  if (under_way_++ == 0) since_ns_ = monotonic_ns();
}
void PipelineDevice::end() {
  const std::scoped_lock lock{mutex_};
  if (--under_way_ == 0) busy_ns_ += monotonic_ns() - since_ns_;
}

Status PipelineDevice::transfer(std::uint64_t random) {
  const std::int64_t block = random_ ? static_cast<std::int64_t>(random % static_cast<std::uint64_t>(blocks_)) : next_.fetch_add(1) % blocks_;
  char* buffer = buffer_of(request_);
  begin();
  const auto bytes = static_cast<std::size_t>(request_);
  const ssize_t done = write_ ? ::pwrite(fd_, buffer, bytes, block * request_) : ::pread(fd_, buffer, bytes, block * request_);
  const int error = errno;
  end();
  if (done == request_) return {};
  return fail(ErrorKind::refused, fmt::format("{} {} bytes of {} at {}: {}", write_ ? "writing" : "reading", request_, path_, block * request_, done < 0 ? std::strerror(error) : "cut short"), done < 0 ? error : EIO);
}

Status PipelineDevice::sync() {
  if (!write_ || ::fdatasync(fd_) == 0) return {};
  return fail(ErrorKind::refused, fmt::format("syncing {}: {}", path_, std::strerror(errno)), errno);
}

}  // namespace spillway::real
