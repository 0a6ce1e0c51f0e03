#include "sim/memory/dirty_memory.hpp"

#include <algorithm>
#include <memory>

#include "sim/check.hpp"
#include "sim/memory/dirty_limit.hpp"
#include "sim/memory/position_ratio.hpp"

namespace spillway::sim {

namespace {

/// BANDWIDTH_INTERVAL, 200 ms.
Jiffies bandwidth_interval(int hz) { return std::max(hz / 5, 1); }
/// VM_COMPLETIONS_PERIOD_LEN, 3 s.
Jiffies completion_period(int hz) { return 3 * hz; }
/// wb_stat_error(): each CPU's counter may hold back a batch.
KernelWord stat_error(int cores) {
  return static_cast<KernelWord>(cores) * 8 * static_cast<KernelWord>(1 + ilog2(static_cast<KernelWord>(cores)));
}

KernelWord word(std::int64_t pages) { return static_cast<KernelWord>(std::max<std::int64_t>(pages, 0)); }

}  // namespace

DirtyMemory::DirtyMemory(Engine& engine, const TickClock& clock, CpuSet& cpus, DirtyMemoryParams params, Ablation ablation)
    : engine_(engine),
      clock_(clock),
      cpus_(cpus),
      params_(params),
      ablation_(ablation),
      foreign_dirty_(params.foreign_dirty),
      dirtyable_(static_cast<std::int64_t>(params.dirtyable)),
      core_dirtied_(static_cast<std::size_t>(params.cores), 0),
      core_leaks_(static_cast<std::size_t>(params.cores), 0),
      periods_(params.completions),
      period_timer_(engine, Phase::timer, [this] { halve(); }),
      sleeps_(engine, clock),
      wake_order_(engine.random("order of wake-ups")) {
  file_dirty_ = foreign_dirty_;
  const KernelWord thresh = thresholds().thresh;
  dirty_limit_ = params.dirty_limit ? params.dirty_limit : thresh;
  ratelimit_pages_ = ratelimit_pages(thresh, params.cores);
  if (params.next_halving.count() >= 0) {
    period_time_ = clock_.jiffies(engine_.now() + params.next_halving);
    period_timer_.arm(engine_.now() + params.next_halving);
  }
}

Thresholds DirtyMemory::thresholds() const { return compute_thresholds(params_.settings, word(dirtyable_)); }

void DirtyMemory::set_foreign_dirty(std::int64_t pages) {
  file_dirty_ += pages - foreign_dirty_;
  foreign_dirty_ = pages;
}

// -- polling ---------------------------------------------------------------------------------------------------------

KernelWord DirtyMemory::poll_limit(const TaskDirtyState& task, const DeviceWriteback& wb) const {
  return wb.dirty_exceeded ? std::min<KernelWord>(task.nr_dirtied_pause, 8) : task.nr_dirtied_pause;
}

bool DirtyMemory::must_look(TaskDirtyState& task, const DeviceWriteback& wb, int core) {
  KernelWord limit = poll_limit(task, wb);
  auto& on_core = core_dirtied_[static_cast<std::size_t>(core)];
  if (task.nr_dirtied >= limit) {
    on_core = 0;
  } else if (on_core >= ratelimit_pages_) {
    on_core = 0;
    limit = 0;
  }
  auto& leaks = core_leaks_[static_cast<std::size_t>(core)];
  if (leaks > 0 && task.nr_dirtied < limit) {
    const KernelWord moved = std::min(leaks, limit - task.nr_dirtied);
    leaks -= moved;
    task.nr_dirtied += moved;
  }
  return task.nr_dirtied >= limit;
}

std::int64_t DirtyMemory::allowance(const TaskDirtyState& task, const DeviceWriteback& wb, int core) const {
  const KernelWord limit = poll_limit(task, wb);
  // What the tasks that ended left unpaid counts at the next page already.
  const KernelWord counted = task.nr_dirtied + core_leaks_[static_cast<std::size_t>(core)];
  KernelWord pages = limit > counted ? limit - counted : 1;
  const KernelWord on_core = core_dirtied_[static_cast<std::size_t>(core)];
  pages = std::min(pages, ratelimit_pages_ > on_core ? ratelimit_pages_ - on_core : 1);
  return static_cast<std::int64_t>(std::max<KernelWord>(pages, 1));
}

void DirtyMemory::task_exits(const TaskDirtyState& task, int core) {
  core_leaks_[static_cast<std::size_t>(core)] += task.nr_dirtied;
}

// -- accounting ------------------------------------------------------------------------------------------------------

void DirtyMemory::dirtied(TaskDirtyState& task, DeviceWriteback& wb, int core, std::int64_t pages) {
  file_dirty_ += pages;
  wb.reclaimable += pages;
  wb.dirtied += pages;
  task.nr_dirtied += word(pages);
  core_dirtied_[static_cast<std::size_t>(core)] += word(pages);
}

void DirtyMemory::submitted(DeviceWriteback& wb, std::int64_t pages, bool first_of_inode) {
  file_dirty_ -= pages;
  wb.reclaimable -= pages;
  writeback_ += pages;
  wb.writeback += pages;
  if (first_of_inode) ++wb.inodes_under_writeback;
  SPILLWAY_CHECK(wb.reclaimable >= 0, "more pages were submitted than were dirty");
}

void DirtyMemory::written(DeviceWriteback& wb, std::int64_t pages, bool last_of_inode) {
  writeback_ -= pages;
  wb.writeback -= pages;
  wb.written += pages;
  written_ += pages;
  SPILLWAY_CHECK(wb.writeback >= 0, "more pages ended writeback than were under it");
  catch_up_foreign();
  wb.completions.complete(periods_, pages);
  if (period_time_ == 0) {  // the first completion for long starts the period timer
    period_time_ = now() + completion_period(clock_.hz());
    period_timer_.arm(clock_.timeout_ends(engine_.now(), completion_period(clock_.hz())));
  }
  engine_.note_progress();
  if (!last_of_inode) return;
  --wb.inodes_under_writeback;
  if (!params_.kernel.completion_bandwidth_update || !ablation_.delayed_bandwidth_update) return;
  auto found = std::find_if(delayed_updates_.begin(), delayed_updates_.end(), [&](auto& d) { return d.first == &wb; });
  if (found == delayed_updates_.end()) {
    delayed_updates_.emplace_back(
        &wb, std::make_unique<Timer>(engine_, Phase::flusher, [this, &wb] { update_bandwidth(wb, false, 0, 0, 0, 0); }));
    found = delayed_updates_.end() - 1;
  }
  if (!found->second->pending())
    found->second->arm(clock_.timeout_ends(engine_.now(), bandwidth_interval(clock_.hz())));
}

void DirtyMemory::cancelled(DeviceWriteback& wb, std::int64_t pages) {
  file_dirty_ -= pages;
  wb.reclaimable -= pages;
  wb.cancelled += pages;
}

void DirtyMemory::catch_up_foreign() {
  if (params_.foreign_completions_per_s <= 0) return;
  foreign_rest_ += params_.foreign_completions_per_s * to_seconds(engine_.now() - foreign_counted_);
  foreign_counted_ = engine_.now();
  const auto whole = static_cast<std::int64_t>(foreign_rest_);
  periods_.events += whole;
  foreign_rest_ -= static_cast<double>(whole);
}

/// writeout_period(): the deferrable timer may come late; periods missed are made up for.
void DirtyMemory::halve() {
  catch_up_foreign();
  const Jiffies length = completion_period(clock_.hz());
  const Jiffies missed = (now() - period_time_) / length;
  if (periods_.age(static_cast<unsigned>(missed + 1))) {
    period_time_ += (missed + 1) * length;
    period_timer_.arm(clock_.timeout_ends(engine_.now(), period_time_ - now()));
  } else {
    period_time_ = 0;
  }
}

// -- the device's share and estimates -------------------------------------------------------------------------------

KernelWord DirtyMemory::share_of(DeviceWriteback& wb, KernelWord thresh, KernelWord dirty_pages) {
  if (!ablation_.device_share) return thresh;
  catch_up_foreign();
  return device_share({.thresh = thresh,
                       .dirty = dirty_pages,
                       .completions = completion_fraction(wb.completions, periods_),
                       .settings = wb.share,
                       .floor = params_.kernel.share_floor});
}

bool DirtyMemory::over_background(DeviceWriteback& wb) {
  const Thresholds t = thresholds();
  const KernelWord dirty_pages = word(file_dirty_);
  if (dirty_pages > t.background) return true;
  if (wb.cgroup_pages > 0 && word(wb.reclaimable) > cgroup_thresholds(wb).background) return true;
  return word(wb.reclaimable) > share_of(wb, t.background, dirty_pages);
}

void DirtyMemory::estimate_start(DeviceWriteback& wb) {
  if (!params_.kernel.completion_bandwidth_update || !ablation_.idle_stamp_reset) return;
  if (wb.inodes_under_writeback == 0 && now() > wb.bandwidth_stamp + clock_.hz()) {
    wb.dirtied_stamp = wb.dirtied;
    wb.written_stamp = wb.written;
    wb.bandwidth_stamp = now();
  }
}

void DirtyMemory::estimate_update(DeviceWriteback& wb) {
  if (now() > wb.bandwidth_stamp + bandwidth_interval(clock_.hz())) update_bandwidth(wb, false, 0, 0, 0, 0);
}

void DirtyMemory::update_bandwidth(DeviceWriteback& wb, bool with_rate_limit, KernelWord thresh, KernelWord dirty_pages,
                                   std::int64_t pos_ratio, KernelWord setpoint) {
  const Jiffies tick = now();
  const auto elapsed = static_cast<KernelWord>(std::max<Jiffies>(tick - wb.bandwidth_stamp, 1));
  if (with_rate_limit) {
    if (tick > dirty_limit_stamp_ + bandwidth_interval(clock_.hz())) {
      dirty_limit_ = slide_dirty_limit(dirty_limit_, thresh, dirty_pages);
      dirty_limit_stamp_ = tick;
    }
    const RateLimitStep step = update_rate_limit(
        wb.rate, {.dirtied = word(wb.dirtied - wb.dirtied_stamp),
                  .elapsed = elapsed,
                  .pos_ratio = pos_ratio,
                  .avg_write_bandwidth = wb.estimate.avg_write_bandwidth,
                  .dirty = dirty_pages,
                  .setpoint = setpoint,
                  .hz = clock_.hz(),
                  .step_divisor = params_.kernel.constants.ratelimit_step});
    wb.rate = step.after;
    if (on_rate_limit) on_rate_limit(wb, step);
  }
  wb.estimate = update_write_bandwidth(wb.estimate, word(wb.written - wb.written_stamp), elapsed, clock_.hz());
  wb.dirtied_stamp = wb.dirtied;
  wb.written_stamp = wb.written;
  wb.bandwidth_stamp = tick;
}

SimTime DirtyMemory::wakes_at(Jiffies pause) {
  SimTime at = ablation_.extra_tick ? clock_.timeout_ends(engine_.now(), pause) : engine_.now() + pause * clock_.tick();
  // Several cores: each has its own wheel, and which of them is first is not known.
  if (params_.wake_jitter.count() > 0) at += Duration{static_cast<std::int64_t>(wake_order_.below(static_cast<std::uint64_t>(params_.wake_jitter.count())))};
  return at;
}

// -- balance_dirty_pages ---------------------------------------------------------------------------------------------

/// domain_dirty_limits() of a memory cgroup: limits in bytes count as the share of all dirtyable memory that they are.
Thresholds DirtyMemory::cgroup_thresholds(const DeviceWriteback& wb) const {
  const Thresholds all = thresholds();
  const auto share = [&](KernelWord limit) { return limit * word(wb.cgroup_pages) / std::max<KernelWord>(word(dirtyable_), 1); };
  return {share(all.thresh), share(all.background)};
}

/// balance_dirty_pages() of 2.6.32: over the device's share the caller writes half as much again as it dirtied between two
/// looks, at least; when that is not to be had it sleeps 1, 2, 4, .. ticks, at most 100 ms at a time.
/// Left out: the part of the share that is kept from a task which dirties most of it (task_dirty_limit()).
Task<> DirtyMemory::balance_by_writing(Thread& thread, TaskThrottle& task, DeviceWriteback& wb) {
  const auto period = std::min<KernelWord>(ratelimit_pages_, 1024);
  const auto chunk = static_cast<std::int64_t>(std::max(period, task.state.nr_dirtied) * 3 / 2);
  std::int64_t wrote = 0;
  Jiffies pause = 1;
  bool over = false;
  for (;;) {
    const Thresholds t = thresholds();
    const KernelWord share = share_of(wb, t.thresh, word(dirty()));
    over = word(wb.dirty()) > share && word(dirty()) >= t.freerun();
    if (!over) break;
    wb.dirty_exceeded = true;
    ++task.decisions;
    if (word(wb.reclaimable) > share) wrote += co_await wb.write_by_caller(thread, chunk);
    if (word(wb.dirty()) <= share || wrote >= chunk) break;
    if (task.pauses++ == 0 && first_pause_ == SimTime{}) first_pause_ = engine_.now();
    task.pause_asked += pause;
    wb.last_throttle_sleep = now();
    {
      Blocked blocked{engine_, thread.account.throttled};
      co_await engine_.sleep_until(clock_.timeout_ends(engine_.now(), pause));
    }
    pause = std::min<Jiffies>(pause * 2, std::max(clock_.hz() / 10, 1));
  }
  if (!over) wb.dirty_exceeded = false;
  task.state.nr_dirtied = 0;
  task.state.nr_dirtied_pause = period;
  if (!wb.flusher_running && word(file_dirty_) > thresholds().background) wb.wake_flusher();
}

Task<> DirtyMemory::balance(Thread& thread, TaskThrottle& task, DeviceWriteback& wb) {
  const KernelWord pages_dirtied = task.state.nr_dirtied;
  const Jiffies began = now();
  co_await cpus_.run(thread, CpuMode::system, params_.balance_cost);
  if (wb.write_by_caller) {
    co_await balance_by_writing(thread, task, wb);
    co_return;
  }
  for (;;) {
    const Thresholds t = thresholds();
    const KernelWord dirty_pages = word(dirty());
    if (word(file_dirty_) > t.background && !wb.flusher_running) wb.wake_flusher();

    // A memory cgroup's task goes free only below the ceilings of both domains.
    const Thresholds own = wb.cgroup_pages > 0 ? cgroup_thresholds(wb) : Thresholds{};
    const bool cgroup_binds = wb.cgroup_pages > 0 && word(wb.dirty()) > own.freerun();
    if (!wb.share.strict_limit && dirty_pages <= t.freerun() && !cgroup_binds) {
      task.state = freerun_state(now(), dirty_pages, t.thresh);
      co_return;
    }
    const KernelWord wb_dirty = word(wb.dirty());
    const KernelWord wb_thresh = share_of(wb, t.thresh, dirty_pages);
    const KernelWord wb_background = t.thresh ? wb_thresh * t.background / t.thresh : 0;
    if (wb.share.strict_limit && wb_dirty <= (wb_thresh + wb_background) / 2) {
      task.state = freerun_state(now(), wb_dirty, wb_thresh);
      co_return;
    }
    if (!wb.flusher_running) wb.wake_flusher();

    wb.dirty_exceeded = wb_dirty > wb_thresh && (dirty_pages > t.thresh || wb.share.strict_limit);
    const PositionInputs position{.thresh = t.thresh,
                                  .background = t.background,
                                  .dirty_limit = dirty_limit_,
                                  .dirty = dirty_pages,
                                  .wb_thresh = wb_thresh,
                                  .wb_background = wb_background,
                                  .wb_dirty = wb_dirty,
                                  .avg_write_bandwidth = wb.estimate.avg_write_bandwidth,
                                  .strict_limit = wb.share.strict_limit,
                                  .floor = params_.kernel.share_floor};
    const KernelWord setpoint = setpoint_of(position);
    const KernelWord limit = hard_dirty_limit(dirty_limit_, t.thresh);
    std::int64_t pos_ratio = position_ratio(position);
    if (!ablation_.device_term) pos_ratio = dirty_pages >= limit ? 0 : position_cubic(setpoint, dirty_pages, limit);
    if (cgroup_binds) {  // the domain with the lower ratio decides
      const KernelWord mine = word(wb.dirty());
      pos_ratio = std::min(pos_ratio, position_ratio({.thresh = own.thresh,
                                                      .background = own.background,
                                                      .dirty_limit = own.thresh,
                                                      .dirty = mine,
                                                      .wb_thresh = own.thresh,
                                                      .wb_background = own.background,
                                                      .wb_dirty = mine,
                                                      .avg_write_bandwidth = wb.estimate.avg_write_bandwidth,
                                                      .strict_limit = false,
                                                      .floor = params_.kernel.share_floor}));
    }

    if (now() > wb.bandwidth_stamp + bandwidth_interval(clock_.hz())) {
      if (wb.share.strict_limit)
        update_bandwidth(wb, true, t.thresh, wb_dirty, pos_ratio, (wb_thresh + wb_background) / 2);
      else
        update_bandwidth(wb, true, t.thresh, dirty_pages, pos_ratio, setpoint);
    }

    const ThrottleDecision d = decide_pause(task.state,
                                            {.now = now(),
                                             .hz = clock_.hz(),
                                             .pages_dirtied = pages_dirtied,
                                             .pos_ratio = pos_ratio,
                                             .dirty_ratelimit = wb.rate.dirty_ratelimit,
                                             .avg_write_bandwidth = wb.estimate.avg_write_bandwidth,
                                             .wb_dirty = wb_dirty,
                                             .max_pause_ms = params_.kernel.constants.max_pause_ms},
                                            stat_error(params_.cores));
    ++task.decisions;
    if (on_throttle)
      on_throttle({&task, &thread, &wb, static_cast<std::int64_t>(dirty_pages), static_cast<std::int64_t>(setpoint),
                   static_cast<std::int64_t>(limit), static_cast<std::int64_t>(wb_dirty),
                   static_cast<std::int64_t>(wb_thresh), pos_ratio, pages_dirtied, task.state.nr_dirtied_pause,
                   (now() - began) * clock_.tick(), d});
    if (!d.sleeps) {
      task.state = d.after;
      co_return;
    }
    if (task.pauses++ == 0 && first_pause_ == SimTime{}) first_pause_ = engine_.now();
    task.pause_asked += d.pause;
    (wb.device ? *wb.device : wb).last_throttle_sleep = now();
    {
      Blocked blocked{engine_, thread.account.throttled};
      if (params_.cores == 1 && ablation_.extra_tick) co_await sleeps_.sleep(d.pause);
      else co_await engine_.sleep_until(wakes_at(d.pause));
    }
    task.state = d.after;
    if (params_.wake_cost.count() > 0) co_await cpus_.run(thread, CpuMode::system, params_.wake_cost);
    if (d.done) co_return;
  }
}

}  // namespace spillway::sim
