#include "workload/extract/posix_sink.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace spillway::extract {
namespace {

/// Drop-behind works in steps of this, one step behind the writer: the pages have time to reach the device.
constexpr std::int64_t kDropStep = 8 * kMiB;

std::unexpected<Error> write_failed(int code) {
  return fail(ErrorKind::refused, fmt::format("Its data cannot be written: {}.", std::strerror(code)), code);
}

Status write_all(int fd, std::span<const std::byte> bytes, std::int64_t offset) {
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(fd, bytes.data(), bytes.size(), offset);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return write_failed(put < 0 ? errno : EIO);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
    offset += put;
  }
  return {};
}

}  // namespace

AlignedBuffer make_aligned_buffer(std::size_t bytes) {
  return AlignedBuffer{static_cast<std::byte*>(std::aligned_alloc(kDirectAlign, bytes))};
}

PosixSink::PosixSink(DataSinkOptions options) : options_(options) {}

void PosixSink::begin(int fd, bool direct, std::int64_t) {
  fd_ = fd;
  direct_ = direct;
  flag_is_on_ = false;
  pending_ = 0;
  pending_at_ = 0;
  dropped_ = 0;
  written_ = 0;
  written_direct_ = 0;
  if (direct_ && !buffer_) buffer_ = make_aligned_buffer(kCopyBytes);
}

Status PosixSink::switch_direct(bool on) {
  if (on == flag_is_on_) return {};
  const int flags = ::fcntl(fd_, F_GETFL);
  if (flags < 0 || ::fcntl(fd_, F_SETFL, on ? flags | O_DIRECT : flags & ~O_DIRECT) != 0) {
    if (!on) return write_failed(errno);
    direct_ = false;  // tmpfs and others have no direct I/O: buffered it is
    return {};
  }
  flag_is_on_ = on;
  return {};
}

void PosixSink::drop_written(std::int64_t end) {
  if (end - dropped_ < kDropStep) return;
  ::sync_file_range(fd_, dropped_, end - dropped_, SYNC_FILE_RANGE_WRITE);
  const std::int64_t behind = std::max<std::int64_t>(0, dropped_ - kDropStep);
  if (dropped_ > 0) {
    ::sync_file_range(fd_, behind, dropped_ - behind, SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
    ::posix_fadvise(fd_, behind, dropped_ - behind, POSIX_FADV_DONTNEED);
  }
  dropped_ = end;
}

/// Buffered.
Status PosixSink::put(std::span<const std::byte> bytes, std::int64_t offset) {
  SPILLWAY_TRY(switch_direct(false));
  SPILLWAY_TRY(write_all(fd_, bytes, offset));
  written_ += static_cast<std::int64_t>(bytes.size());
  if (options_.drop_behind) drop_written(offset + static_cast<std::int64_t>(bytes.size()));
  return {};
}

/// What waits in the buffer: its aligned part directly, the rest through the page cache.
Status PosixSink::flush() {
  if (pending_ == 0) return {};
  const std::span<const std::byte> all(buffer_.get(), pending_);
  pending_ = 0;
  std::size_t aligned = pending_at_ % kDirectAlign == 0 ? all.size() / kDirectAlign * kDirectAlign : 0;
  if (aligned > 0) {
    SPILLWAY_TRY(switch_direct(true));
    if (!direct_) {
      aligned = 0;
    } else {
      const Status done = write_all(fd_, all.first(aligned), pending_at_);
      // A device or file system that sets O_DIRECT but refuses the write: this file goes through the page cache.
      if (!done && done.error().sys_errno == EINVAL) {
        direct_ = false;
        aligned = 0;
      } else if (!done) {
        return done;
      }
      written_ += static_cast<std::int64_t>(aligned);
      written_direct_ += static_cast<std::int64_t>(aligned);
    }
  }
  if (aligned < all.size()) return put(all.subspan(aligned), pending_at_ + static_cast<std::int64_t>(aligned));
  return {};
}

Status PosixSink::put_direct(std::span<const std::byte> bytes, std::int64_t offset) {
  while (!bytes.empty()) {
    if (pending_ > 0 && offset != pending_at_ + static_cast<std::int64_t>(pending_)) SPILLWAY_TRY(flush());
    if (pending_ == 0) {
      if (!direct_) return put(bytes, offset);
      pending_at_ = offset;
      if (const std::int64_t ahead = offset % kDirectAlign; ahead != 0) {
        // A run that starts inside a block: its head goes through the page cache.
        const auto head = std::min(bytes.size(), static_cast<std::size_t>(kDirectAlign - ahead));
        SPILLWAY_TRY(put(bytes.first(head), offset));
        bytes = bytes.subspan(head);
        offset += static_cast<std::int64_t>(head);
        continue;
      }
    }
    const std::size_t take = std::min(bytes.size(), kCopyBytes - pending_);
    std::memcpy(buffer_.get() + pending_, bytes.data(), take);
    pending_ += take;
    bytes = bytes.subspan(take);
    offset += static_cast<std::int64_t>(take);
    if (pending_ == kCopyBytes) SPILLWAY_TRY(flush());
  }
  return {};
}

Status PosixSink::write(std::span<const std::byte> bytes, std::int64_t offset) {
  return direct_ ? put_direct(bytes, offset) : put(bytes, offset);
}

Status PosixSink::write_stored(const StoredData& stored, std::span<const Run> runs) {
  const Run whole{0, stored.length};
  if (runs.empty()) runs = {&whole, 1};
  if (!buffer_) buffer_ = make_aligned_buffer(kCopyBytes);
  std::int64_t from = stored.offset;
  for (const Run& run : runs) {
    std::int64_t done = 0;
    while (done < run.length) {
      if (options_.stop && options_.stop()) return fail(ErrorKind::refused, std::string(kInterrupted), EINTR);
      const auto want = static_cast<std::size_t>(std::min<std::int64_t>(run.length - done, static_cast<std::int64_t>(kCopyBytes)));
      const ssize_t got = ::pread(stored.archive_fd, buffer_.get(), want, from);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0)
        return fail(ErrorKind::refused, fmt::format("The archive cannot be read: {}.", std::strerror(errno)), errno);
      if (got == 0) return fail(ErrorKind::bad_input, "The archive ends inside its data.");
      const std::span<const std::byte> piece(buffer_.get(), static_cast<std::size_t>(got));
      const std::int64_t offset = run.offset + done;
      if (direct_ && offset % kDirectAlign == 0) {
        // The buffer is free for this: nothing is pending between pieces.
        pending_at_ = offset;
        pending_ = piece.size();
        SPILLWAY_TRY(flush());
      } else {
        SPILLWAY_TRY(put(piece, offset));
      }
      if (options_.drop_behind) ::posix_fadvise(stored.archive_fd, from, got, POSIX_FADV_DONTNEED);
      done += got;
      from += got;
    }
  }
  return {};
}

Status PosixSink::finish() {
  SPILLWAY_TRY(flush());
  if (options_.drop_behind && dropped_ > 0) ::posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED);
  return {};
}

}  // namespace spillway::extract
