#include "workload/extract/decompress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>

#include "workload/extract/decoder.hpp"
#include "workload/extract/tar_reader.hpp"
#include "workload/extract/thread_cpu.hpp"

namespace spillway::extract {
namespace {

constexpr std::size_t kInputBytes = 1 << 18;

class ThreadedSource final : public DecompressedSource {
 public:
  ThreadedSource(Fd file, std::unique_ptr<Decoder> decoder, std::size_t chunks)
      : file_(std::move(file)), decoder_(std::move(decoder)), pool_(chunks, kWindowBytes) {
    thread_ = std::thread([this] { run(); });
  }
  ~ThreadedSource() override { stop(); }

  Result<std::shared_ptr<Chunk>> next() override {
    if (held_) return std::exchange(held_, nullptr);
    std::unique_lock lock(mutex_);
    if (ready_.empty() && !ended_ && before_wait_) {
      lock.unlock();
      before_wait_();
      lock.lock();
    }
    changed_.wait(lock, [this] { return !ready_.empty() || ended_; });
    if (!ready_.empty()) {
      auto chunk = std::move(ready_.front());
      ready_.pop_front();
      return chunk;
    }
    if (error_) return std::unexpected(*error_);
    return nullptr;
  }

  bool starts_with_tar() override {
    auto first = next();
    if (!first) return true;  // damaged at once: the reader will say so
    held_ = *first;
    return !held_ || TarReader::recognises({held_->bytes.get(), std::min(held_->length, TarReader::kBeginning)});
  }

  std::optional<ThreadCpu> finish() override {
    stop();
    return cpu_;
  }

 private:
  void stop() {
    pool_.close();
    if (thread_.joinable()) thread_.join();
  }

  void put(std::shared_ptr<Chunk> chunk) {
    const std::lock_guard lock(mutex_);
    ready_.push_back(std::move(chunk));
    changed_.notify_one();
  }

  void end(std::optional<Error> error) {
    const std::lock_guard lock(mutex_);
    error_ = std::move(error);
    ended_ = true;
    changed_.notify_one();
  }

  void run() {
    const ThreadClock clock;
    end(decompress());
    cpu_ = clock.read("decompressor");
  }

  std::optional<Error> decompress() {
    const AlignedBuffer buffer = make_aligned_buffer(kInputBytes);
    std::span<const std::byte> in;
    bool last = false;
    std::int64_t produced = 0;
    std::int64_t read_at = 0;
    for (;;) {
      auto chunk = pool_.take();
      if (!chunk) return std::nullopt;  // nobody reads any more
      std::span<std::byte> out(chunk->bytes.get(), pool_.chunk_bytes());
      bool finished = false;
      std::optional<Error> error;
      while (!out.empty() && !finished && !error) {
        if (in.empty() && !last) {
          const ssize_t got = ::pread(file_.get(), buffer.get(), kInputBytes, read_at);
          if (got < 0 && errno == EINTR) continue;
          if (got < 0) {
            error = Error{ErrorKind::refused, errno, fmt::format("The archive cannot be read: {}.", std::strerror(errno))};
            break;
          }
          last = got == 0;
          read_at += got;
          in = {buffer.get(), static_cast<std::size_t>(got)};
        }
        const std::size_t in_before = in.size();
        const std::size_t out_before = out.size();
        auto done = decoder_->step(in, out, last);
        if (!done) error = std::move(done).error();
        else if (*done) finished = true;
        else if (last && in.size() == in_before && out.size() == out_before) {
          // No progress is possible any more.
          finished = true;
          if (!decoder_->at_boundary())
            error = Error{ErrorKind::bad_input, 0, fmt::format("The compressed archive ends early, at byte {} of the file.", read_at)};
        }
      }
      chunk->length = pool_.chunk_bytes() - out.size();
      chunk->offset = produced;
      produced += static_cast<std::int64_t>(chunk->length);
      if (chunk->length > 0) put(std::move(chunk));
      if (error || finished) return error;
    }
  }

  Fd file_;
  std::unique_ptr<Decoder> decoder_;
  ChunkPool pool_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Chunk>> ready_;
  bool ended_ = false;
  std::optional<Error> error_;
  std::shared_ptr<Chunk> held_;
  ThreadCpu cpu_;
  std::thread thread_;
};

}  // namespace

Compression compression_of(std::span<const std::byte> first) {
  const std::string_view text(reinterpret_cast<const char*>(first.data()), first.size());
  using namespace std::string_view_literals;
  if (text.starts_with("\x1f\x8b"sv)) return Compression::gzip;
  if (text.starts_with("\x28\xb5\x2f\xfd"sv)) return Compression::zstd;
  if (text.starts_with("\xfd" "7zXZ\0"sv)) return Compression::xz;
  if (text.starts_with("\x04\x22\x4d\x18"sv)) return Compression::lz4;
  if (text.starts_with("BZh"sv)) return Compression::bzip2;
  return Compression::none;
}

Result<std::unique_ptr<DecompressedSource>> decompressed_source(Fd file, std::span<const std::byte> first,
                                                                Bytes buffer_bytes) {
  auto decoder = make_decoder(compression_of(first));
  if (!decoder) return nullptr;
  const auto chunks = std::max<std::int64_t>(4, buffer_bytes.value() / static_cast<std::int64_t>(kWindowBytes));
  return std::make_unique<ThreadedSource>(std::move(file), std::move(decoder), static_cast<std::size_t>(chunks));
}

}  // namespace spillway::extract
