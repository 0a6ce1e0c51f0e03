#pragma once
/// Text that the kernel gives, as values. Pure parsers: tests feed them with pasted files.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spillway::real {

/// The kernel prints kB and counts pages of 4096 bytes.
inline constexpr std::int64_t kKbPerPage = 4;

/// /proc/vmstat, in pages.
struct DirtyView {
  std::int64_t dirty = 0, writeback = 0, thresh = 0, background = 0;
};
std::optional<DirtyView> parse_vmstat_dirty(std::string_view vmstat);

/// debugfs bdi/MAJ:MIN/stats. Kilobytes there, pages of 4096 bytes here.
struct BdiView {
  std::int64_t writeback_pages = 0, reclaimable_pages = 0, wb_thresh_pages = 0, dirtied_pages = 0, written_pages = 0;
  std::int64_t bandwidth_pages_per_s = 0;
  std::int64_t b_dirty = 0, b_io = 0, b_more_io = 0;  ///< inodes
};
std::optional<BdiView> parse_bdi_stats(std::string_view stats);

/// /sys/block/DEV/stat (Documentation/admin-guide/iostats): requests, 512-byte sectors, milliseconds.
struct BlockStat {
  std::int64_t read_ios = 0, read_sectors = 0, write_ios = 0, write_sectors = 0, in_flight = 0, busy_ms = 0, flushes = 0;
};
std::optional<BlockStat> parse_block_stat(std::string_view stat);

/// The first line of /proc/stat, clock ticks of 1/100 s summed over cores, and the context switches.
struct CpuView {
  std::int64_t user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0, switches = 0;
  [[nodiscard]] std::int64_t busy() const { return user + nice + system + irq + softirq; }
  [[nodiscard]] std::int64_t total() const { return busy() + idle + iowait + steal; }
};
std::optional<CpuView> parse_cpu(std::string_view stat);

/// Dirtyable memory: sum over /proc/zoneinfo of free pages less the reserves, plus the file LRU of each node (Linux
/// mm/page-writeback.c, global_dirtyable_memory: NR_FREE_PAGES - totalreserve_pages + NR_INACTIVE_FILE +
/// NR_ACTIVE_FILE + 1; totalreserve per zone: high watermark plus the largest lowmem reserve, at most managed,
/// calculate_totalreserve_pages).
struct DirtyableView {
  std::int64_t free_pages = 0, reserve_pages = 0, file_pages = 0;
  [[nodiscard]] std::int64_t dirtyable() const {
    return (free_pages > reserve_pages ? free_pages - reserve_pages : 0) + file_pages + 1;
  }
};
std::optional<DirtyableView> parse_zoneinfo(std::string_view zoneinfo);

/// /proc/fs/xfs/stat or /sys/fs/xfs/DEV/stats/stats: the lines that a run needs.
struct XfsView {
  std::int64_t transactions = 0;      ///< trans: sync + async
  std::int64_t log_writes = 0, log_blocks = 0, log_noiclogs = 0, log_forces = 0, log_force_sleeps = 0;
  std::int64_t ail_tries = 0, ail_sleeps = 0, ail_pushes = 0;  ///< push_ail: try_logspace, sleep_logspace, pushes
  std::int64_t extents_allocated = 0, blocks_allocated = 0;    ///< extent_alloc
  std::int64_t delalloc_conversions = 0;                       ///< xstrat quick + split
};
std::optional<XfsView> parse_xfs_stat(std::string_view stat);

/// PSI: the "total" of the some and full lines, in microseconds.
struct PressureView {
  std::int64_t some_us = 0, full_us = 0;
};
std::optional<PressureView> parse_pressure(std::string_view text);

/// "kworker/u8:2+flush-7:65" -> "flush" (one worker per device), "+xfs-conv/loop65" -> "xfs-conv"; "loop65" -> "loop".
/// nullopt for a worker that says nothing of its queue.
std::optional<std::string> queue_of(std::string_view comm);

}  // namespace spillway::real
