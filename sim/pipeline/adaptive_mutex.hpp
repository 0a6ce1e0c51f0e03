#pragma once
/// A mutex between threads on cores: an atomic word whose cache line travels, a short spin while the owner runs, then
/// sleep. What it costs grows with the number of cores that want the line, and a sleeper pays a wake-up each time.
///
/// Barging, as in pthread mutexes and the kernel's futex: unlock frees the lock and wakes one sleeper, and a running
/// thread may take it first. So a contended lock with a short hold is handed from running thread to running thread.

#include <cstdint>
#include <string>

#include "sim/engine/engine.hpp"
#include "sim/engine/task.hpp"
#include "sim/pipeline/scheduler.hpp"

namespace spillway::sim::pipeline {

struct MutexParams {
  Duration uncontended = std::chrono::nanoseconds{25};   ///< one atomic operation, line in this core's cache. assumed
  Duration line_transfer = std::chrono::nanoseconds{80}; ///< line comes from another core. assumed: one socket
  /// Each further thread that waits makes every operation on the line this much dearer. assumed.
  Duration per_contender = std::chrono::nanoseconds{40};
  /// How long a waiter spins while the owner is on a core. 0: glibc's default mutex; kernel mutexes spin.
  Duration spin_limit{0};
  Duration sleep_cost = std::chrono::nanoseconds{1200};  ///< futex wait: into the kernel and off the core. assumed
  Duration wake_cost = std::chrono::nanoseconds{1500};   ///< futex wake, paid by the one who unlocks. assumed
};

class AdaptiveMutex {
 public:
  AdaptiveMutex(Engine& engine, std::string name, MutexParams params = {})
      : engine_(engine), name_(std::move(name)), params_(params), sleepers_(engine) {}
  AdaptiveMutex(const AdaptiveMutex&) = delete;
  AdaptiveMutex& operator=(const AdaptiveMutex&) = delete;

  Task<> lock(Scheduler& scheduler, Worker& worker);
  Task<> unlock(Scheduler& scheduler, Worker& worker);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] Duration held() const { return held_; }        ///< somebody owned it
  [[nodiscard]] Duration waited() const { return waited_; }    ///< summed over threads
  [[nodiscard]] std::int64_t acquired() const { return acquired_; }
  [[nodiscard]] std::int64_t contended() const { return contended_; }  ///< acquisitions that found it taken
  [[nodiscard]] std::int64_t slept() const { return slept_; }

 private:
  [[nodiscard]] Duration line_cost(const Worker& worker) const;
  Engine& engine_;
  std::string name_;
  MutexParams params_;
  WaitQueue sleepers_;
  Worker* owner_ = nullptr;
  int last_core_ = -1;
  int waiters_ = 0;
  SimTime taken_at_{};
  Duration held_{}, waited_{};
  std::int64_t acquired_ = 0, contended_ = 0, slept_ = 0;
};

}  // namespace spillway::sim::pipeline
