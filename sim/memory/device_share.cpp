#include "sim/memory/device_share.hpp"

#include <algorithm>

namespace spillway::sim {

KernelWord device_share(const ShareInputs& in) {
  constexpr KernelWord kAll = 1'000'000;
  KernelWord share = in.thresh * (kAll - in.settings.sum_of_min_ratios) / kAll;
  share = share * in.completions.numerator / in.completions.denominator;
  share += in.thresh * in.settings.min_ratio / kAll;
  if (in.floor == ShareFloor::in_share && in.thresh > in.dirty)
    share = std::max(share, (in.thresh - in.dirty) / (in.settings.strict_limit ? 100 : 8));
  return std::min(share, in.thresh * in.settings.max_ratio / kAll);
}

}  // namespace spillway::sim
