#include "sim/cpu/cpu_set.hpp"

#include <algorithm>

#include "sim/check.hpp"

namespace spillway::sim {

CpuSet::CpuSet(Engine& engine, CpuParams params) : engine_(engine), params_(params) {
  SPILLWAY_CHECK(params_.cores > 0 && params_.numa_nodes > 0, "a box needs a core and a node");
  cores_.resize(static_cast<std::size_t>(params_.cores));
  for (int i = 0; i < params_.cores; ++i) {
    cores_[static_cast<std::size_t>(i)].cpus = this;
    cores_[static_cast<std::size_t>(i)].index = i;
  }
}

Thread& CpuSet::new_thread(std::string name, int core) {
  threads_.push_back(Thread{std::move(name)});
  threads_.back().core_ = core % params_.cores;
  return threads_.back();
}

Duration CpuSet::slowed(Duration duration, Bytes bytes) const {
  // n copiers that each want bytes/duration share the memory's bandwidth.
  const Duration fair = time_to_move(Bytes{bytes.value() * (copying_ + 1)}, params_.memory_bandwidth);
  return std::max(duration, fair);
}

void CpuSet::request(Thread& thread, Duration user, Duration duration, bool copying, std::coroutine_handle<> handle) {
  SPILLWAY_CHECK(!thread.waiter_, "a thread asked for CPU time while it already waits for some");
  thread.waiter_ = handle;
  thread.user_first_ = user;
  thread.wanted_ = duration;
  thread.copying_ = copying;
  thread.queued_at_ = engine_.now();

  Core& own = cores_[static_cast<std::size_t>(thread.core_)];
  if (own.holder == &thread) {  // still on its core: go on, unless its turn is over
    thread.woken_ = false;
    if (!must_yield(own)) {
      begin_segment(own);
    } else {
      ++thread.involuntary_switches;
      thread.slice_used_ = Duration{0};
      own.holder = nullptr;
      queue_.push_back(&thread);
      dispatch(own);
    }
    return;
  }
  thread.woken_ = true;
  thread.slice_used_ = Duration{0};
  if (!own.holder) return start(own, thread);
  if (params_.numa_nodes > 1)
    for (Core& core : cores_)
      if (!core.holder && node_of(core.index) == node_of(own.index)) return start(core, thread);
  for (Core& core : cores_)
    if (!core.holder) return start(core, thread);
  queue_.push_back(&thread);
}

namespace {

/// About the scheduler's memory of load (half-life 32 ms). cited: kernel/sched/pelt.c, LOAD_AVG_PERIOD.
constexpr Duration kLoadWindow = std::chrono::milliseconds{32};

}  // namespace

int CpuSet::core_for_new_process(int parent_core) const {
  std::vector<Duration> load(static_cast<std::size_t>(params_.numa_nodes));
  for (const Thread& t : threads_) {
    if (t.exited_) continue;
    const Duration age = engine_.now() - t.window_;
    Duration recent{0};
    if (age < kLoadWindow) recent = t.in_window_ + t.in_last_window_;
    else if (age < 2 * kLoadWindow) recent = t.in_window_;
    load[static_cast<std::size_t>(node_of(t.core_))] += recent;
  }
  int best = node_of(parent_core);
  for (int n = 0; n < params_.numa_nodes; ++n)
    if (load[static_cast<std::size_t>(n)] < load[static_cast<std::size_t>(best)]) best = n;
  for (const Core& core : cores_)
    if (!core.holder && node_of(core.index) == best) return core.index;
  return best;
}

bool CpuSet::must_yield(const Core& core) const {
  if (queue_.empty()) return false;
  const Duration used = core.holder->slice_used_;
  return used >= params_.slice || (queue_.front()->woken_ && used >= params_.wakeup_granularity);
}

void CpuSet::start(Core& core, Thread& thread) {
  thread.account.runqueue += engine_.now() - thread.queued_at_;
  thread.core_ = core.index;
  core.holder = &thread;
  core.overhead = core.last == &thread || !core.last ? Duration{0} : params_.context_switch;
  core.last = &thread;
  begin_segment(core);
}

void CpuSet::begin_segment(Core& core) {
  Thread& thread = *core.holder;
  core.running = true;
  if (thread.copying_) ++copying_;
  core.segment = core.overhead + std::min(thread.wanted_, params_.slice);
  engine_.schedule(engine_.now() + core.segment, Phase::task, segment_done, &core);
}

void CpuSet::segment_done(void* argument, std::uint64_t) {
  Core& core = *static_cast<Core*>(argument);
  CpuSet& self = *core.cpus;
  Thread& thread = *core.holder;
  const Duration work = core.segment - core.overhead;
  core.running = false;
  if (thread.copying_) --self.copying_;
  const Duration user = std::min(work, thread.user_first_);
  thread.user_first_ -= user;
  thread.account.user += user;
  thread.account.system += work - user + core.overhead;
  core.overhead = Duration{0};
  self.busy_ += core.segment;
  thread.slice_used_ += core.segment;
  thread.wanted_ -= work;
  if (self.params_.numa_nodes > 1) {
    if (const SimTime now = self.engine_.now(); now - thread.window_ >= kLoadWindow) {
      thread.in_last_window_ = now - thread.window_ < 2 * kLoadWindow ? thread.in_window_ : Duration{0};
      thread.in_window_ = Duration{0};
      thread.window_ = now;
    }
    thread.in_window_ += core.segment;
  }

  if (thread.wanted_.count() > 0) {
    if (!self.must_yield(core)) return self.begin_segment(core);
    ++thread.involuntary_switches;
    thread.slice_used_ = Duration{0};
    thread.woken_ = false;
    thread.queued_at_ = self.engine_.now();
    core.holder = nullptr;
    self.queue_.push_back(&thread);
    return self.dispatch(core);
  }
  const auto waiter = std::exchange(thread.waiter_, nullptr);
  self.current_ = &thread;
  waiter.resume();
  self.current_ = nullptr;
  // It came back with another request (running), lost the core in request(), or waits for something else: then the core
  // is free.
  if (core.holder == &thread && !core.running) {
    ++thread.voluntary_switches;
    if (self.on_sleep) self.on_sleep(thread);
    self.release(core);
  }
}

void CpuSet::release(Core& core) {
  core.holder = nullptr;
  dispatch(core);
}

void CpuSet::dispatch(Core& core) {
  if (queue_.empty()) return;
  Thread& next = *queue_.front();
  queue_.pop_front();
  start(core, next);
}

}  // namespace spillway::sim
