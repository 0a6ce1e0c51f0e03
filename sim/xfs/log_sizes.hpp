#pragma once
/// How much of the log things take: reservations of transactions, and what items add to a checkpoint.

#include <cstdint>

namespace spillway::sim::xfs {

enum class Transaction : std::uint8_t { create, remove, itruncate, ifree, write, timestamp };

/// Bytes that a transaction reserves up front: unit x count. measured: 6.18, 4 KiB blocks, 512-byte inodes, finobt and
/// reflink, log without a stripe unit (fact: xfs_log_reserve events). A log stripe unit adds twice itself to each unit
/// (one padding for the data, one for the commit record), instead of twice 512 bytes. cited: xlog_calc_unit_res().
[[nodiscard]] constexpr std::int64_t reservation(Transaction kind, std::int64_t log_stripe_unit = 512) {
  const std::int64_t padding = 2 * (log_stripe_unit - 512);
  switch (kind) {
    case Transaction::create: return 2 * (219'244 + padding);
    case Transaction::remove: return 2 * (176'096 + padding);
    case Transaction::itruncate: return 4 * (180'208 + padding);
    case Transaction::ifree: return 2 * (194'664 + padding);
    case Transaction::write: return 4 * (112'720 + padding);
    case Transaction::timestamp: return 2'860 + padding;
  }
  return 0;
}

/// An inode in the log: a 12-byte operation header before each region; the format (56), the core (176), and the extent
/// list (16 each, as many as fit behind the core, then a btree root of that size). cited: struct xlog_op_header,
/// xfs_inode_log_format, xfs_log_dinode, xfs_bmbt_rec. With the directory's share this is 300 bytes a created file, as
/// measured.
[[nodiscard]] constexpr std::int64_t inode_log_bytes(std::int64_t extents, std::int64_t inode_size = 512) {
  const std::int64_t fork = inode_size - 176;
  const std::int64_t list = extents * 16 < fork ? extents * 16 : fork;
  return 12 + 56 + 12 + 176 + (extents > 0 ? 12 + list : 0);
}

/// A block's changed 128-byte pieces and its format with two headers. cited: XFS_BLF_CHUNK, xfs_buf_log_format.
[[nodiscard]] constexpr std::int64_t buffer_log_bytes(std::int64_t chunks) { return 2 * 12 + 28 + chunks * 128; }
/// A new name in a directory whose block is in the checkpoint already: entry (11 bytes and a name of about 9, tag, rounded
/// up to 8) and hash entry. cited: xfs_dir2_data_entsize(); the length of names is assumed.
inline constexpr std::int64_t kDirectoryEntryBytes = 24 + 8;

/// Written to the log for `bytes` of items: a record header of 512 bytes for every 32 KiB, and the commit record.
/// cited: XLOG_HEADER_CYCLE_SIZE.
[[nodiscard]] constexpr std::int64_t checkpoint_log_bytes(std::int64_t bytes) {
  const std::int64_t payload = 32 * 1024 - 512;
  return bytes + 512 + (bytes + payload - 1) / payload * 512;
}

}  // namespace spillway::sim::xfs
