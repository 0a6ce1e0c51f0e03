#pragma once
/// The cores, the run queue in front of them, and the threads that use them.
///
/// A thread asks for CPU time with `co_await cpus.run(thread, mode, duration)`. It gets an idle core (its last one if it
/// can, else one of its NUMA node, else any), else waits its turn; the wait is charged to `runqueue`. A running thread keeps its core over consecutive
/// requests until its time slice is used up and somebody waits, and gives it back by waiting for anything else. A thread
/// that just woke up preempts, at the end of the running request, one that has used more than `wakeup_granularity` of its
/// slice. Model code asks for about a millisecond at a time at most, so preemption is no coarser than that.
///
/// Memory bandwidth is shared: while n threads copy at once, each is slowed so that together they stay under
/// `memory_bandwidth`. The share is fixed when a request starts.
///
/// Not modelled: nice levels, affinity, load balancing between per-core queues (there is one queue), hyper-threads,
/// frequency changes.

#include <coroutine>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "sim/cpu/account.hpp"
#include "sim/engine/engine.hpp"

namespace spillway::sim {

enum class CpuMode : std::uint8_t { user, system };

struct CpuParams {
  int cores = 2;
  /// NUMA nodes; cores are dealt out round robin (core i on node i mod nodes), as boxes commonly number them.
  int numa_nodes = 1;
  /// Time a thread may run while others wait. cited: base slice 0.7 ms * (1 + log2(cores)), 1.4 ms with two cores.
  Duration slice = std::chrono::microseconds{1400};
  /// A woken thread does not preempt one that has run for less. assumed: half a slice.
  Duration wakeup_granularity = std::chrono::microseconds{700};
  /// Charged to a thread that takes over a core from another one.
  Duration context_switch = std::chrono::microseconds{3};
  /// All copying threads together, bytes moved per second. assumed: 20 GB/s.
  BytesPerSec memory_bandwidth{20 * kGB};
};

class CpuSet;

/// One thread of execution: a program's or a kernel worker's. Owned by the CpuSet, so it outlives what refers to it.
class Thread {
 public:
  [[nodiscard]] const std::string& name() const { return name_; }
  /// Time accounted so far. `blocked_since` bookkeeping belongs to those who wait: see Blocked.
  TimeAccount account;
  std::uint64_t voluntary_switches = 0;
  std::uint64_t involuntary_switches = 0;
  /// The core it runs on or last ran on.
  [[nodiscard]] int core() const { return core_; }

 private:
  friend class CpuSet;
  explicit Thread(std::string name) : name_(std::move(name)) {}
  std::string name_;
  int core_ = 0;
  bool ran_before_ = false;
  // The present request.
  std::coroutine_handle<> waiter_;
  Duration wanted_{};
  Duration user_first_{};   ///< of wanted_, how much is user time; it comes first
  bool copying_ = false;
  bool woken_ = false;  ///< it waits for a core after having slept
  bool exited_ = false;
  // CPU time in this window of 32 ms and in the last one.
  SimTime window_{};
  Duration in_window_{}, in_last_window_{};
  SimTime queued_at_{};
  Duration slice_used_{};
};

class CpuSet {
 public:
  CpuSet(Engine& engine, CpuParams params);

  Thread& new_thread(std::string name, int core = 0);
  /// A core for a new process that a parent on `parent_core` starts: on the NUMA node whose live threads used least CPU
  /// time lately, the parent's own node if they are equal (find_idlest_group()); there an idle one.
  [[nodiscard]] int core_for_new_process(int parent_core) const;
  /// The thread's program ended; it counts no longer.
  static void exited(Thread& thread) { thread.exited_ = true; }

  struct RunAwaiter {
    CpuSet& cpus;
    Thread& thread;
    Duration user, duration;  ///< user time, and user and system time together
    bool copying;
    bool await_ready() const noexcept { return duration.count() <= 0; }
    void await_suspend(std::coroutine_handle<> handle) { cpus.request(thread, user, duration, copying, handle); }
    void await_resume() const noexcept {}
  };
  /// Use a core for `duration`.
  [[nodiscard]] RunAwaiter run(Thread& thread, CpuMode mode, Duration duration) {
    return {*this, thread, mode == CpuMode::user ? duration : Duration{0}, duration, false};
  }
  /// The same for work that is mostly copying, at `duration` when nobody else copies. `bytes` is what it moves.
  [[nodiscard]] RunAwaiter copy(Thread& thread, CpuMode mode, Duration duration, Bytes bytes) {
    const Duration slow = slowed(duration, bytes);
    return {*this, thread, mode == CpuMode::user ? slow : Duration{0}, slow, true};
  }
  /// User time, then system time of which most is copying, in one piece.
  [[nodiscard]] RunAwaiter run_both(Thread& thread, Duration user, Duration system, Bytes bytes) {
    return {*this, thread, user, user + slowed(system, bytes), bytes.value() > 0};
  }

  [[nodiscard]] int cores() const { return params_.cores; }
  [[nodiscard]] int node_of(int core) const { return core % params_.numa_nodes; }
  /// CPU time handed out in all.
  [[nodiscard]] Duration busy() const { return busy_; }
  [[nodiscard]] const std::deque<Thread>& threads() const { return threads_; }
  /// The thread whose code runs at this instant, after CPU time that it asked for; none in timers, completions and in a
  /// thread that just woke up and has not yet had a core.
  [[nodiscard]] const Thread* current() const { return current_; }
  /// Called when a thread gives its core back because it waits for something: schedule() of a task that goes to sleep.
  std::function<void(const Thread&)> on_sleep;

 private:
  struct Core {
    CpuSet* cpus = nullptr;
    int index = 0;
    Thread* holder = nullptr;   ///< whose slice it is
    Thread* last = nullptr;     ///< who ran last: no switch cost if it comes back
    bool running = false;       ///< a request is being served
    Duration segment{};         ///< of the segment being served
    Duration overhead{};        ///< part of the segment that is the switch
  };
  void request(Thread& thread, Duration user, Duration duration, bool copying, std::coroutine_handle<> handle);
  void start(Core& core, Thread& thread);
  void begin_segment(Core& core);
  static void segment_done(void* core, std::uint64_t ticket);
  void release(Core& core);
  void dispatch(Core& core);
  Duration slowed(Duration duration, Bytes bytes) const;
  bool must_yield(const Core& core) const;

  Engine& engine_;
  CpuParams params_;
  std::deque<Thread> threads_;
  std::vector<Core> cores_;
  std::deque<Thread*> queue_;
  int copying_ = 0;
  const Thread* current_ = nullptr;
  Duration busy_{};
};

/// Charges the time between construction and end() (or destruction) to one part of a thread's account. For use around a
/// co_await that waits: `Blocked blocked{engine, thread.account.lock}; co_await mutex.lock();`.
class Blocked {
 public:
  Blocked(const Engine& engine, Duration& part) : engine_(engine), part_(part), since_(engine.now()) {}
  Blocked(const Blocked&) = delete;
  Blocked& operator=(const Blocked&) = delete;
  ~Blocked() { end(); }
  void end() {
    part_ += engine_.now() - since_;
    since_ = engine_.now();
  }

 private:
  const Engine& engine_;
  Duration& part_;
  SimTime since_;
};

}  // namespace spillway::sim
