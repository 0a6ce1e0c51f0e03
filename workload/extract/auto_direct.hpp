#pragma once
/// When `direct = "auto"` writes a file around the page cache. Below the kernel's freerun mark (half-way between the
/// background and the dirty limit) a writer is never throttled, so buffering costs nothing and hides the device. Beyond
/// it the writer moves at the device's speed either way, and direct I/O saves the copy and the flusher's work, if the
/// device likes what it gets. Pure but for read_dirty_state().

#include <optional>

#include "sim/units.hpp"
#include "workload/extract/options.hpp"

namespace spillway::extract {

/// What /proc/vmstat says, in pages.
struct DirtyState {
  Pages dirty{};
  Pages writeback{};
  Pages limit{};        ///< nr_dirty_threshold
  Pages background{};   ///< nr_dirty_background_threshold

  /// cited: Linux mm/page-writeback.c, dirty_freerun_ceiling(): (thresh + bg_thresh) / 2.
  [[nodiscard]] Pages freerun() const { return Pages{(limit.value() + background.value()) / 2}; }
};

/// Files below this are written buffered by `automatic`: each direct write waits for the device, and a small one costs
/// more in waiting than it saves. assumed: the size from which one write fills a device's queue.
inline constexpr Bytes kAutoDirectFrom{1 * kMiB};

/// The decision for one file of `size` data bytes. `pays` no: never; unknown counts as yes for files of at least
/// kAutoDirectFrom, because a throttled buffered write can at best be as fast.
[[nodiscard]] bool auto_direct(const DirtyState& state, Bytes size, DirectPays pays);

/// From /proc/vmstat; nothing when it cannot be read or lacks a line.
[[nodiscard]] std::optional<DirtyState> read_dirty_state();

}  // namespace spillway::extract
