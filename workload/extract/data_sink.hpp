#pragma once
/// DataSink: how a file's bytes get from memory, or from the archive, into an open file. One belongs to one writer
/// thread. Implementations: posix_sink.hpp (plain calls) and uring_sink.hpp.

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "sim/result.hpp"
#include "workload/extract/auto_direct.hpp"
#include "workload/extract/entry_reader.hpp"
#include "workload/extract/options.hpp"

namespace spillway::extract {

class DataSink {
 public:
  virtual ~DataSink() = default;

  /// The file that the next writes go to. `direct`: aligned parts bypass the page cache. `size`: what the file's
  /// size will be; it may be set at once. The descriptor stays the caller's and must live until finish().
  virtual void begin(int fd, bool direct, std::int64_t size) = 0;

  /// Bytes at an offset; offsets ascend within a file. The memory may be reused when it returns.
  [[nodiscard]] virtual Status write(std::span<const std::byte> bytes, std::int64_t offset) = 0;

  /// All of a member's data straight from the archive, into `runs` (or from offset 0 when empty).
  [[nodiscard]] virtual Status write_stored(const StoredData& stored, std::span<const Run> runs) = 0;

  /// Wait for what is under way; afterwards all the data is written, or this is the error.
  [[nodiscard]] virtual Status finish() = 0;

  /// Bytes of the current file that were written, directly and in all.
  [[nodiscard]] std::int64_t written() const { return written_; }
  [[nodiscard]] std::int64_t written_direct() const { return written_direct_; }

 protected:
  std::int64_t written_ = 0;
  std::int64_t written_direct_ = 0;
};

struct DataSinkOptions {
  bool drop_behind = false;
  std::function<bool()> stop{};  ///< see ExtractOptions
};

}  // namespace spillway::extract
