#include "sim/memory/pause.hpp"

#include <algorithm>

namespace spillway::sim {

std::int64_t max_pause(KernelWord wb_dirty, KernelWord avg_write_bandwidth, int hz, int max_pause_ms) {
  const KernelWord eighth = round_up_pow2(1 + static_cast<KernelWord>(hz) / 8);
  const KernelWord t = wb_dirty / (1 + avg_write_bandwidth / eighth) + 1;
  return std::min(static_cast<std::int64_t>(t), max_pause_ticks(hz, max_pause_ms));
}

PauseTarget min_pause(const PauseTargetInputs& in) {
  const auto hz = static_cast<KernelWord>(in.hz);
  const int high = ilog2(in.avg_write_bandwidth);
  const int low = ilog2(in.dirty_ratelimit);
  std::int64_t t = std::max(1, in.hz / 100);
  if (high > low) t += (high - low) * (10 * in.hz) / 1024;
  t = std::min(t, 1 + in.max_pause / 2);
  KernelWord pages = in.dirty_ratelimit * static_cast<KernelWord>(t) / round_up_pow2(hz);
  if (pages < kPollThreshold) {
    t = in.max_pause;
    pages = in.dirty_ratelimit * static_cast<KernelWord>(t) / round_up_pow2(hz);
    if (pages > kPollThreshold) {
      pages = kPollThreshold;
      t = static_cast<std::int64_t>(hz * kPollThreshold / in.dirty_ratelimit);
    }
  }
  const KernelWord pause = hz * pages / (in.task_ratelimit + 1);
  if (static_cast<std::int64_t>(pause) > in.max_pause) {
    t = in.max_pause;
    pages = in.task_ratelimit * static_cast<KernelWord>(t) / round_up_pow2(hz);
  }
  return {pages >= kPollThreshold ? 1 + t / 2 : t, pages};
}

KernelWord dirty_poll_interval(KernelWord dirty, KernelWord thresh) {
  return thresh > dirty ? KernelWord{1} << (ilog2(thresh - dirty) >> 1) : 1;
}

TaskDirtyState freerun_state(std::int64_t now, KernelWord dirty, KernelWord thresh) {
  return {.nr_dirtied = 0, .nr_dirtied_pause = dirty_poll_interval(dirty, thresh), .dirty_paused_when = now};
}

ThrottleDecision decide_pause(const TaskDirtyState& task, const ThrottleInputs& in, KernelWord wb_stat_error) {
  ThrottleDecision out;
  out.after = task;
  out.task_ratelimit = in.dirty_ratelimit * static_cast<KernelWord>(in.pos_ratio) >> kRatioShift;
  out.max_pause = max_pause(in.wb_dirty, in.avg_write_bandwidth, in.hz, in.max_pause_ms);
  const PauseTarget target =
      min_pause({out.max_pause, out.task_ratelimit, in.dirty_ratelimit, in.avg_write_bandwidth, in.hz});
  out.min_pause = target.min_pause;
  out.think = task.dirty_paused_when == 0 ? 0 : in.now - task.dirty_paused_when;

  std::int64_t now = in.now;
  if (out.task_ratelimit == 0) {
    out.period = out.pause = out.max_pause;
  } else {
    out.period = static_cast<std::int64_t>(static_cast<KernelWord>(in.hz) * in.pages_dirtied / out.task_ratelimit);
    out.pause = out.period;
    if (task.dirty_paused_when != 0) out.pause -= now - task.dirty_paused_when;
    if (out.pause < out.min_pause) {
      if (out.pause < -in.hz) {  // it did something else for over a second: no credit for that
        out.after.dirty_paused_when = now;
        out.after.nr_dirtied = 0;
      } else if (out.period != 0) {
        out.after.dirty_paused_when += out.period;
        out.after.nr_dirtied = 0;
      } else if (task.nr_dirtied_pause <= in.pages_dirtied) {
        out.after.nr_dirtied_pause += in.pages_dirtied;
      }
      out.pause = std::min<std::int64_t>(out.pause, 0);  // as the kernel traces it
      return out;
    }
    if (out.pause > out.max_pause) {  // the rate dropped: forgive part of the debt
      now += std::min(out.pause - out.max_pause, out.max_pause);
      out.pause = out.max_pause;
    }
  }
  out.sleeps = true;
  out.after = {.nr_dirtied = 0, .nr_dirtied_pause = target.nr_dirtied_pause, .dirty_paused_when = now + out.pause};
  out.done = out.task_ratelimit != 0 || in.wb_dirty <= wb_stat_error;
  return out;
}

}  // namespace spillway::sim
