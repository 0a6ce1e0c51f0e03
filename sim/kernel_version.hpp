#pragma once
/// What the kernel version changes in the model, as one table instead of scattered ifs. Every entry carries how well the
/// difference is known.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "sim/memory/kernel_constants.hpp"
#include "sim/result.hpp"

namespace spillway::sim {

/// How well a difference is known.
enum class Confidence : std::uint8_t {
  verified,      ///< read in that version's source
  documented,    ///< in the kernel's documentation or a posted patch
  recollection,  ///< general knowledge, not re-read
};

/// Who writes dirty pages when a program is over the limit.
enum class Foreground : std::uint8_t {
  writes_itself,  ///< 2.6.32 to 3.1: the dirtier writes pages of the device itself, or sleeps 1, 2, 4 .. jiffies
  paused,         ///< 3.2 and later: it sleeps, and only the flusher writes (balance_dirty_pages without I/O)
};

/// Where the floor of 1/8 of the free headroom under a device's share is applied.
enum class ShareFloor : std::uint8_t {
  in_position_ratio,  ///< up to 6.12: max(share, (limit - dirty)/8) inside pos_ratio only
  in_share,           ///< 6.18: the stored share itself is max(share, (thresh - dirty)/8)
};

struct KernelVersion {
  std::string_view name;            ///< "6.18": the first version for which this row holds is `since`
  int since_major = 0, since_minor = 0;
  Foreground foreground = Foreground::paused;
  ShareFloor share_floor = ShareFloor::in_position_ratio;
  bool anonymous_is_dirtyable = false;      ///< before 3.14 anonymous pages counted as dirtyable memory
  bool rounding_timer_wheel = true;         ///< 4.8: sleeps end one tick later (cpu/jiffies.hpp)
  bool completion_bandwidth_update = true;  ///< 5.16: estimate updated 200 ms after an inode's last completion, idle reset
  bool slice_by_bandwidth = true;           ///< 3.2: 0.5 s of bandwidth, at least 4 MiB, per inode visit; else 1024 pages
  bool requeue_only_on_progress = false;    ///< up to 6.1: the flusher's loop goes on only after progress (no "queued" flag)
  bool large_folios = false;                ///< 6.6: buffered writes make folios larger than a page
  bool unwritten_extents = true;            ///< 5.8: writeback allocates unwritten extents and converts at completion
  int ioend_pages = 0;                      ///< before 6.9 the bios of one contiguous piece were chained and ended together, from
                                            ///< 5.17 to 6.8 at most 4096 pages; 0: each bio ends alone
  bool throttle_keeps_slice = true;         ///< 6.15: blk-throttle keeps a slice when it trims; before, ticks lost a little of the rate
  bool throttle_passes_metadata = true;     ///< 6.13: blk-throttle lets metadata pass at once; before, it waited in the line
  bool deferred_inactivation = true;        ///< 5.14: unlink's second half runs in a worker
  bool delayed_logging = true;              ///< 2.6.39: the CIL
  bool allocation_worker = false;           ///< about 3.4 to 3.15: each delayed allocation is handed to a kworker
  bool flush_thread = false;                ///< up to 3.9: the flusher is a thread flush-MAJ:MIN, not a kworker
  bool congestion_backoff = false;          ///< the flusher stays away from a device with a nearly full queue
  bool writeback_throttling = true;         ///< 4.10: blk-wbt
  bool one_flush_per_checkpoint = true;     ///< 5.14; before, every log buffer was written with flush and FUA
  int max_sectors_kib = 1280;               ///< default cap of one request's size
  bool per_cpu_commits = true;              ///< 6.0: transactions join the checkpoint on lists for each CPU, not under one lock
  Confidence confidence = Confidence::recollection;  ///< the weakest of the row's entries that differ from 6.18
  std::string_view remark;
  KernelConstants constants{};              ///< the same in every version of the table; a patched kernel differs
};

/// The table, oldest first.
[[nodiscard]] std::span<const KernelVersion> kernel_versions();
/// The row for a version written as "6.18", "3.2.0" or "4.18.0-147.el8": the last row not newer than it. Versions before
/// 2.6.32 and texts that are no version are errors.
[[nodiscard]] Result<KernelVersion> kernel_version(std::string_view text);
[[nodiscard]] std::string_view to_string(Confidence confidence);

}  // namespace spillway::sim
