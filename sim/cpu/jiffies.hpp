#pragma once
/// The kernel's coarse clock: a tick counter of HZ per second, and when a timer set in ticks really fires.
///
/// `jiffies` counts whole ticks; the box was booted 2^20 ticks before the run (a tick count of 0 means "never" in the
/// kernel), and the last tick came `phase` before time 0, so that a run need not begin on a tick. Timers use the kernel's timer wheel: since 4.8 it has no cascading and rounds up, so a
/// sleep of p ticks lasts p ticks and the rest of the present one, plus the granularity of the wheel's level for long
/// timeouts. recollection: kernel/time/timer.c, calc_index() and LVL_START(). measured (`test-box.md` section 1): sleeps of
/// balance_dirty_pages overshoot by 2.9 to 3.3 ms at HZ = 250, as this predicts for a task that runs for about a
/// millisecond between sleeps.

#include <cstdint>

#include "sim/units.hpp"

namespace spillway::sim {

using Jiffies = std::int64_t;

class TickClock {
 public:
  /// `hz` is 100, 250, 300 or 1000; `phase` in [0, 1/hz) is how long before time 0 the last tick was.
  /// `rounding_wheel`: the wheel of 4.8 and later; before, timers fire exactly at their tick.
  explicit TickClock(int hz, Duration phase = Duration{0}, bool rounding_wheel = true)
      : hz_(hz), phase_(phase.count()), rounding_wheel_(rounding_wheel) {}

  [[nodiscard]] int hz() const { return hz_; }
  /// Whole ticks up to `at`.
  [[nodiscard]] Jiffies jiffies(SimTime at) const { return kBooted + (at.time_since_epoch().count() + phase_) * hz_ / kSecond; }
  /// The instant at which tick number `tick` comes.
  [[nodiscard]] SimTime time_of(Jiffies tick) const {
    return SimTime{Duration{((tick - kBooted) * kSecond + hz_ - 1) / hz_ - phase_}};
  }
  /// The tick at which a timer set at tick `now` to expire at `expires` fires.
  [[nodiscard]] Jiffies fires_at_tick(Jiffies now, Jiffies expires) const;
  /// The level of the wheel that such a timer is put on: 0 up to 62 ticks, each further one eight times coarser. Without
  /// the rounding wheel there is one.
  [[nodiscard]] int wheel_level(Jiffies now, Jiffies expires) const;
  [[nodiscard]] bool rounding_wheel() const { return rounding_wheel_; }
  /// The instant at which a sleep or delayed work of `timeout` ticks, started at `at`, ends.
  [[nodiscard]] SimTime timeout_ends(SimTime at, Jiffies timeout) const {
    const Jiffies now = jiffies(at);
    return time_of(fires_at_tick(now, now + timeout));
  }
  [[nodiscard]] Duration tick() const { return Duration{kSecond / hz_}; }

 private:
  static constexpr std::int64_t kSecond = 1'000'000'000;
  static constexpr Jiffies kBooted = 1 << 20;
  int hz_;
  std::int64_t phase_;
  bool rounding_wheel_;
};

}  // namespace spillway::sim
