#pragma once
/// File data with plain system calls.

#include <cstdlib>
#include <memory>

#include "workload/extract/data_sink.hpp"

namespace spillway::extract {

/// Memory aligned for direct I/O.
struct AlignedFree {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using AlignedBuffer = std::unique_ptr<std::byte[], AlignedFree>;
[[nodiscard]] AlignedBuffer make_aligned_buffer(std::size_t bytes);

/// Offsets, lengths and memory of direct I/O are multiples of this: the largest logical block size in use, and what
/// XFS asks for with 4 KiB sectors.
inline constexpr std::int64_t kDirectAlign = 4096;

/// One direct write, and one piece of a large file that is fetched from the archive. measured: on XFS over a loop,
/// 1 GB in 50 MB files, 1 MiB took 0.29 s, 256 KiB 0.44 s (large folios need large writes).
inline constexpr std::size_t kCopyBytes = 1 << 20;

class PosixSink final : public DataSink {
 public:
  explicit PosixSink(DataSinkOptions options);
  void begin(int fd, bool direct, std::int64_t size) override;
  [[nodiscard]] Status write(std::span<const std::byte> bytes, std::int64_t offset) override;
  [[nodiscard]] Status write_stored(const StoredData& stored, std::span<const Run> runs) override;
  [[nodiscard]] Status finish() override;

 private:
  Status put(std::span<const std::byte> bytes, std::int64_t offset);
  Status put_direct(std::span<const std::byte> bytes, std::int64_t offset);
  Status flush();
  Status switch_direct(bool on);
  void drop_written(std::int64_t end);

  DataSinkOptions options_;
  AlignedBuffer buffer_;         ///< pieces from the archive; with direct I/O, what waits for alignment
  int fd_ = -1;
  bool direct_ = false;
  bool flag_is_on_ = false;      ///< O_DIRECT is set on fd_ now
  std::int64_t pending_at_ = 0;  ///< file offset of buffer_[0]
  std::size_t pending_ = 0;      ///< bytes in buffer_ not yet written (direct only)
  std::int64_t dropped_ = 0;     ///< drop-behind: writeback was started up to here
};

}  // namespace spillway::extract
