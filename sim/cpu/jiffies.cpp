#include "sim/cpu/jiffies.hpp"

#include <algorithm>

namespace spillway::sim {

int TickClock::wheel_level(Jiffies now, Jiffies expires) const {
  if (!rounding_wheel_) return 0;
  const Jiffies delta = expires - now;
  // Nine levels of 64 buckets, each eight times coarser than the one before; level n serves timeouts below 63 * 8^n.
  int level = 0;
  for (Jiffies reach = 63; delta >= reach && level < 8; reach *= 8) ++level;
  return level;
}

Jiffies TickClock::fires_at_tick(Jiffies now, Jiffies expires) const {
  if (!rounding_wheel_) return std::max(expires, now + 1);
  const int shift = 3 * wheel_level(now, expires);
  return ((expires >> shift) + 1) << shift;
}

}  // namespace spillway::sim
