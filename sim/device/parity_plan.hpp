#pragma once
/// What has to be read and written to change part of one parity row: pure arithmetic, the kernel's choice.
///
/// A "chunk row" is one chunk on every member. Within it md works in 4 KiB-high rows; here neighbouring rows in the same
/// situation are taken together, so the cost of planning grows with the pieces of the request, not with its bytes.
/// Per piece, with d data blocks of which k are written and p parities: all written: no read. Else
/// read-modify-write reads the old k + p blocks, reconstruction reads the other d - k; what the stripe cache holds
/// counts 0; fewer reads win, reconstruction on a tie (drivers/md/raid5.c, handle_stripe_dirtying; RAID 6 without an
/// XOR-syndrome routine always reconstructs).

#include <cstdint>
#include <vector>

#include "sim/device/intervals.hpp"
#include "sim/device/stripe_map.hpp"

namespace spillway::sim::device {

/// What the stripe cache knows of a chunk row. Data in sectors [0, chunk * d) of the row, parity in [0, chunk).
struct RowContents {
  Intervals data, parity;
};

struct PlannedIo {
  int member = 0;
  std::int64_t start = 0, length = 0;  ///< sectors on the member
  std::int64_t redundant = 0;          ///< all or nothing: is it parity?
};

struct RowPlan {
  std::vector<PlannedIo> reads, writes;
  std::int64_t full_rows = 0, rmw_rows = 0, reconstruct_rows = 0;  ///< 4 KiB-high rows
  RowContents known;  ///< what is in the stripe cache afterwards, beside what was before
  [[nodiscard]] std::int64_t rows() const { return full_rows + rmw_rows + reconstruct_rows; }
};

/// Plan the write of `dirty` (sectors of chunk row `row`, whole 4 KiB blocks) when `cached` is in the stripe cache.
RowPlan plan_row_write(const ParityShape& shape, std::int64_t row, const Intervals& dirty, const RowContents& cached,
                       bool read_modify_write);

}  // namespace spillway::sim::device
