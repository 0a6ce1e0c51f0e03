#include "sim/cpu/tick_sleeps.hpp"

#include <utility>

namespace spillway::sim {

void TickSleeps::add(Jiffies timeout, std::coroutine_handle<> handle) {
  const Jiffies now = clock_.jiffies(engine_.now());
  const Jiffies tick = clock_.fires_at_tick(now, now + timeout);
  Bucket& bucket = buckets_[tick];
  if (!bucket.sleeps) {
    bucket.sleeps = this;
    bucket.tick = tick;
    engine_.schedule(clock_.time_of(tick), Phase::task, expire, &bucket);
  }
  bucket.by_level[clock_.wheel_level(now, now + timeout)].push_back(handle);
}

void TickSleeps::expire(void* argument, std::uint64_t) {
  TickSleeps& self = *static_cast<Bucket*>(argument)->sleeps;
  // Out of the map first: who wakes may fall asleep again.
  auto node = self.buckets_.extract(static_cast<Bucket*>(argument)->tick);
  auto& levels = node.mapped().by_level;
  for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
    auto& sleepers = level->second;
    if (self.clock_.rounding_wheel()) {
      for (auto sleeper = sleepers.rbegin(); sleeper != sleepers.rend(); ++sleeper) sleeper->resume();
    } else {
      for (const auto sleeper : sleepers) sleeper.resume();
    }
  }
}

}  // namespace spillway::sim
