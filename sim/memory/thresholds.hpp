#pragma once
/// The global dirty thresholds: above the background one the flusher writes, above freerun (half-way to the limit) writers
/// are slowed, and at the limit they stop. mm/page-writeback.c, domain_dirty_limits() (6.18).

#include "sim/memory/kernel_math.hpp"
#include "sim/units.hpp"

namespace spillway::sim {

/// vm.dirty_*: for each of the two thresholds, bytes win over the ratio where they are not 0.
struct DirtySettings {
  /// vm.dirty_bytes and vm.dirty_background_bytes; 0: the ratio holds.
  Bytes dirty_bytes{0};
  Bytes background_bytes{0};
  /// vm.dirty_ratio and vm.dirty_background_ratio, percent of dirtyable memory. cited: 20 and 10.
  int dirty_ratio = 20;
  int background_ratio = 10;
};

struct Thresholds {
  KernelWord thresh = 0;      ///< pages
  KernelWord background = 0;  ///< pages
  /// Below this nobody is throttled. dirty_freerun_ceiling().
  [[nodiscard]] KernelWord freerun() const { return (thresh + background) / 2; }
};

/// `dirtyable` in pages (1.2). The percentage is first truncated to 1/4096, so that 20 % is really 19.995 %.
[[nodiscard]] Thresholds compute_thresholds(const DirtySettings& settings, KernelWord dirtyable);
/// The same for a real-time or deadline task, which gets a quarter more.
[[nodiscard]] Thresholds thresholds_for_realtime(Thresholds t, KernelWord dirty_limit);

/// ratelimit_pages: a CPU's tasks together dirty at most this much between two passes of balance_dirty_pages, set when
/// the limit is written. writeback_set_ratelimit().
[[nodiscard]] constexpr KernelWord ratelimit_pages(KernelWord thresh, int online_cpus) {
  const KernelWord pages = thresh / (static_cast<KernelWord>(online_cpus) * 32);
  return pages < 16 ? 16 : pages;
}

}  // namespace spillway::sim
