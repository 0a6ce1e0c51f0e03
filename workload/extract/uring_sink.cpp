#include "workload/extract/uring_sink.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <liburing.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "workload/extract/posix_sink.hpp"

namespace spillway::extract {
namespace {

/// One direct write, and how many may be in flight. cited: anza-xyz/agave fs/src/io_uring/file_creator.rs settled on
/// 512 KiB; eight of them fill a device's queue as far as its request size matters.
constexpr std::size_t kWriteBytes = 512 << 10;
constexpr unsigned kInFlight = 8;

class UringSink final : public DataSink {
 public:
  explicit UringSink(DataSinkOptions options) : buffered_(options) {
    usable_ = ::io_uring_queue_init(kInFlight * 2, &ring_, 0) == 0;
    if (!usable_) return;
    memory_ = make_aligned_buffer(kWriteBytes * kInFlight);
    std::array<iovec, kInFlight> vectors{};
    for (unsigned i = 0; i < kInFlight; ++i) vectors[i] = {memory_.get() + i * kWriteBytes, kWriteBytes};
    // Registering saves pinning the pages for each write; where locked memory is limited it works without.
    registered_ = ::io_uring_register_buffers(&ring_, vectors.data(), kInFlight) == 0;
    for (unsigned i = 0; i < kInFlight; ++i) free_.push_back(i);
  }
  ~UringSink() override {
    if (!usable_) return;
    (void)drain();
    ::io_uring_queue_exit(&ring_);
  }

  void begin(int fd, bool direct, std::int64_t size) override {
    fd_ = fd;
    direct_ = direct && usable_;
    buffered_.begin(fd, direct && !usable_, size);
    written_ = written_direct_ = 0;
    flag_is_on_ = false;
    filling_ = -1;
    filled_ = 0;
    refused_.reset();
    // Writes beyond the end of an XFS file exclude each other; inside it they go side by side. (A failed file then has
    // its full size; it is reported as partial.)
    if (direct_ && size > static_cast<std::int64_t>(kWriteBytes) && ::ftruncate(fd, size) != 0) direct_ = false;
  }

  Status write(std::span<const std::byte> bytes, std::int64_t offset) override {
    if (!direct_) return put_buffered(bytes, offset);
    while (!bytes.empty()) {
      if (filling_ >= 0 && offset != fill_at_ + static_cast<std::int64_t>(filled_)) SPILLWAY_TRY(flush());
      if (filling_ < 0) {
        if (const std::int64_t into = offset % kDirectAlign; into != 0) {
          // A run that starts inside a block: its head goes through the page cache.
          const auto head = std::min(bytes.size(), static_cast<std::size_t>(kDirectAlign - into));
          SPILLWAY_TRY(put_tail(bytes.first(head), offset));
          bytes = bytes.subspan(head);
          offset += static_cast<std::int64_t>(head);
          continue;
        }
        SPILLWAY_TRY(take_buffer());
        fill_at_ = offset;
        filled_ = 0;
      }
      const std::size_t take = std::min(bytes.size(), kWriteBytes - filled_);
      std::memcpy(buffer(static_cast<unsigned>(filling_)) + filled_, bytes.data(), take);
      filled_ += take;
      bytes = bytes.subspan(take);
      offset += static_cast<std::int64_t>(take);
      if (filled_ == kWriteBytes) SPILLWAY_TRY(submit_full());
    }
    return {};
  }

  Status write_stored(const StoredData& stored, std::span<const Run> runs) override {
    if (!direct_) {
      const Status done = buffered_.write_stored(stored, runs);
      written_ = buffered_.written();
      return done;
    }
    const Run whole{0, stored.length};
    if (runs.empty()) runs = {&whole, 1};
    std::int64_t from = stored.offset;
    for (const Run& run : runs) {
      std::int64_t done = 0;
      while (done < run.length) {
        if (filling_ >= 0 && run.offset + done != fill_at_ + static_cast<std::int64_t>(filled_)) SPILLWAY_TRY(flush());
        const std::int64_t into = (run.offset + done) % kDirectAlign;
        std::array<std::byte, kDirectAlign> head;
        std::span<std::byte> room;
        if (filling_ < 0 && into != 0) {
          room = std::span<std::byte>(head).first(static_cast<std::size_t>(kDirectAlign - into));
        } else {
          if (filling_ < 0) {
            SPILLWAY_TRY(take_buffer());
            fill_at_ = run.offset + done;
            filled_ = 0;
          }
          // Straight from the archive into the registered buffer.
          room = {buffer(static_cast<unsigned>(filling_)) + filled_, kWriteBytes - filled_};
        }
        room = room.first(std::min(room.size(), static_cast<std::size_t>(run.length - done)));
        const ssize_t got = ::pread(stored.archive_fd, room.data(), room.size(), from);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail(ErrorKind::refused, fmt::format("The archive cannot be read: {}.", std::strerror(errno)), errno);
        if (got == 0) return fail(ErrorKind::bad_input, "The archive ends inside its data.");
        if (filling_ < 0) {
          SPILLWAY_TRY(put_tail(room.first(static_cast<std::size_t>(got)), run.offset + done));
        } else {
          filled_ += static_cast<std::size_t>(got);
          if (filled_ == kWriteBytes) SPILLWAY_TRY(submit_full());
        }
        done += got;
        from += got;
      }
    }
    return {};
  }

  Status finish() override {
    if (!direct_) {
      const Status done = buffered_.finish();
      written_ = buffered_.written();
      return done;
    }
    Status done = flush();
    const Status drained = drain();
    if (done && !drained) done = drained;
    return done;
  }

 private:
  std::byte* buffer(unsigned i) { return memory_.get() + i * kWriteBytes; }

  Status put_buffered(std::span<const std::byte> bytes, std::int64_t offset) {
    const Status done = buffered_.write(bytes, offset);
    written_ = buffered_.written();
    return done;
  }

  Status switch_direct(bool on) {
    if (on == flag_is_on_) return {};
    const int flags = ::fcntl(fd_, F_GETFL);
    if (flags < 0 || ::fcntl(fd_, F_SETFL, on ? flags | O_DIRECT : flags & ~O_DIRECT) != 0)
      return fail(ErrorKind::refused, fmt::format("Direct I/O cannot be switched: {}.", std::strerror(errno)), errno);
    flag_is_on_ = on;
    return {};
  }

  /// Buffered, with nothing in flight: the descriptor's flag counts when a write is issued.
  Status put_tail(std::span<const std::byte> bytes, std::int64_t offset) {
    SPILLWAY_TRY(drain());
    SPILLWAY_TRY(switch_direct(false));
    while (!bytes.empty()) {
      const ssize_t put = ::pwrite(fd_, bytes.data(), bytes.size(), offset);
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0) {
        const int code = put < 0 ? errno : EIO;
        return fail(ErrorKind::refused, fmt::format("Its data cannot be written: {}.", std::strerror(code)), code);
      }
      written_ += put;
      bytes = bytes.subspan(static_cast<std::size_t>(put));
      offset += put;
    }
    return {};
  }

  Status take_buffer() {
    while (free_.empty()) SPILLWAY_TRY(reap(true));
    filling_ = static_cast<int>(free_.back());
    free_.pop_back();
    return {};
  }

  /// The filled buffer, a multiple of the alignment long.
  Status submit_full() {
    const auto i = static_cast<unsigned>(filling_);
    filling_ = -1;
    const Status on = switch_direct(true);
    if (!on) {
      // tmpfs and others have no direct I/O: this and the rest go through the page cache.
      free_.push_back(i);
      return put_tail({buffer(i), filled_}, fill_at_);
    }
    writes_[i] = {fill_at_, filled_};
    io_uring_sqe* const sqe = ::io_uring_get_sqe(&ring_);
    if (registered_)
      ::io_uring_prep_write_fixed(sqe, fd_, buffer(i), static_cast<unsigned>(filled_), static_cast<__u64>(fill_at_), static_cast<int>(i));
    else
      ::io_uring_prep_write(sqe, fd_, buffer(i), static_cast<unsigned>(filled_), static_cast<__u64>(fill_at_));
    sqe->user_data = i;
    const int code = ::io_uring_submit(&ring_);
    if (code < 0) {
      free_.push_back(i);
      return fail(ErrorKind::refused, fmt::format("io_uring does not take the write: {}.", std::strerror(-code)), -code);
    }
    ++in_flight_;
    return reap(false);
  }

  Status flush() {
    if (filling_ < 0) return {};
    const std::size_t aligned = filled_ / static_cast<std::size_t>(kDirectAlign) * static_cast<std::size_t>(kDirectAlign);
    const std::size_t rest = filled_ - aligned;
    const auto i = static_cast<unsigned>(filling_);
    const std::int64_t rest_at = fill_at_ + static_cast<std::int64_t>(aligned);
    std::array<std::byte, kDirectAlign> tail;
    std::memcpy(tail.data(), buffer(i) + aligned, rest);
    if (aligned > 0) {
      filled_ = aligned;
      SPILLWAY_TRY(submit_full());
    } else {
      free_.push_back(i);
      filling_ = -1;
    }
    if (rest > 0) return put_tail(std::span<const std::byte>(tail).first(rest), rest_at);
    return {};
  }

  Status reap(bool wait) {
    while (in_flight_ > 0) {
      io_uring_cqe* cqe = nullptr;
      const int code = wait ? ::io_uring_wait_cqe(&ring_, &cqe) : ::io_uring_peek_cqe(&ring_, &cqe);
      if (code == -EINTR) continue;
      if (code < 0 || cqe == nullptr) break;
      const auto i = static_cast<unsigned>(cqe->user_data);
      const int result = cqe->res;
      ::io_uring_cqe_seen(&ring_, cqe);
      --in_flight_;
      wait = false;
      Pending pending = writes_[i];
      if (result == static_cast<int>(pending.length)) {
        written_ += result;
        written_direct_ += result;
        free_.push_back(i);
        continue;
      }
      if (result >= 0 || result == -EINVAL || result == -EAGAIN) {
        // Short, or not as this device wants it: the rest through the page cache, when nothing is in flight.
        const auto done = static_cast<std::size_t>(std::max(0, result));
        written_ += static_cast<std::int64_t>(done);
        written_direct_ += static_cast<std::int64_t>(done);
        std::vector<std::byte> rest(buffer(i) + done, buffer(i) + pending.length);
        free_.push_back(i);
        leftovers_.push_back({pending.offset + static_cast<std::int64_t>(done), std::move(rest)});
        continue;
      }
      free_.push_back(i);
      if (!refused_)
        refused_ = Error{ErrorKind::refused, -result, fmt::format("Its data cannot be written: {}.", std::strerror(-result))};
    }
    if (refused_) return std::unexpected(*refused_);
    return {};
  }

  Status drain() {
    Status done;
    while (in_flight_ > 0)
      if (Status one = reap(true); !one) done = one;
    while (!leftovers_.empty() && done) {
      const Leftover one = std::move(leftovers_.back());
      leftovers_.pop_back();
      done = put_tail(one.bytes, one.offset);
    }
    leftovers_.clear();
    if (done && refused_) return std::unexpected(*refused_);
    return done;
  }

  struct Pending {
    std::int64_t offset = 0;
    std::size_t length = 0;
  };
  struct Leftover {
    std::int64_t offset = 0;
    std::vector<std::byte> bytes;
  };

  PosixSink buffered_;
  io_uring ring_{};
  bool usable_ = false;
  bool registered_ = false;
  AlignedBuffer memory_;
  std::vector<unsigned> free_;
  std::array<Pending, kInFlight> writes_{};
  std::vector<Leftover> leftovers_;
  unsigned in_flight_ = 0;
  std::optional<Error> refused_;
  int fd_ = -1;
  bool direct_ = false;
  bool flag_is_on_ = false;
  int filling_ = -1;           ///< the buffer that is being filled
  std::size_t filled_ = 0;
  std::int64_t fill_at_ = 0;
};

}  // namespace

std::optional<std::string> uring_refusal() {
  io_uring ring{};
  const int code = ::io_uring_queue_init(4, &ring, 0);
  if (code < 0)
    return fmt::format("io_uring is not allowed or not there ({}; see kernel.io_uring_disabled): the posix engine is used.", std::strerror(-code));
  ::io_uring_queue_exit(&ring);
  return std::nullopt;
}

std::unique_ptr<DataSink> make_uring_sink(DataSinkOptions options) { return std::make_unique<UringSink>(options); }

}  // namespace spillway::extract
