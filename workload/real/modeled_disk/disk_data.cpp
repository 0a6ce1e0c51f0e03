#include "workload/real/modeled_disk/disk_data.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace spillway::real {

namespace {

constexpr std::int64_t kPage = 4096;

class MemoryData final : public DiskData {
 public:
  MemoryData(char* base, std::size_t size) : base_(base), size_(size) {}
  ~MemoryData() override { munmap(base_, size_); }
  int write(const char* from, std::size_t size, std::int64_t offset) override {
    std::memcpy(base_ + offset, from, size);
    return 0;
  }
  const char* read(std::size_t, std::int64_t offset) override { return base_ + offset; }
  int discard(std::int64_t size, std::int64_t offset) override {
    const std::int64_t from = (offset + kPage - 1) / kPage * kPage, to = (offset + size) / kPage * kPage;
    if (from >= to) {
      std::memset(base_ + offset, 0, static_cast<std::size_t>(size));
      return 0;
    }
    std::memset(base_ + offset, 0, static_cast<std::size_t>(from - offset));
    std::memset(base_ + to, 0, static_cast<std::size_t>(offset + size - to));
    return madvise(base_ + from, static_cast<std::size_t>(to - from), MADV_DONTNEED) == 0 ? 0 : errno;
  }

 private:
  char* base_;
  std::size_t size_;
};

/// An aligned buffer of the thread's own, grown as needed.
char* bounce_buffer(std::size_t size) {
  struct Buffer {
    char* data = nullptr;
    std::size_t size = 0;
    ~Buffer() { std::free(data); }
  };
  thread_local Buffer buffer;
  if (buffer.size < size) {
    std::free(buffer.data);
    buffer.size = (size + static_cast<std::size_t>(kPage) - 1) / static_cast<std::size_t>(kPage) * static_cast<std::size_t>(kPage);
    buffer.data = static_cast<char*>(std::aligned_alloc(static_cast<std::size_t>(kPage), buffer.size));
    if (buffer.data == nullptr) buffer.size = 0;
  }
  return buffer.data;
}

class FileData final : public DiskData {
 public:
  explicit FileData(int fd) : fd_(fd) {}
  ~FileData() override { close(fd_); }
  int write(const char* from, std::size_t size, std::int64_t offset) override {
    char* buffer = bounce_buffer(size);
    if (buffer == nullptr) return ENOMEM;
    std::memcpy(buffer, from, size);
    return all(size, offset, [&](std::size_t done) {
      return pwrite(fd_, buffer + done, size - done, offset + static_cast<std::int64_t>(done));
    });
  }
  const char* read(std::size_t size, std::int64_t offset) override {
    char* buffer = bounce_buffer(size);
    if (buffer == nullptr) {
      errno = ENOMEM;
      return nullptr;
    }
    const int error = all(size, offset, [&](std::size_t done) {
      return pread(fd_, buffer + done, size - done, offset + static_cast<std::int64_t>(done));
    });
    errno = error;
    return error == 0 ? buffer : nullptr;
  }
  int discard(std::int64_t size, std::int64_t offset) override {
    return fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, size) == 0 ? 0 : errno;
  }

 private:
  template <class Step>
  static int all(std::size_t size, std::int64_t, Step step) {
    for (std::size_t done = 0; done < size;) {
      const ssize_t n = step(done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return errno;
      if (n == 0) return EIO;
      done += static_cast<std::size_t>(n);
    }
    return 0;
  }
  int fd_;
};

}  // namespace

Result<std::unique_ptr<DiskData>> memory_data(Bytes size, bool prefault) {
  const auto length = static_cast<std::size_t>(size.value());
  void* base = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) {
    return fail(ErrorKind::refused, fmt::format("No {} bytes of address space for the modeled disk; make it smaller or "
                                                "give it a data file.", size.value()), errno);
  }
  madvise(base, length, MADV_HUGEPAGE);  // fewer faults while it fills; a wish only
  madvise(base, length, MADV_DONTDUMP);
  if (prefault) {
    for (std::size_t at = 0; at < length; at += static_cast<std::size_t>(kPage)) static_cast<volatile char*>(base)[at] = 0;
  }
  return std::make_unique<MemoryData>(static_cast<char*>(base), length);
}

Result<std::unique_ptr<DiskData>> file_data(Bytes size, const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_DIRECT | O_CLOEXEC, 0600);
  if (fd < 0) {
    return fail(ErrorKind::refused, fmt::format("Cannot make the modeled disk's data file {} for direct I/O: {}.", path,
                                                std::strerror(errno)), errno);
  }
  unlink(path.c_str());
  if (ftruncate(fd, size.value()) != 0) {
    const int error = errno;
    close(fd);
    return fail(ErrorKind::refused, fmt::format("Cannot size {} to {} bytes: {}.", path, size.value(),
                                                std::strerror(error)), error);
  }
  return std::make_unique<FileData>(fd);
}

}  // namespace spillway::real
