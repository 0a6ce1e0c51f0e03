#include "sim/xfs/preallocation.hpp"

#include <algorithm>
#include <bit>

#include "sim/xfs/geometry.hpp"

namespace spillway::sim::xfs {

namespace {

/// The unit of the dynamic rules. cited: m_allocsize_log = 16.
constexpr std::int64_t kUnitBlocks = 64 * kKiB / kBlockSize;

int low_space_shift(std::int64_t free, std::int64_t total) {
  // cited: m_low_space, 5 % down to 1 % of the file system.
  int shift = 0;
  if (free < total / 100 * 5) {
    shift = 2;
    for (const int percent : {4, 3, 2, 1})
      if (free < total / 100 * percent) ++shift;
  }
  return shift;
}

}  // namespace

std::int64_t preallocation(const PreallocationRules& rules, const BeforeWrite& before, std::int64_t offset) {
  if (rules.allocsize) return *rules.allocsize;
  if (before.file_size < kUnitBlocks * kBlockSize) return 0;
  if (before.file_size < rules.stripe_unit * kBlockSize || !before.adjacent) return kUnitBlocks;
  std::int64_t blocks = before.contiguous * 2;
  if (blocks > kMaxExtentBlocks) blocks = offset / kBlockSize;
  blocks >>= low_space_shift(before.free_blocks, before.total_blocks);
  if (blocks > 0) blocks = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(blocks)));
  blocks = std::min(blocks, kMaxExtentBlocks);
  while (blocks > 0 && blocks >= before.free_blocks) blocks >>= 4;
  return std::max(blocks, kUnitBlocks);
}

std::int64_t reservation_end(const PreallocationRules& rules, const BeforeWrite& before, std::int64_t offset, std::int64_t count) {
  const std::int64_t written = (offset + count + kBlockSize - 1) / kBlockSize;
  const std::int64_t extra = preallocation(rules, before, offset);
  if (extra == 0) return written;
  const std::int64_t unit = rules.allocsize.value_or(kUnitBlocks);
  std::int64_t end = (offset + count - 1) / kBlockSize / unit * unit + extra;
  if (const std::int64_t align = rules.eof_alignment; align > 0 && before.file_size >= align * kBlockSize)
    end = (end + align - 1) / align * align;
  return std::max(end, written);
}

}  // namespace spillway::sim::xfs
