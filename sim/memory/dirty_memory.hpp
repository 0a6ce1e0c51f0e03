#pragma once
/// The dirty pages of the box and the brake on those who make them.
///
/// Owns the global counters (NR_FILE_DIRTY, NR_WRITEBACK), the sliding limit and the completion periods; moves the
/// per-device state (DeviceWriteback). A program that writes pages does, before each piece:
///
///   if (memory.must_look(task.dirty, wb, core)) co_await memory.balance(thread, task.dirty, wb);
///   pages = min(left in the file, memory.allowance(task.dirty, wb, core));
///   ... copy ...; memory.dirtied(task.dirty, wb, core, pages);
///
/// The flusher reports submitted() and the completion side written(). All arithmetic is in the pure functions beside this
/// file; here they are fed with live state at the moments at which the kernel feeds them.
///
/// A context with a cgroup limit has a domain of its own beside the global one (1.7); its sliding limit is its threshold,
/// and clean memory outside the cgroup is taken as ample.
///
/// Not modelled: per-node limits (1.8), the error of per-CPU counters.

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "sim/cpu/costs.hpp"
#include "sim/cpu/cpu_set.hpp"
#include "sim/cpu/jiffies.hpp"
#include "sim/cpu/tick_sleeps.hpp"
#include "sim/engine/engine.hpp"
#include "sim/kernel_version.hpp"
#include "sim/memory/ablation.hpp"
#include "sim/memory/device_writeback.hpp"
#include "sim/memory/pause.hpp"
#include "sim/memory/thresholds.hpp"

namespace spillway::sim {

struct DirtyMemoryParams {
  DirtySettings settings;
  KernelWord dirtyable = 0;                 ///< pages at the start (1.2)
  KernelWord dirty_limit = 0;               ///< the sliding limit at the start; 0: the threshold
  std::int64_t foreign_dirty = 0;           ///< pages of other devices, constant
  double foreign_completions_per_s = 0;     ///< pages that other devices complete
  CompletionPeriods completions;            ///< the domain's counter at the start
  Duration next_halving{-1};                ///< negative: the period timer does not run
  KernelVersion kernel = kernel_versions().back();
  int cores = 1;
  Duration balance_cost = std::chrono::nanoseconds{1500};
  Duration wake_cost{};                     ///< CpuCosts::wake_after_sleep
  Duration wake_jitter{};                   ///< BoxInputs::wake_jitter
};

/// A writing task's throttle state and what it went through.
struct TaskThrottle {
  TaskDirtyState state;
  std::int64_t decisions = 0, pauses = 0;   ///< passes beyond freerun; of those with a sleep
  Jiffies pause_asked = 0;                  ///< sum of the pauses asked for
  int id = 0;                               ///< for the trace
};

struct ThrottleEvent {
  const TaskThrottle* task = nullptr;
  const Thread* thread = nullptr;
  const DeviceWriteback* wb = nullptr;
  std::int64_t dirty = 0, setpoint = 0, limit = 0, wb_dirty = 0, wb_thresh = 0, pos_ratio = 0;
  KernelWord pages_dirtied = 0, dirtied_pause = 0;
  Duration paused{};                        ///< since the call began
  ThrottleDecision decision;
};

class DirtyMemory {
 public:
  DirtyMemory(Engine& engine, const TickClock& clock, CpuSet& cpus, DirtyMemoryParams params, Ablation ablation = {});

  // -- for programs ------------------------------------------------------------------------------------------------
  /// Must the task look at the limits before it dirties its next page? balance_dirty_pages_ratelimited().
  [[nodiscard]] bool must_look(TaskDirtyState& task, const DeviceWriteback& wb, int core);
  /// How many pages it may dirty before it must look again; at least 1.
  [[nodiscard]] std::int64_t allowance(const TaskDirtyState& task, const DeviceWriteback& wb, int core) const;
  /// balance_dirty_pages(): charges CPU time, sleeps (account.throttled), returns when the task may go on.
  Task<> balance(Thread& thread, TaskThrottle& task, DeviceWriteback& wb);
  /// A task ended: its unpaid pages are charged to others on its core.
  void task_exits(const TaskDirtyState& task, int core);

  // -- accounting --------------------------------------------------------------------------------------------------
  void dirtied(TaskDirtyState& task, DeviceWriteback& wb, int core, std::int64_t pages);
  void submitted(DeviceWriteback& wb, std::int64_t pages, bool first_of_inode);
  void written(DeviceWriteback& wb, std::int64_t pages, bool last_of_inode);
  void cancelled(DeviceWriteback& wb, std::int64_t pages);
  /// Anonymous memory came or went: `pages` more (negative: fewer) are not dirtyable any more.
  void take_dirtyable(std::int64_t pages) { dirtyable_ -= pages; }
  /// The same for a program's anonymous pages, which before 3.14 stayed dirtyable.
  void took_anonymous(std::int64_t pages) {
    if (!params_.kernel.anonymous_is_dirtyable) take_dirtyable(pages);
  }
  /// Dirty pages of other devices as of now.
  void set_foreign_dirty(std::int64_t pages);

  // -- for the flusher ---------------------------------------------------------------------------------------------
  /// wb_over_bg_thresh().
  [[nodiscard]] bool over_background(DeviceWriteback& wb);
  /// Before a slice: after more than a second of idleness, idle time does not count. wb_bandwidth_estimate_start().
  void estimate_start(DeviceWriteback& wb);
  /// After a slice: at most one update per 200 ms. wb_update_bandwidth().
  void estimate_update(DeviceWriteback& wb);

  // -- to look at --------------------------------------------------------------------------------------------------
  [[nodiscard]] Thresholds thresholds() const;
  [[nodiscard]] std::int64_t file_dirty() const { return file_dirty_; }
  [[nodiscard]] std::int64_t under_writeback() const { return writeback_; }
  /// Pages that ended writeback since the start, of all contexts.
  [[nodiscard]] std::int64_t written_in_all() const { return written_; }
  [[nodiscard]] std::int64_t dirty() const { return file_dirty_ + writeback_; }
  [[nodiscard]] KernelWord dirty_limit() const { return dirty_limit_; }
  [[nodiscard]] std::int64_t dirtyable() const { return dirtyable_; }
  [[nodiscard]] KernelWord share_of(DeviceWriteback& wb, KernelWord thresh, KernelWord dirty);
  [[nodiscard]] const TickClock& clock() const { return clock_; }
  [[nodiscard]] const Ablation& ablation() const { return ablation_; }
  [[nodiscard]] SimTime first_pause() const { return first_pause_; }

  std::function<void(const ThrottleEvent&)> on_throttle;
  std::function<void(const DeviceWriteback&, const RateLimitStep&)> on_rate_limit;

 private:
  Task<> balance_by_writing(Thread& thread, TaskThrottle& task, DeviceWriteback& wb);
  [[nodiscard]] Thresholds cgroup_thresholds(const DeviceWriteback& wb) const;
  void update_bandwidth(DeviceWriteback& wb, bool with_rate_limit, KernelWord thresh, KernelWord dirty,
                        std::int64_t pos_ratio, KernelWord setpoint);
  void catch_up_foreign();
  void halve();
  [[nodiscard]] SimTime wakes_at(Jiffies pause);
  [[nodiscard]] Jiffies now() const { return clock_.jiffies(engine_.now()); }
  [[nodiscard]] KernelWord poll_limit(const TaskDirtyState& task, const DeviceWriteback& wb) const;

  Engine& engine_;
  const TickClock& clock_;
  CpuSet& cpus_;
  DirtyMemoryParams params_;
  Ablation ablation_;
  std::int64_t file_dirty_ = 0, writeback_ = 0, written_ = 0, foreign_dirty_ = 0;
  std::int64_t dirtyable_ = 0;
  KernelWord dirty_limit_ = 0;
  Jiffies dirty_limit_stamp_ = 0;
  KernelWord ratelimit_pages_ = 32;
  std::vector<KernelWord> core_dirtied_;        ///< bdp_ratelimits per CPU
  std::vector<KernelWord> core_leaks_;          ///< dirty_throttle_leaks per CPU
  CompletionPeriods periods_;
  Jiffies period_time_ = 0;                     ///< 0: the timer does not run
  Timer period_timer_;
  SimTime foreign_counted_{};
  double foreign_rest_ = 0;
  SimTime first_pause_{};
  TickSleeps sleeps_;                           ///< on a single core: who wakes first is known
  Random wake_order_;                           ///< for wake_jitter
  std::vector<std::pair<DeviceWriteback*, std::unique_ptr<Timer>>> delayed_updates_;
};

}  // namespace spillway::sim
