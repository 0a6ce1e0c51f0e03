#pragma once
/// ByteSource: the archive's bytes, uncompressed, in chunks of whole 512-byte blocks. Two kinds: a plain file, read in
/// windows and able to jump (file_source below), and the output of a decompressor thread (decompress.hpp).

#include <condition_variable>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "sim/result.hpp"
#include "workload/extract/fd.hpp"
#include "workload/extract/posix_sink.hpp"
#include "workload/extract/report.hpp"

namespace spillway::extract {

struct Chunk {
  AlignedBuffer bytes;
  std::size_t length = 0;
  std::int64_t offset = 0;  ///< of bytes[0] in the uncompressed archive
};

/// A fixed number of chunk buffers, given out and taken back; the bound on what is read ahead. A buffer comes back when
/// the last writer lets go of it. Any thread may take and give.
class ChunkPool {
 public:
  ChunkPool(std::size_t chunks, std::size_t chunk_bytes);

  /// An empty chunk; waits for one to come back. `before_wait` is called once before waiting (the reader hands over
  /// what it holds back, or the wait would not end). Null after close().
  [[nodiscard]] std::shared_ptr<Chunk> take(const std::function<void()>& before_wait = {});

  /// Whoever waits in take() gets null.
  void close();

  [[nodiscard]] std::size_t chunk_bytes() const { return chunk_bytes_; }

 private:
  struct Shared {
    std::mutex mutex;
    std::condition_variable returned;
    std::vector<std::unique_ptr<Chunk>> free;
    std::size_t unmade = 0;  ///< buffers that were never needed yet
    bool closed = false;
  };
  std::shared_ptr<Shared> shared_;
  std::size_t chunk_bytes_;
};

class ByteSource {
 public:
  virtual ~ByteSource() = default;

  /// The next bytes; null at the end. Every chunk but the last is a multiple of 512 long.
  [[nodiscard]] virtual Result<std::shared_ptr<Chunk>> next() = 0;

  /// The file's bytes from `offset` on come next; false where that is not possible.
  virtual bool seek(std::int64_t) { return false; }

  /// A file is being read whose data starts at `file_offset` in the archive: windows may be cut so that its pieces
  /// start at multiples of the window size. A hint.
  virtual void align_to(std::int64_t) {}

  /// The archive file itself, when its bytes are the tar's; else -1.
  [[nodiscard]] virtual int plain_fd() const { return -1; }
  [[nodiscard]] virtual std::int64_t plain_size() const { return -1; }

  /// CPU time of a thread behind the source, once there is nothing more to read.
  [[nodiscard]] virtual std::optional<ThreadCpu> finish() { return std::nullopt; }

  /// Called before next() may have to wait for a writer.
  void on_wait(std::function<void()> hook) { before_wait_ = std::move(hook); }

 protected:
  std::function<void()> before_wait_;
};

/// The window of a plain file. measured: 1 MiB and 256 KiB are alike for small files; large files want large writes.
inline constexpr std::size_t kWindowBytes = 1 << 20;

/// `chunks`: how many windows may be in use at once; 1 keeps it hot in the cache for a single thread.
[[nodiscard]] std::unique_ptr<ByteSource> file_source(Fd file, std::int64_t size, std::size_t chunks, bool drop_behind);

}  // namespace spillway::extract
