#pragma once
/// Sleeps of whole ticks on one core, in the order in which its timer wheel ends them: schedule_timeout().
///
/// What ends at the same tick does not end in the order in which it began. A wheel's bucket is a stack: enqueue_timer()
/// adds at the head, expire_timers() takes from the head, so who fell asleep last wakes first; and __run_timers() goes from
/// the coarsest level down, so long sleeps end before short ones (kernel/time/timer.c, 4.8 and later). Before 4.8 buckets
/// were queues (internal_add_timer(), list_add_tail). Near the dirty limit the order decides who sees fewer dirty pages and
/// sleeps less next time.
///
/// Not modelled: several cores. Each has its own wheel, and which of them comes first is not known: BoxInputs::wake_jitter.

#include <coroutine>
#include <map>
#include <vector>

#include "sim/cpu/jiffies.hpp"
#include "sim/engine/engine.hpp"

namespace spillway::sim {

class TickSleeps {
 public:
  TickSleeps(Engine& engine, const TickClock& clock) : engine_(engine), clock_(clock) {}

  struct Awaiter {
    TickSleeps& sleeps;
    Jiffies timeout;
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> handle) { sleeps.add(timeout, handle); }
    void await_resume() const noexcept {}
  };
  /// Sleep for `timeout` ticks, rounded as the wheel does.
  [[nodiscard]] Awaiter sleep(Jiffies timeout) { return {*this, timeout}; }

 private:
  struct Bucket {
    TickSleeps* sleeps = nullptr;
    Jiffies tick = 0;
    std::map<int, std::vector<std::coroutine_handle<>>> by_level;
  };
  void add(Jiffies timeout, std::coroutine_handle<> handle);
  static void expire(void* bucket, std::uint64_t ticket);

  Engine& engine_;
  const TickClock& clock_;
  std::map<Jiffies, Bucket> buckets_;  ///< by the tick at which they end
};

}  // namespace spillway::sim
