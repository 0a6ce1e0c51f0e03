#include "sim/memory/write_bandwidth.hpp"

#include <algorithm>

namespace spillway::sim {

BandwidthEstimate update_write_bandwidth(BandwidthEstimate estimate, KernelWord written, KernelWord elapsed, int hz) {
  const KernelWord period = bandwidth_period(hz);
  const KernelWord old = estimate.write_bandwidth;
  KernelWord avg = estimate.avg_write_bandwidth;
  KernelWord bw = written * static_cast<KernelWord>(hz);
  if (elapsed > period) {
    bw /= elapsed;
    avg = bw;
  } else {
    bw += old * (period - elapsed);
    bw >>= ilog2(period);
    // One more level of smoothing, against sudden spikes: follow only a trend.
    if (avg > old && old >= bw) avg -= (avg - old) >> 3;
    if (avg < old && old <= bw) avg += (old - avg) >> 3;
  }
  return {bw, std::max<KernelWord>(avg, 1)};
}

}  // namespace spillway::sim
