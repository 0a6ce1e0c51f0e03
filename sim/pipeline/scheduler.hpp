#pragma once
/// The fair scheduler, where wake-up delays are the question: per-core run queues, virtual run time, and the rule that
/// decides whether a woken thread takes the core at once.
///
/// sim/cpu has one queue for all cores and slices of a millisecond, which is all that an untar needs. A message thread
/// that runs for 20 us and waits for the next packet lives or dies by what is modelled here instead:
///
///  * CFS (before 6.6). A woken thread is placed at max(own, min_vruntime - latency/2) (gentle sleeper credit) and
///    preempts when current.vruntime - woken.vruntime > wakeup_granularity. So the granularity acts as a switch: below
///    the credit a thread that slept long always preempts, above it a thread hardly ever does. kernel/sched/fair.c,
///    place_entity(), wakeup_preempt_entity(), check_preempt_tick(). recollection; defaults cited from the same file:
///    latency 6 ms, minimum granularity 0.75 ms, wake-up granularity 1 ms, each times 1 + log2(min(cores, 8)).
///  * EEVDF (6.6 and later). Placement keeps the lag, the earliest eligible deadline runs, and the running thread is
///    protected until its slice ends (RUN_TO_PARITY), unless the woken one has a shorter slice (PREEMPT_SHORT, 6.12).
///    base_slice_ns 0.7 ms times 1 + log2(min(cores, 8)). recollection.
///
/// A thread uses the CPU with `co_await scheduler.run(thread, duration)`; waiting for anything else lets go of the core.
/// Preemption is exact to the nanosecond (PREEMPT kernels; a voluntary-preemption kernel waits for the end of a system
/// call). All threads have the same weight.
///
/// Not modelled: wake_affine, scheduling groups (autogroup), NUMA domains, hyper-threads, buddies.

#include <coroutine>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/pipeline/delay_histogram.hpp"
#include "sim/units.hpp"

namespace spillway::sim::pipeline {

enum class SchedulerKind : std::uint8_t { cfs, eevdf };

struct SchedulerParams {
  SchedulerKind kind = SchedulerKind::eevdf;
  int cores = 2;
  Duration tick = std::chrono::milliseconds{4};
  // CFS
  Duration latency = std::chrono::milliseconds{12};
  Duration min_granularity = std::chrono::microseconds{1500};
  Duration wakeup_granularity = std::chrono::milliseconds{2};
  bool gentle_fair_sleepers = true;
  // EEVDF
  Duration base_slice = std::chrono::microseconds{1400};
  /// A core that has just become idle looks for work elsewhere only if it expects to stay idle longer than this, and a
  /// thread that ran more recently than this is not moved. cited: sched_migration_cost 0.5 ms.
  Duration migration_cost = std::chrono::microseconds{500};
  /// What such a look costs for each other core. assumed.
  Duration balance_look = std::chrono::nanoseconds{300};
  /// Core time lost when another thread takes over. cited: context switch 2 to 5 us.
  Duration context_switch = std::chrono::microseconds{2};
  /// Extra time of a thread that runs on another core than last time (cold caches). assumed.
  Duration migration = std::chrono::microseconds{3};
  /// From the wake-up of an idle core to the first instruction there. assumed: shallow idle state.
  Duration idle_exit = std::chrono::microseconds{2};
};

/// The kernel's defaults for a number of cores and version: CFS before 6.6.
[[nodiscard]] SchedulerParams default_scheduler(SchedulerKind kind, int cores);

class Scheduler;

/// One thread. Owned by the scheduler.
class Worker {
 public:
  [[nodiscard]] const std::string& name() const { return name_; }
  Duration cpu{};                ///< time on a core, switches not counted
  Duration waited{};             ///< ready, waiting for a core (preemption included)
  DelayHistogram wakeup_delay;   ///< from each wake-up to running
  std::int64_t voluntary_switches = 0, involuntary_switches = 0, migrations = 0;
  /// EEVDF: this thread's own slice (sched_setattr); 0: the base slice.
  Duration slice{};
  [[nodiscard]] bool on_core() const { return state_ == State::running; }
  [[nodiscard]] int core() const { return core_; }

 private:
  friend class Scheduler;
  explicit Worker(std::string name) : name_(std::move(name)) {}
  enum class State : std::uint8_t { sleeping, queued, running };
  std::string name_;
  State state_ = State::sleeping;
  int core_ = 0;
  int last_core_ = -1;
  bool woken_ = false;
  std::coroutine_handle<> waiter_;
  Duration remaining_{};
  std::int64_t vruntime_ = 0;
  std::int64_t deadline_ = 0;   ///< EEVDF
  std::int64_t lag_ = 0;        ///< EEVDF: at the last dequeue
  SimTime queued_at_{};
  SimTime last_ran_{};
};

class Scheduler {
 public:
  Scheduler(Engine& engine, SchedulerParams params);
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  Worker& new_worker(std::string name);

  struct RunAwaiter {
    Scheduler& scheduler;
    Worker& worker;
    Duration duration;
    bool await_ready() const noexcept { return duration.count() <= 0; }
    void await_suspend(std::coroutine_handle<> handle) { scheduler.request(worker, duration, handle); }
    void await_resume() const noexcept {}
  };
  [[nodiscard]] RunAwaiter run(Worker& worker, Duration duration) { return {*this, worker, duration}; }

  [[nodiscard]] const SchedulerParams& params() const { return params_; }
  [[nodiscard]] const std::deque<Worker>& workers() const { return workers_; }
  /// Core time of threads and of the scheduler itself (switches, looks for work), summed over the cores.
  [[nodiscard]] Duration busy() const { return busy_; }
  [[nodiscard]] Duration overhead() const { return overhead_; }
  [[nodiscard]] std::int64_t balance_looks() const { return balance_looks_; }

 private:
  struct Core {
    Scheduler* scheduler = nullptr;
    int index = 0;
    Worker* current = nullptr;
    Worker* last = nullptr;
    bool slice_over = false;       ///< EEVDF: current has used up its slice since it was picked
    bool between = false;          ///< current has finished a request and may ask again
    SimTime segment_began{};       ///< useful work of the present segment begins here
    SimTime picked_at{};           ///< since when `current` runs without giving up the core
    std::uint64_t end_ticket = 0;  ///< of the event that ends the segment
    bool tick_armed = false;
    SimTime idle_since{};
    Duration average_idle{};       ///< running average, as rq->avg_idle
    std::int64_t min_vruntime = 0;
    std::vector<Worker*> queue;
  };

  void request(Worker& worker, Duration duration, std::coroutine_handle<> handle);
  void wake(Worker& worker);
  Core& choose_core(Worker& worker);
  void place(Core& core, Worker& worker);
  bool preempts(const Core& core, const Worker& woken) const;
  void enqueue(Core& core, Worker& worker);
  Worker* pick(Core& core);
  void start(Core& core, Worker& worker, Duration extra);
  void begin_segment(Core& core, Duration extra);
  static void segment_ended(void* core, std::uint64_t ticket);
  static void ticked(void* core, std::uint64_t ticket);
  void arm_tick(Core& core);
  void charge(Core& core);
  void stop_current(Core& core);
  void reschedule(Core& core);
  void idle(Core& core);
  std::int64_t average_vruntime(const Core& core) const;
  Duration slice_of(const Worker& worker) const { return worker.slice.count() > 0 ? worker.slice : params_.base_slice; }
  void update_min_vruntime(Core& core);

  Engine& engine_;
  SchedulerParams params_;
  std::deque<Worker> workers_;
  std::vector<Core> cores_;
  Duration busy_{}, overhead_{};
  std::int64_t balance_looks_ = 0;
};

}  // namespace spillway::sim::pipeline
