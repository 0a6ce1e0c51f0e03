#pragma once
/// The sliding hard limit: follows a risen threshold at once and a fallen one only slowly, so that a sudden drop of
/// dirtyable memory does not freeze every writer. mm/page-writeback.c, update_dirty_limit(), hard_dirty_limit().

#include <algorithm>

#include "sim/memory/kernel_math.hpp"

namespace spillway::sim {

/// One update (at most one per 200 ms, and only from balance_dirty_pages): the new dirty_limit.
[[nodiscard]] constexpr KernelWord slide_dirty_limit(KernelWord dirty_limit, KernelWord thresh, KernelWord dirty) {
  if (dirty_limit < thresh) return thresh;
  const KernelWord target = std::max(thresh, dirty);
  if (dirty_limit > target) dirty_limit -= (dirty_limit - target) >> 5;
  return dirty_limit;
}

/// The limit that the controller uses.
[[nodiscard]] constexpr KernelWord hard_dirty_limit(KernelWord dirty_limit, KernelWord thresh) {
  return std::max(thresh, dirty_limit);
}

}  // namespace spillway::sim
