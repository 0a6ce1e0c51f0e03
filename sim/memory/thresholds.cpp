#include "sim/memory/thresholds.hpp"

#include <algorithm>

namespace spillway::sim {

namespace {

KernelWord one_threshold(Bytes bytes, int ratio, KernelWord dirtyable) {
  constexpr KernelWord kPage = 4096;
  if (bytes.value() != 0) return div_round_up(static_cast<KernelWord>(bytes.value()), kPage);
  return (static_cast<KernelWord>(ratio) * kPage / 100) * dirtyable / kPage;
}

}  // namespace

Thresholds compute_thresholds(const DirtySettings& settings, KernelWord dirtyable) {
  constexpr KernelWord kMaxPages = 0xffffffff;  // 16 TiB
  Thresholds t;
  t.thresh = std::min(one_threshold(settings.dirty_bytes, settings.dirty_ratio, dirtyable), kMaxPages);
  t.background = one_threshold(settings.background_bytes, settings.background_ratio, dirtyable);
  if (t.background >= t.thresh) t.background = t.thresh / 2;
  return t;
}

Thresholds thresholds_for_realtime(Thresholds t, KernelWord dirty_limit) {
  t.background += t.background / 4 + dirty_limit / 32;
  t.thresh += t.thresh / 4 + dirty_limit / 32;
  if (t.background >= t.thresh) t.background = t.thresh / 2;
  return t;
}

}  // namespace spillway::sim
