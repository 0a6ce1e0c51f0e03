#include "sim/pipeline/adaptive_mutex.hpp"

#include "sim/check.hpp"

namespace spillway::sim::pipeline {

Duration AdaptiveMutex::line_cost(const Worker& worker) const {
  Duration cost = params_.uncontended;
  if (last_core_ >= 0 && last_core_ != worker.core()) cost += params_.line_transfer;
  return cost + params_.per_contender * waiters_;
}

Task<> AdaptiveMutex::lock(Scheduler& scheduler, Worker& worker) {
  constexpr Duration kSpinStep{400};
  const SimTime began = engine_.now();
  bool found_taken = false;
  co_await scheduler.run(worker, line_cost(worker));
  while (owner_) {
    found_taken = true;
    ++waiters_;
    for (Duration spun{0}; owner_ && owner_->on_core() && spun < params_.spin_limit; spun += kSpinStep)
      co_await scheduler.run(worker, kSpinStep);
    if (owner_) {
      co_await scheduler.run(worker, params_.sleep_cost);
      if (owner_) {  // the futex word is checked again in the kernel
        ++slept_;
        co_await sleepers_.wait();
      }
    }
    --waiters_;
    co_await scheduler.run(worker, line_cost(worker));
  }
  owner_ = &worker;
  last_core_ = worker.core();
  taken_at_ = engine_.now();
  ++acquired_;
  if (found_taken) {
    ++contended_;
    waited_ += engine_.now() - began;
  }
}

Task<> AdaptiveMutex::unlock(Scheduler& scheduler, Worker& worker) {
  SPILLWAY_CHECK(owner_ == &worker, "a thread unlocked a mutex that it does not own");
  co_await scheduler.run(worker, line_cost(worker));
  held_ += engine_.now() - taken_at_;
  owner_ = nullptr;
  if (!sleepers_.empty()) {
    sleepers_.wake_one();
    co_await scheduler.run(worker, params_.wake_cost);
  }
}

}  // namespace spillway::sim::pipeline
