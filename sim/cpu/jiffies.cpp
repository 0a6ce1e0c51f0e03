#include "sim/cpu/jiffies.hpp"

#include <algorithm>

namespace spillway::sim {

Jiffies TickClock::fires_at_tick(Jiffies now, Jiffies expires) const {
  if (!rounding_wheel_) return std::max(expires, now + 1);
  const Jiffies delta = expires - now;
  // Nine levels of 64 buckets, each eight times coarser than the one before; level n serves timeouts below 63 * 8^n.
  int shift = 0;
  for (Jiffies reach = 63; delta >= reach && shift < 24; reach *= 8) shift += 3;
  return ((expires >> shift) + 1) << shift;
}

}  // namespace spillway::sim
