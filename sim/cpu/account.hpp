#pragma once
/// Where a task's time went. The parts add up to the time since the task began; a test holds that for every task.

#include "sim/units.hpp"

namespace spillway::sim {

struct TimeAccount {
  Duration user{};       ///< running, the program's own code
  Duration system{};     ///< running, in the kernel
  Duration runqueue{};   ///< ready, waiting for a core
  Duration throttled{};  ///< asleep in balance_dirty_pages
  Duration device{};     ///< waiting for reads, writes or flushes of a device
  Duration lock{};       ///< waiting for another task's lock
  Duration log{};        ///< waiting for log space or a log write
  Duration unknown{};    ///< asleep for any other reason (waiting for a child, for the start)

  [[nodiscard]] Duration cpu() const { return user + system; }
  [[nodiscard]] Duration blocked() const { return throttled + device + lock + log + unknown; }
  [[nodiscard]] Duration total() const { return cpu() + runqueue + blocked(); }

  friend TimeAccount operator-(const TimeAccount& a, const TimeAccount& b) {
    return {a.user - b.user,     a.system - b.system, a.runqueue - b.runqueue, a.throttled - b.throttled,
            a.device - b.device, a.lock - b.lock,     a.log - b.log,           a.unknown - b.unknown};
  }
};

}  // namespace spillway::sim
