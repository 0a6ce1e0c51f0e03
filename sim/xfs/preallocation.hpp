#pragma once
/// How far a write that extends a file reserves blocks: delayed allocation with speculative preallocation.
/// fs/xfs/xfs_iomap.c, xfs_iomap_prealloc_size() and xfs_buffered_write_iomap_begin() (6.18); pure functions in blocks of
/// 4 KiB.

#include <cstdint>
#include <optional>

namespace spillway::sim::xfs {

struct PreallocationRules {
  std::optional<std::int64_t> allocsize;  ///< blocks; a mount option: then always that much
  std::int64_t stripe_unit = 0;           ///< blocks
  std::int64_t eof_alignment = 0;         ///< blocks: the width with swalloc, else the unit; 0: none
};

/// What lies before the write.
struct BeforeWrite {
  std::int64_t file_size = 0;      ///< bytes, before this write
  bool adjacent = false;           ///< an extent ends exactly where the write begins
  std::int64_t contiguous = 0;     ///< blocks of the run, contiguous on disk (or delayed), that ends there
  std::int64_t free_blocks = 0, total_blocks = 0;  ///< of the file system
};

/// Blocks reserved beyond the write, before alignment. `offset`: where it begins, in bytes.
[[nodiscard]] std::int64_t preallocation(const PreallocationRules& rules, const BeforeWrite& before, std::int64_t offset);
/// The block before which the reservation of a write of `count` bytes at `offset` ends, preallocation and alignment
/// included. The write must extend the file.
[[nodiscard]] std::int64_t reservation_end(const PreallocationRules& rules, const BeforeWrite& before, std::int64_t offset,
                                           std::int64_t count);

}  // namespace spillway::sim::xfs
