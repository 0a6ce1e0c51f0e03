#pragma once
/// Where things lie in a file system: allocation groups, log, stripe, inodes. What mkfs.xfs (6.x) chooses when nothing is
/// said, and block addresses as sectors of the device.

#include <cstdint>

#include "sim/box/inputs.hpp"
#include "sim/xfs/free_space.hpp"

namespace spillway::sim::xfs {

inline constexpr std::int64_t kBlockSize = 4096;       ///< file-system block; mkfs's default
inline constexpr std::int64_t kSectorsPerBlock = 8;
inline constexpr std::int64_t kInodesPerChunk = 64;    ///< cited: XFS_INODES_PER_CHUNK
/// Inodes are read and written in clusters. cited: 8 KiB per 256 bytes of inode size on version 5, so always 32 inodes.
inline constexpr std::int64_t kInodesPerCluster = 32;
inline constexpr std::int64_t kMaxExtentBlocks = (1 << 21) - 1;  ///< cited: XFS_MAX_BMBT_EXTLEN

/// Allocation groups that mkfs makes: 4 up to 4 TiB on one device, 8, 16 or 32 on a stripe, never more than 1 TiB each.
/// cited: mkfs.xfs calc_default_ag_geometry().
[[nodiscard]] int default_allocation_groups(Bytes size, bool striped);
/// Internal log: 1/2048 of the file system, at least 64 MiB, at most 2 GiB less a block. cited: mkfs.xfs since 5.15.
[[nodiscard]] Bytes default_log_size(Bytes size);

struct Geometry {
  int ag_count = 4;
  std::int64_t ag_blocks = 0;        ///< of every group but perhaps the last
  std::int64_t blocks = 0;
  std::int64_t log_blocks = 0;
  int log_ag = 0;                    ///< holds the internal log; -1: external
  AgBlock log_start = 0;             ///< in that group
  std::int64_t stripe_unit = 0, stripe_width = 0;  ///< blocks; 0: none
  std::int64_t log_stripe_unit = 512;  ///< bytes to which log writes are padded (l_iclog_roundoff)
  std::int64_t inode_size = 512;
  AgBlock first_free = 0;            ///< headers and btree roots lie before it

  [[nodiscard]] std::int64_t blocks_of(int ag) const { return ag + 1 < ag_count ? ag_blocks : blocks - ag_blocks * (ag_count - 1); }
  [[nodiscard]] Sectors sector(int ag, AgBlock block) const { return Sectors{(ag * ag_blocks + block) * kSectorsPerBlock}; }
  [[nodiscard]] std::int64_t chunk_blocks() const { return kInodesPerChunk * inode_size / kBlockSize; }
  [[nodiscard]] std::int64_t cluster_bytes() const { return kInodesPerCluster * inode_size; }
};

/// The geometry that these inputs mean, or why there is none: a log that fits into no group, a stripe unit that is no
/// multiple of a block, too many groups.
[[nodiscard]] Result<Geometry> make_geometry(const FilesystemInputs& inputs);

}  // namespace spillway::sim::xfs
