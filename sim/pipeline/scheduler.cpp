#include "sim/pipeline/scheduler.hpp"

#include <algorithm>
#include <bit>

#include "sim/check.hpp"

namespace spillway::sim::pipeline {

SchedulerParams default_scheduler(SchedulerKind kind, int cores) {
  // tunable_scaling = log: factor 1 + ilog2(min(cores, 8)).
  const int factor = 1 + (std::bit_width(static_cast<unsigned>(std::clamp(cores, 1, 8))) - 1);
  SchedulerParams params;
  params.kind = kind;
  params.cores = cores;
  params.latency = std::chrono::microseconds{6000} * factor;
  params.min_granularity = std::chrono::microseconds{750} * factor;
  params.wakeup_granularity = std::chrono::microseconds{1000} * factor;
  params.base_slice = std::chrono::microseconds{700} * factor;
  return params;
}

Scheduler::Scheduler(Engine& engine, SchedulerParams params) : engine_(engine), params_(params) {
  SPILLWAY_CHECK(params_.cores > 0, "a host needs a core");
  cores_.resize(static_cast<std::size_t>(params_.cores));
  for (int i = 0; i < params_.cores; ++i) {
    Core& core = cores_[static_cast<std::size_t>(i)];
    core.scheduler = this;
    core.index = i;
    core.average_idle = params_.migration_cost * 2;  // as at boot: willing to look for work
  }
}

Worker& Scheduler::new_worker(std::string name) {
  workers_.push_back(Worker{std::move(name)});
  workers_.back().core_ = static_cast<int>(workers_.size() - 1) % params_.cores;
  return workers_.back();
}

void Scheduler::request(Worker& worker, Duration duration, std::coroutine_handle<> handle) {
  SPILLWAY_CHECK(!worker.waiter_, "a thread asked for CPU time while it already waits for some");
  worker.waiter_ = handle;
  worker.remaining_ = duration;
  Core& core = cores_[static_cast<std::size_t>(worker.core_)];
  if (core.current == &worker && core.between) {  // it keeps its core from one request to the next
    core.between = false;
    begin_segment(core, Duration{0});
    return;
  }
  wake(worker);
}

Scheduler::Core& Scheduler::choose_core(Worker& worker) {
  Core& previous = cores_[static_cast<std::size_t>(worker.core_)];
  if (!previous.current) return previous;
  for (int step = 1; step < params_.cores; ++step) {
    Core& core = cores_[static_cast<std::size_t>((worker.core_ + step) % params_.cores)];
    if (!core.current) return core;
  }
  return previous;
}

void Scheduler::wake(Worker& worker) {
  Core& previous = cores_[static_cast<std::size_t>(worker.core_)];
  Core& core = choose_core(worker);
  if (&core != &previous) worker.vruntime_ += core.min_vruntime - previous.min_vruntime;
  worker.core_ = core.index;
  worker.woken_ = true;
  worker.queued_at_ = engine_.now();
  worker.state_ = Worker::State::queued;
  if (core.current) charge(core);
  place(core, worker);
  if (!core.current) {
    core.average_idle = (core.average_idle * 7 + (engine_.now() - core.idle_since)) / 8;
    start(core, worker, params_.idle_exit);
    return;
  }
  if (preempts(core, worker)) {
    Worker& pushed_out = *core.current;
    stop_current(core);
    ++pushed_out.involuntary_switches;
    enqueue(core, pushed_out);
    start(core, worker, Duration{0});
    return;
  }
  enqueue(core, worker);
}

void Scheduler::place(Core& core, Worker& worker) {
  if (params_.kind == SchedulerKind::cfs) {
    const Duration credit = params_.gentle_fair_sleepers ? params_.latency / 2 : params_.latency;
    worker.vruntime_ = std::max(worker.vruntime_, core.min_vruntime - credit.count());
    return;
  }
  // EEVDF: the lag is kept, inflated because the newcomer itself moves the average.
  std::int64_t running = static_cast<std::int64_t>(core.queue.size()) + (core.current ? 1 : 0);
  // A thread that fell asleep ahead of its share stays on the queue until the others have caught up (DELAY_DEQUEUE,
  // 6.12), so a sleep pays off what it owed.
  std::int64_t lag = worker.lag_;
  if (lag < 0) lag = std::min<std::int64_t>(0, lag + (engine_.now() - worker.last_ran_).count());
  if (running > 0) lag = lag * (running + 1) / running;
  worker.vruntime_ = average_vruntime(core) - lag;
  worker.deadline_ = worker.vruntime_ + slice_of(worker).count();
}

std::int64_t Scheduler::average_vruntime(const Core& core) const {
  std::int64_t sum = 0;
  std::int64_t count = 0;
  const auto add = [&](const Worker& worker) {
    sum += worker.vruntime_ - core.min_vruntime;
    ++count;
  };
  if (core.current) add(*core.current);
  for (const Worker* worker : core.queue) add(*worker);
  return count > 0 ? core.min_vruntime + sum / count : core.min_vruntime;
}

bool Scheduler::preempts(const Core& core, const Worker& woken) const {
  const Worker& current = *core.current;
  if (params_.kind == SchedulerKind::cfs)
    return current.vruntime_ - woken.vruntime_ > params_.wakeup_granularity.count();
  // RUN_TO_PARITY: the running thread is protected for a slice, cut short by a woken one that asks for shorter slices.
  const Duration ran = engine_.now() - core.picked_at;
  const Duration protection = std::min(slice_of(current), slice_of(woken));
  if (ran < protection && !core.slice_over && slice_of(woken) >= slice_of(current)) return false;
  const std::int64_t average = average_vruntime(core);
  return woken.vruntime_ <= average && woken.deadline_ < current.deadline_;
}

void Scheduler::enqueue(Core& core, Worker& worker) {
  worker.state_ = Worker::State::queued;
  core.queue.push_back(&worker);
  arm_tick(core);
}

void Scheduler::update_min_vruntime(Core& core) {
  std::int64_t lowest = core.current ? core.current->vruntime_ : 0;
  bool any = core.current != nullptr;
  for (const Worker* worker : core.queue) {
    if (!any || worker->vruntime_ < lowest) lowest = worker->vruntime_;
    any = true;
  }
  if (any) core.min_vruntime = std::max(core.min_vruntime, lowest);
}

Worker* Scheduler::pick(Core& core) {
  if (core.queue.empty()) return nullptr;
  auto best = core.queue.begin();
  if (params_.kind == SchedulerKind::cfs) {
    for (auto it = core.queue.begin(); it != core.queue.end(); ++it)
      if ((*it)->vruntime_ < (*best)->vruntime_) best = it;
  } else {
    const std::int64_t average = average_vruntime(core);
    bool found = false;
    for (auto it = core.queue.begin(); it != core.queue.end(); ++it) {
      if ((*it)->vruntime_ > average) continue;  // not eligible: ahead of its fair share
      if (!found || (*it)->deadline_ < (*best)->deadline_) best = it;
      found = true;
    }
  }
  Worker* const chosen = *best;
  core.queue.erase(best);
  return chosen;
}

void Scheduler::start(Core& core, Worker& worker, Duration extra) {
  const Duration waited = engine_.now() - worker.queued_at_;
  worker.waited += waited;
  Duration switching = core.last != &worker ? params_.context_switch : Duration{0};
  if (worker.last_core_ >= 0 && worker.last_core_ != core.index) {
    switching += params_.migration;
    ++worker.migrations;
  }
  if (worker.woken_) worker.wakeup_delay.add(waited + extra + switching);
  worker.woken_ = false;
  worker.state_ = Worker::State::running;
  worker.core_ = core.index;
  worker.last_core_ = core.index;
  core.current = &worker;
  core.last = &worker;
  core.between = false;
  core.picked_at = engine_.now();
  core.slice_over = false;
  overhead_ += switching;
  busy_ += switching;
  begin_segment(core, extra + switching);
}

void Scheduler::begin_segment(Core& core, Duration extra) {
  core.segment_began = engine_.now() + extra;
  core.end_ticket = engine_.schedule(core.segment_began + core.current->remaining_, Phase::task, segment_ended, &core);
  arm_tick(core);
}

void Scheduler::charge(Core& core) {
  Worker& worker = *core.current;
  if (core.between) return;
  const Duration done = std::clamp(engine_.now() - core.segment_began, Duration{0}, worker.remaining_);
  worker.remaining_ -= done;
  worker.cpu += done;
  busy_ += done;
  worker.vruntime_ += done.count();
  if (params_.kind == SchedulerKind::eevdf && worker.vruntime_ >= worker.deadline_) {  // update_deadline()
    worker.deadline_ = worker.vruntime_ + slice_of(worker).count();
    core.slice_over = true;
  }
  core.segment_began = std::max(core.segment_began, engine_.now());
  update_min_vruntime(core);
}

void Scheduler::segment_ended(void* address, std::uint64_t ticket) {
  Core& core = *static_cast<Core*>(address);
  if (core.end_ticket != ticket || !core.current) return;  // it was preempted since
  Scheduler& self = *core.scheduler;
  self.charge(core);
  core.end_ticket = 0;
  core.between = true;
  Worker& worker = *core.current;
  worker.last_ran_ = self.engine_.now();
  const auto handle = std::exchange(worker.waiter_, nullptr);
  handle.resume();
  if (core.current != &worker || !core.between) return;  // it asked for more
  // It waits for something else: off the core, and off the queue.
  if (self.params_.kind == SchedulerKind::eevdf) {
    const std::int64_t limit = 2 * self.slice_of(worker).count();
    worker.lag_ = std::clamp(self.average_vruntime(core) - worker.vruntime_, -limit, limit);
  }
  ++worker.voluntary_switches;
  worker.state_ = Worker::State::sleeping;
  core.current = nullptr;
  core.between = false;
  self.reschedule(core);
}

void Scheduler::stop_current(Core& core) {
  Worker& worker = *core.current;
  core.end_ticket = 0;
  worker.queued_at_ = engine_.now();
  worker.last_ran_ = engine_.now();
  core.current = nullptr;
}

void Scheduler::reschedule(Core& core) {
  if (Worker* next = pick(core)) {
    start(core, *next, Duration{0});
    return;
  }
  idle(core);
}

void Scheduler::idle(Core& core) {
  core.idle_since = engine_.now();
  if (params_.cores == 1 || core.average_idle < params_.migration_cost) return;
  ++balance_looks_;
  const Duration look = params_.balance_look * (params_.cores - 1);
  overhead_ += look;
  busy_ += look;
  Core* busiest = nullptr;
  for (Core& other : cores_)
    if (!other.queue.empty() && (!busiest || other.queue.size() > busiest->queue.size())) busiest = &other;
  if (!busiest) return;
  for (auto it = busiest->queue.begin(); it != busiest->queue.end(); ++it) {
    Worker& candidate = **it;
    if (engine_.now() - candidate.last_ran_ < params_.migration_cost && candidate.last_core_ >= 0) continue;  // cache hot
    busiest->queue.erase(it);
    candidate.vruntime_ += core.min_vruntime - busiest->min_vruntime;
    start(core, candidate, look);
    return;
  }
}

void Scheduler::arm_tick(Core& core) {
  if (core.tick_armed || core.queue.empty()) return;
  core.tick_armed = true;
  // Ticks are staggered over the cores, as the kernel does with skew_tick, so that no two cores decide at once.
  const std::int64_t period = params_.tick.count();
  const std::int64_t offset = period * core.index / params_.cores;
  const std::int64_t now = engine_.now().time_since_epoch().count();
  const std::int64_t next = ((now - offset) / period + 1) * period + offset;
  engine_.schedule(SimTime{Duration{std::max(next, now + 1)}}, Phase::timer, ticked, &core);
}

void Scheduler::ticked(void* address, std::uint64_t) {
  Core& core = *static_cast<Core*>(address);
  Scheduler& self = *core.scheduler;
  core.tick_armed = false;
  if (core.queue.empty()) return;
  // Periodic balancing: an idle core takes over a waiting thread.
  for (Core& other : self.cores_) {
    if (other.current || &other == &core) continue;
    Worker* const moved = core.queue.back();
    core.queue.pop_back();
    moved->vruntime_ += other.min_vruntime - core.min_vruntime;
    self.start(other, *moved, self.params_.idle_exit);
    break;
  }
  if (core.queue.empty() || !core.current || core.between) return self.arm_tick(core);
  self.charge(core);
  Worker& current = *core.current;
  const Duration ran = self.engine_.now() - core.picked_at;
  bool yield = false;
  if (self.params_.kind == SchedulerKind::cfs) {
    const auto running = static_cast<std::int64_t>(core.queue.size()) + 1;
    const Duration period = std::max(self.params_.latency, self.params_.min_granularity * running);
    const Duration ideal = period / running;
    std::int64_t leftmost = core.queue.front()->vruntime_;
    for (const Worker* worker : core.queue) leftmost = std::min(leftmost, worker->vruntime_);
    yield = ran > ideal ||
            (ran >= self.params_.min_granularity && current.vruntime_ - leftmost > ideal.count());
  } else {
    yield = core.slice_over;
  }
  if (yield && current.remaining_.count() > 0) {
    self.stop_current(core);
    ++current.involuntary_switches;
    self.enqueue(core, current);
    self.reschedule(core);
    return;
  }
  self.arm_tick(core);
}

}  // namespace spillway::sim::pipeline
