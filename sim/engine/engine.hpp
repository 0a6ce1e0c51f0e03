#pragma once
/// The deterministic discrete-event engine under the simulated box.
///
/// Events are ordered by (time, named phase, running number); time is integer nanoseconds. Activities are coroutines
/// (engine/task.hpp) that wait with `co_await engine.sleep(...)`, on a WaitQueue, or on a part's own awaitable. There
/// are no globals: a process may run many engines, one per thread. The same seed and inputs give the same order of
/// events; with `shuffle_ties` the order within one (time, phase) is a seeded permutation instead of first come first
/// served, so that results which hang on such an order can be found.
///
/// Lifetime: objects named in events (Timer, WaitQueue, callbacks' arguments) must outlive the last run of the engine;
/// build the engine first and destroy it last. Roots that have not finished are destroyed with the engine, or earlier by
/// destroy_roots() where their frames hold references to younger objects.

#include <coroutine>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/engine/phase.hpp"
#include "sim/random.hpp"
#include "sim/engine/task.hpp"
#include "sim/units.hpp"

namespace spillway::sim {

struct EngineParams {
  std::uint64_t seed = 1;
  /// Test mode: order ties within one (time, phase) by a seeded permutation.
  bool shuffle_ties = false;
  /// The watchdog: a run with no note_progress() for this much simulated time is stalled.
  Duration stalled_after = std::chrono::hours{6};
  /// The watchdog's second eye: this many events in one instant is a loop without time.
  std::uint64_t max_events_per_instant = 20'000'000;
};

enum class RunOutcome {
  stopped,  ///< stop() was called: the normal end
  idle,     ///< no events are left; if somebody still waits, it waits for ever
  stalled,  ///< the watchdog saw no progress
};

class Engine {
 public:
  /// A plain callback; `ticket` is what schedule() returned for this event.
  using Callback = void (*)(void* argument, std::uint64_t ticket);

  explicit Engine(EngineParams params = {});
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  [[nodiscard]] SimTime now() const { return now_; }
  [[nodiscard]] std::uint64_t seed() const { return params_.seed; }
  /// Events handled so far: the unit of the engine's cost.
  [[nodiscard]] std::uint64_t events() const { return events_; }
  /// An independent stream of random numbers for the part called `name`.
  [[nodiscard]] Random random(std::string_view name) const { return Random{params_.seed, name}; }

  /// Call `callback(argument, ticket)` at `at` (not before now). Returns the ticket. Cannot be taken back; a callback
  /// that may be out of date compares tickets (see Timer).
  std::uint64_t schedule(SimTime at, Phase phase, Callback callback, void* argument);
  void resume_at(SimTime at, Phase phase, std::coroutine_handle<> handle);

  /// Start `task` at the present instant; nobody waits for it.
  void spawn(Task<> task, Phase phase = Phase::task);

  struct SleepAwaiter {
    Engine& engine;
    SimTime at;
    Phase phase;
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> handle) { engine.resume_at(at, phase, handle); }
    void await_resume() const noexcept {}
  };
  /// Wait until `at` or for `duration`. Even a sleep of 0 lets everything of an earlier phase at this instant go first.
  [[nodiscard]] SleepAwaiter sleep_until(SimTime at, Phase phase = Phase::task) { return {*this, at, phase}; }
  [[nodiscard]] SleepAwaiter sleep(Duration duration, Phase phase = Phase::task) { return {*this, now_ + duration, phase}; }

  /// Handle events until stop(), until none is left, or until the watchdog bites.
  RunOutcome run();
  void stop() { stopping_ = true; }
  /// Destroy the spawned tasks that have not finished. Nothing may be scheduled afterwards.
  void destroy_roots();

  /// Called by parts when something that matters got done (bytes written, a task finished): feeds the watchdog.
  void note_progress() { last_progress_ = now_; }
  /// A part's one-line state for the watchdog's report.
  void describe_with(std::function<std::string()> describe) { describers_.push_back(std::move(describe)); }
  [[nodiscard]] std::string state_report() const;

 private:
  friend void detail::root_finished(Engine& owner, std::size_t slot);

  struct Event {
    SimTime at;
    std::uint64_t order;  ///< phase in the top byte, running number (or its permutation) below
    Callback callback;
    void* argument;
  };
  static bool before(const Event& a, const Event& b) { return a.at != b.at ? a.at < b.at : a.order < b.order; }
  void push(const Event& event);
  Event pop();
  void reap();

  EngineParams params_;
  SimTime now_{};
  SimTime last_progress_{};
  std::uint64_t next_ticket_ = 1;
  std::uint64_t shuffle_key_ = 0;
  std::uint64_t events_ = 0;
  bool stopping_ = false;
  std::vector<Event> heap_;  ///< 4-ary: shallower than binary and kinder to the cache
  std::vector<std::coroutine_handle<>> roots_;
  std::vector<std::size_t> free_slots_;
  std::vector<std::size_t> finished_;
  std::vector<std::function<std::string()>> describers_;
};

/// A one-shot timer that can be re-armed and cancelled, like the kernel's timer_list. It must outlive the engine's run.
class Timer {
 public:
  Timer(Engine& engine, Phase phase, std::function<void()> action);
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  /// Set or move the expiry.
  void arm(SimTime at);
  void cancel() { pending_ = false; }
  [[nodiscard]] bool pending() const { return pending_; }
  [[nodiscard]] SimTime expires() const { return expires_; }

 private:
  static void fire(void* self, std::uint64_t ticket);
  Engine& engine_;
  Phase phase_;
  std::function<void()> action_;
  std::uint64_t ticket_ = 0;
  bool pending_ = false;
  SimTime expires_{};
};

/// Where tasks wait until somebody wakes them, first come first served. Like the kernel's wait queue it carries no
/// state: a waker changes what was waited for, the woken one looks again.
class WaitQueue {
 public:
  explicit WaitQueue(Engine& engine, Phase phase = Phase::task) : engine_(engine), phase_(phase) {}
  WaitQueue(const WaitQueue&) = delete;
  WaitQueue& operator=(const WaitQueue&) = delete;

  struct Awaiter {
    WaitQueue& queue;
    std::coroutine_handle<> handle{};
    Awaiter* next = nullptr;
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> h) { handle = h; queue.append(*this); }
    void await_resume() const noexcept {}
  };
  [[nodiscard]] Awaiter wait() { return Awaiter{*this}; }
  void wake_one();
  void wake_all();
  [[nodiscard]] bool empty() const { return head_ == nullptr; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  void append(Awaiter& awaiter);
  Engine& engine_;
  Phase phase_;
  Awaiter* head_ = nullptr;
  Awaiter* tail_ = nullptr;
  std::size_t size_ = 0;
};

/// A counted resource, granted strictly first come first served (a large request at the head is not overtaken).
class Semaphore {
 public:
  Semaphore(Engine& engine, std::int64_t available, Phase phase = Phase::task)
      : engine_(engine), phase_(phase), available_(available) {}
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;

  struct Awaiter {
    Semaphore& semaphore;
    std::int64_t count;
    std::coroutine_handle<> handle{};
    Awaiter* next = nullptr;
    bool await_ready() { return semaphore.try_acquire(count); }
    void await_suspend(std::coroutine_handle<> h) { handle = h; semaphore.append(*this); }
    void await_resume() const noexcept {}
  };
  [[nodiscard]] Awaiter acquire(std::int64_t count = 1) { return Awaiter{*this, count}; }
  [[nodiscard]] bool try_acquire(std::int64_t count = 1);
  void release(std::int64_t count = 1);
  [[nodiscard]] std::int64_t available() const { return available_; }
  [[nodiscard]] std::size_t waiting() const { return waiting_; }

 private:
  void append(Awaiter& awaiter);
  Engine& engine_;
  Phase phase_;
  std::int64_t available_;
  Awaiter* head_ = nullptr;
  Awaiter* tail_ = nullptr;
  std::size_t waiting_ = 0;
};

/// A sleeping lock: a semaphore of one.
class Mutex : public Semaphore {
 public:
  explicit Mutex(Engine& engine, Phase phase = Phase::task) : Semaphore(engine, 1, phase) {}
  [[nodiscard]] Awaiter lock() { return acquire(1); }
  [[nodiscard]] bool try_lock() { return try_acquire(1); }
  void unlock() { release(1); }
};

}  // namespace spillway::sim
