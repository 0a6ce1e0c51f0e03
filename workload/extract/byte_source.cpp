#include "workload/extract/byte_source.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace spillway::extract {

ChunkPool::ChunkPool(std::size_t chunks, std::size_t chunk_bytes)
    : shared_(std::make_shared<Shared>()), chunk_bytes_(chunk_bytes) {
  shared_->unmade = chunks;
}

std::shared_ptr<Chunk> ChunkPool::take(const std::function<void()>& before_wait) {
  std::unique_ptr<Chunk> chunk;
  {
    std::unique_lock lock(shared_->mutex);
    if (shared_->free.empty() && shared_->unmade == 0 && before_wait) {
      lock.unlock();
      before_wait();
      lock.lock();
    }
    shared_->returned.wait(lock, [&] { return !shared_->free.empty() || shared_->unmade > 0 || shared_->closed; });
    if (shared_->closed) return nullptr;
    if (!shared_->free.empty()) {
      chunk = std::move(shared_->free.back());
      shared_->free.pop_back();
    } else {
      --shared_->unmade;
    }
  }
  if (!chunk) {
    chunk = std::make_unique<Chunk>();
    chunk->bytes = make_aligned_buffer(chunk_bytes_);
  }
  chunk->length = 0;
  return {chunk.release(), [shared = shared_](Chunk* back) {
            const std::lock_guard lock(shared->mutex);
            shared->free.emplace_back(back);
            shared->returned.notify_one();
          }};
}

void ChunkPool::close() {
  const std::lock_guard lock(shared_->mutex);
  shared_->closed = true;
  shared_->returned.notify_all();
}

namespace {

class FileSource final : public ByteSource {
 public:
  FileSource(Fd file, std::int64_t size, std::size_t chunks, bool drop_behind)
      : file_(std::move(file)), size_(size), pool_(chunks, kWindowBytes), drop_behind_(drop_behind) {
    ::posix_fadvise(file_.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  }

  Result<std::shared_ptr<Chunk>> next() override {
    auto chunk = pool_.take(before_wait_);
    std::size_t want = kWindowBytes;
    if (align_ >= 0) {
      const auto into = static_cast<std::size_t>((at_ - align_) % static_cast<std::int64_t>(kWindowBytes));
      if (at_ >= align_ && into % kBlockBytes == 0) want = kWindowBytes - into;
      align_ = -1;
    }
    chunk->offset = at_;
    while (chunk->length < want) {
      const ssize_t got =
          ::pread(file_.get(), chunk->bytes.get() + chunk->length, want - chunk->length, at_);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0)
        return fail(ErrorKind::refused, fmt::format("The archive cannot be read at byte {}: {}.", at_, std::strerror(errno)), errno);
      if (got == 0) break;
      chunk->length += static_cast<std::size_t>(got);
      at_ += got;
    }
    if (drop_behind_ && chunk->length > 0)
      ::posix_fadvise(file_.get(), chunk->offset, static_cast<off_t>(chunk->length), POSIX_FADV_DONTNEED);
    if (chunk->length == 0) return nullptr;
    return chunk;
  }

  bool seek(std::int64_t offset) override {
    at_ = offset;
    return true;
  }
  void align_to(std::int64_t file_offset) override { align_ = file_offset; }
  int plain_fd() const override { return file_.get(); }
  std::int64_t plain_size() const override { return size_; }

 private:
  static constexpr std::size_t kBlockBytes = 512;
  Fd file_;
  std::int64_t size_;
  ChunkPool pool_;
  bool drop_behind_;
  std::int64_t at_ = 0;
  std::int64_t align_ = -1;
};

}  // namespace

std::unique_ptr<ByteSource> file_source(Fd file, std::int64_t size, std::size_t chunks, bool drop_behind) {
  return std::make_unique<FileSource>(std::move(file), size, chunks, drop_behind);
}

}  // namespace spillway::extract
