#pragma once
/// How long one throttled task sleeps and how many pages it may dirty until it is looked at again.
/// mm/page-writeback.c, wb_max_pause(), wb_min_pause(), and the body of balance_dirty_pages() beyond freerun (6.18).
///
/// All times in ticks of the box's HZ. Pure: given the same inputs it takes the same decision as the kernel, so a trace of
/// a real kernel can be replayed through it.

#include "sim/memory/kernel_constants.hpp"
#include "sim/memory/kernel_math.hpp"

namespace spillway::sim {

/// MAX_PAUSE: 200 ms, at least a tick.
[[nodiscard]] constexpr std::int64_t max_pause_ticks(int hz, int max_pause_ms = KernelConstants{}.max_pause_ms) {
  const std::int64_t ticks = static_cast<std::int64_t>(hz) * max_pause_ms / 1000;
  return ticks > 1 ? ticks : 1;
}

/// About an eighth of the time in which the device drains what it has, at most 200 ms.
[[nodiscard]] std::int64_t max_pause(KernelWord wb_dirty, KernelWord avg_write_bandwidth, int hz,
                                     int max_pause_ms = KernelConstants{}.max_pause_ms);

struct PauseTarget {
  std::int64_t min_pause = 0;            ///< shorter pauses are not slept but carried over
  KernelWord nr_dirtied_pause = 0;       ///< pages until the next look
};
struct PauseTargetInputs {
  std::int64_t max_pause = 0;
  KernelWord task_ratelimit = 0, dirty_ratelimit = 0, avg_write_bandwidth = 0;  ///< pages/s
  int hz = 250;
};
/// 10 ms for one writer, about 10 ms more for each doubling of the writers.
[[nodiscard]] PauseTarget min_pause(const PauseTargetInputs& in);

/// A task's throttle state: three fields of task_struct. A new task has these defaults.
struct TaskDirtyState {
  KernelWord nr_dirtied = 0;
  KernelWord nr_dirtied_pause = kPollThreshold;
  std::int64_t dirty_paused_when = 0;    ///< tick of the (virtual) end of the last pause; 0: none yet

  friend bool operator==(const TaskDirtyState&, const TaskDirtyState&) = default;
};

/// The poll size below freerun: the square root of the room left, or 1.
[[nodiscard]] KernelWord dirty_poll_interval(KernelWord dirty, KernelWord thresh);
/// The freerun exit: forgets the past.
[[nodiscard]] TaskDirtyState freerun_state(std::int64_t now, KernelWord dirty, KernelWord thresh);

struct ThrottleInputs {
  std::int64_t now = 0;                  ///< tick
  int hz = 250;
  KernelWord pages_dirtied = 0;          ///< by the task since its last pause
  std::int64_t pos_ratio = 0;
  KernelWord dirty_ratelimit = 0, avg_write_bandwidth = 0;  ///< pages/s, after this pass's update
  KernelWord wb_dirty = 0;               ///< pages
  int max_pause_ms = KernelConstants{}.max_pause_ms;
};

struct ThrottleDecision {
  bool sleeps = false;
  bool done = true;                      ///< false: look again after the sleep (the rate was 0 and the device has work)
  std::int64_t pause = 0, period = 0, think = 0;  ///< ticks; the traced pause, 0 or negative when it does not sleep
  std::int64_t max_pause = 0, min_pause = 0;
  KernelWord task_ratelimit = 0;         ///< pages/s
  TaskDirtyState after;                  ///< state after the decision, or after the sleep if it sleeps
};

/// Steps 8 to 13 of the loop. `wb_stat_error` is the counters' possible error, in pages.
[[nodiscard]] ThrottleDecision decide_pause(const TaskDirtyState& task, const ThrottleInputs& in, KernelWord wb_stat_error);

}  // namespace spillway::sim
