#include "sim/pipeline/pipeline.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "sim/check.hpp"
#include "sim/engine/engine.hpp"

namespace spillway::sim::pipeline {

namespace {

struct Request {
  std::size_t source = 0;
  SimTime born{};
};

/// Where a thread waits for work, and what waits for a thread.
struct Inbox {
  explicit Inbox(Engine& engine) : idle(engine) {}
  std::deque<std::pair<Request, std::size_t>> items;  ///< with the stage to go on at
  WaitQueue idle;
  int active = 0;                     ///< threads that are not waiting
  // Time average of the length.
  SimTime changed{};
  std::int64_t area_ns = 0;
  void note(SimTime now) {
    area_ns += (now - changed).count() * static_cast<std::int64_t>(items.size());
    changed = now;
  }
};

/// The link: first come first served at a fixed rate.
struct Link {
  SimTime free_at{};
  Duration busy{};
  std::int64_t bytes = 0, packets = 0;
};

class Pipeline {
 public:
  explicit Pipeline(const PipelineInputs& inputs);
  PipelineOutputs run();

 private:
  struct StageState {
    explicit StageState(Engine& engine) : inbox(engine) {}
    Inbox inbox;
    std::vector<Worker*> workers;
    std::int64_t served = 0;
    Duration lock_wait{};
  };
  struct SourceState {
    explicit SourceState(Engine& engine) : inbox(engine) {}
    Inbox inbox;
    Worker* worker = nullptr;
    int free_slots = 0;
  };
  /// A pending return from link or device.
  struct Return {
    Pipeline* pipeline;
    Request request;
    std::size_t next_stage;
  };

  Scheduler& host_of(const Stage& stage) { return *schedulers_[stage.host]; }
  Duration varied(Duration mean);
  Task<> source_thread(std::size_t index);
  Task<> stage_thread(std::size_t stage, Worker& worker);
  /// Carries a request from `stage` on with `worker` on `host` until it is handed over or done.
  Task<> carry(Request request, std::size_t stage, std::size_t host, Worker& worker);
  Task<> serve(Request request, const Stage& stage, StageState& state, std::size_t host, Worker& worker);
  Task<> hand_over(Request request, std::size_t stage, std::size_t host, Worker& worker);
  /// A hand-over by an interrupt: no thread pays for it.
  void deliver(Request request, std::size_t stage);
  bool wakes_another(const StageState& state, const Stage& stage) const;
  void send(Request request, std::size_t next_stage);
  void submit(Request request, std::size_t next_stage, std::coroutine_handle<> sleeper);
  void device_step();
  void arm_device();
  bool issue_more() const;
  void complete(const Request& request);

  const PipelineInputs& inputs_;
  Engine engine_;
  Random random_;
  std::vector<std::unique_ptr<Scheduler>> schedulers_;
  std::vector<std::unique_ptr<StageState>> stages_;
  std::vector<std::unique_ptr<SourceState>> sources_;
  std::map<std::string, std::unique_ptr<AdaptiveMutex>> locks_;
  std::unique_ptr<device::Device> device_;
  struct DevicePending {
    Request request;
    std::size_t next_stage;
    std::coroutine_handle<> sleeper;
  };
  std::map<std::uint64_t, DevicePending> device_pending_;
  std::uint64_t next_device_id_ = 1;
  std::vector<device::Completion> device_done_;
  std::optional<SimTime> device_armed_;
  Sectors next_offset_{0};
  Link link_;
  std::deque<Return> returns_;  ///< in order of arrival: the link is first come first served
  std::int64_t issued_ = 0, completed_ = 0;
  DelayHistogram latency_;
};

Pipeline::Pipeline(const PipelineInputs& inputs)
    : inputs_(inputs),
      engine_(EngineParams{.seed = inputs.seed, .shuffle_ties = inputs.shuffle_ties}),
      random_(engine_.random("pipeline")) {
  for (const Host& host : inputs_.hosts) schedulers_.push_back(std::make_unique<Scheduler>(engine_, host.scheduler));
  for (const Stage& stage : inputs_.stages) {
    auto state = std::make_unique<StageState>(engine_);
    for (int i = 0; i < stage.threads; ++i)
      state->workers.push_back(&host_of(stage).new_worker(fmt::format("{}/{}", stage.name, i + 1)));
    stages_.push_back(std::move(state));
    if (!stage.lock.empty() && !locks_.contains(stage.lock)) {
      const auto found = inputs_.locks.find(stage.lock);
      locks_[stage.lock] = std::make_unique<AdaptiveMutex>(engine_, stage.lock,
                                                           found != inputs_.locks.end() ? found->second : MutexParams{});
    }
    if (stage.device && !device_) {
      device_ = *device::make_device(inputs_.device, inputs_.seed);  // validate() has made it once
    }
  }
  for (int i = 0; i < inputs_.sources; ++i) {
    auto source = std::make_unique<SourceState>(engine_);
    source->worker = &schedulers_.front()->new_worker(fmt::format("source/{}", i + 1));
    source->free_slots = inputs_.in_flight;
    sources_.push_back(std::move(source));
  }
}

Duration Pipeline::varied(Duration mean) {
  if (mean.count() <= 0) return Duration{0};
  const double factor = random_.uniform(1.0 - inputs_.variation, 1.0 + inputs_.variation);
  return Duration{static_cast<std::int64_t>(static_cast<double>(mean.count()) * factor)};
}

bool Pipeline::issue_more() const {
  if (inputs_.requests > 0) return issued_ < inputs_.requests;
  return engine_.now().time_since_epoch() < inputs_.runtime;
}

Task<> Pipeline::source_thread(std::size_t index) {
  SourceState& self = *sources_[index];
  Worker& worker = *self.worker;
  // Programs do not start in the same nanosecond.
  co_await engine_.sleep(Duration{static_cast<std::int64_t>(random_.below(200'000))});
  for (;;) {
    if (!self.inbox.items.empty()) {  // a reply: finish the inline stages that are left
      const auto [request, stage] = self.inbox.items.front();
      self.inbox.items.pop_front();
      co_await carry(request, stage, 0, worker);
      continue;
    }
    if (self.free_slots > 0 && issue_more()) {
      --self.free_slots;
      ++issued_;
      Request request{index, engine_.now()};
      co_await schedulers_.front()->run(worker, varied(inputs_.think));
      co_await carry(request, 0, 0, worker);
      continue;
    }
    if (self.free_slots == inputs_.in_flight && !issue_more()) break;
    co_await self.inbox.idle.wait();
  }
}

Task<> Pipeline::stage_thread(std::size_t index, Worker& worker) {
  StageState& self = *stages_[index];
  const Stage& stage = inputs_.stages[index];
  for (;;) {
    while (self.inbox.items.empty()) co_await self.inbox.idle.wait();
    ++self.inbox.active;
    while (!self.inbox.items.empty()) {
      self.inbox.note(engine_.now());
      const auto [request, at] = self.inbox.items.front();
      self.inbox.items.pop_front();
      co_await serve(request, stage, self, stage.host, worker);
      co_await carry(request, at + 1, stage.host, worker);
    }
    --self.inbox.active;
  }
}

Task<> Pipeline::serve(Request request, const Stage& stage, StageState& state, std::size_t host, Worker& worker) {
  Scheduler& scheduler = *schedulers_[host];
  const auto per_byte =
      Duration{static_cast<std::int64_t>(stage.cpu_ns_per_byte * static_cast<double>(inputs_.request.value()))};
  const Duration work = stage.cpu_per_request + per_byte;
  const int pieces = std::max(1, stage.pieces);
  for (int piece = 0; piece < pieces; ++piece) {
    if (piece > 0 && stage.piece_gap.count() > 0) co_await engine_.sleep(varied(stage.piece_gap));
    co_await scheduler.run(worker, varied(work / pieces));
  }
  if (!stage.lock.empty()) {
    AdaptiveMutex& mutex = *locks_.at(stage.lock);
    const SimTime before = engine_.now();
    const Duration cpu_before = worker.cpu;
    co_await mutex.lock(scheduler, worker);
    state.lock_wait += (engine_.now() - before) - (worker.cpu - cpu_before);
    co_await scheduler.run(worker, varied(stage.lock_hold));
    co_await mutex.unlock(scheduler, worker);
  }
  ++state.served;
  (void)request;
}

Task<> Pipeline::carry(Request request, std::size_t stage, std::size_t host, Worker& worker) {
  // The stage before this one may have ended at the link or the device.
  for (;; ++stage) {
    if (stage > 0) {
      const Stage& left = inputs_.stages[stage - 1];
      if (left.device) {
        if (!left.blocking) {
          submit(request, stage, nullptr);
          co_return;
        }
        struct Sleep {
          Pipeline& pipeline;
          Request request;
          bool await_ready() const noexcept { return false; }
          void await_suspend(std::coroutine_handle<> handle) { pipeline.submit(request, 0, handle); }
          void await_resume() const noexcept {}
        };
        co_await Sleep{*this, request};
      }
      if (left.link) {
        send(request, stage);
        co_return;
      }
    }
    if (stage == inputs_.stages.size()) {
      // Done. The source is told by whoever carries the request; its own thread needs no telling.
      if (sources_[request.source]->worker != &worker && !sources_[request.source]->inbox.idle.empty())
        co_await schedulers_[host]->run(worker, inputs_.wake_cost);
      complete(request);
      co_return;
    }
    const Stage& next = inputs_.stages[stage];
    if (next.threads > 0) {
      co_await hand_over(request, stage, host, worker);
      co_return;
    }
    co_await serve(request, next, *stages_[stage], host, worker);
  }
}

bool Pipeline::wakes_another(const StageState& state, const Stage& stage) const {
  if (state.inbox.idle.empty()) return false;
  if (state.inbox.active == 0 || stage.requests_per_thread <= 0) return true;
  return static_cast<std::int64_t>(state.inbox.items.size()) >
         static_cast<std::int64_t>(state.inbox.active) * stage.requests_per_thread;
}

Task<> Pipeline::hand_over(Request request, std::size_t stage, std::size_t host, Worker& worker) {
  co_await schedulers_[host]->run(worker, inputs_.queue_push);
  StageState& state = *stages_[stage];
  state.inbox.note(engine_.now());
  state.inbox.items.emplace_back(request, stage);
  if (wakes_another(state, inputs_.stages[stage])) {
    state.inbox.idle.wake_one();
    co_await schedulers_[host]->run(worker, inputs_.wake_cost);
  }
}

void Pipeline::deliver(Request request, std::size_t stage) {
  if (stage < inputs_.stages.size() && inputs_.stages[stage].threads > 0) {
    StageState& state = *stages_[stage];
    state.inbox.note(engine_.now());
    state.inbox.items.emplace_back(request, stage);
    if (wakes_another(state, inputs_.stages[stage])) state.inbox.idle.wake_one();
    return;
  }
  if (stage == inputs_.stages.size()) return complete(request);
  SourceState& source = *sources_[request.source];
  source.inbox.items.emplace_back(request, stage);
  source.inbox.idle.wake_one();
}

void Pipeline::complete(const Request& request) {
  ++completed_;
  latency_.add(engine_.now() - request.born);
  SourceState& source = *sources_[request.source];
  ++source.free_slots;
  source.inbox.idle.wake_one();
  engine_.note_progress();
  if (!issue_more() && completed_ == issued_) engine_.stop();
}

void Pipeline::send(Request request, std::size_t next_stage) {
  const auto bytes = Bytes{static_cast<std::int64_t>(static_cast<double>(inputs_.request.value()) *
                                                     inputs_.bytes_on_link_per_byte)};
  const Duration time = time_to_move(bytes, inputs_.link_rate);
  link_.free_at = std::max(link_.free_at, engine_.now()) + time;
  link_.busy += time;
  link_.bytes += bytes.value();
  link_.packets += (bytes.value() + inputs_.link_packet.value() - 1) / inputs_.link_packet.value();
  returns_.push_back(Return{this, request, next_stage});
  engine_.schedule(
      link_.free_at + inputs_.link_latency, Phase::device_done,
      [](void* self, std::uint64_t) {
        auto& pipeline = *static_cast<Pipeline*>(self);
        const Return back = pipeline.returns_.front();
        pipeline.returns_.pop_front();
        pipeline.deliver(back.request, back.next_stage);
      },
      this);
}

void Pipeline::submit(Request request, std::size_t next_stage, std::coroutine_handle<> sleeper) {
  const auto length = Sectors{(inputs_.request.value() + kSectorSize.value() - 1) / kSectorSize.value()};
  const std::int64_t slots = std::max<std::int64_t>(1, device_->capacity() / length);
  Sectors start = next_offset_;
  if (inputs_.random_offsets) {
    start = length * static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(slots)));
  } else {
    next_offset_ += length;
    if (next_offset_ + length > device_->capacity()) next_offset_ = Sectors{0};
  }
  device::Request block;
  block.id = next_device_id_++;
  block.start = start;
  block.length = length;
  block.write = inputs_.write;
  block.sync = true;
  device_pending_[block.id] = DevicePending{request, next_stage, sleeper};
  device_done_.clear();
  device_->advance(engine_.now(), device_done_);
  device_->submit(engine_.now(), block);
  device_step();
}

void Pipeline::device_step() {
  // Completions found while advancing are delivered at the present instant.
  const std::vector<device::Completion> done = std::exchange(device_done_, {});
  for (const device::Completion& completion : done) {
    const auto found = device_pending_.find(completion.id);
    SPILLWAY_CHECK(found != device_pending_.end(), "the device completed a request that nobody submitted");
    const DevicePending pending = found->second;
    device_pending_.erase(found);
    if (pending.sleeper) {
      engine_.resume_at(engine_.now(), Phase::task, pending.sleeper);
    } else {
      deliver(pending.request, pending.next_stage);
    }
  }
  arm_device();
}

void Pipeline::arm_device() {
  const std::optional<SimTime> next = device_->next_event();
  if (!next || (device_armed_ && *device_armed_ <= *next && *device_armed_ >= engine_.now())) return;
  device_armed_ = std::max(*next, engine_.now());
  engine_.schedule(
      *device_armed_, Phase::device_done,
      [](void* self, std::uint64_t) {
        auto& pipeline = *static_cast<Pipeline*>(self);
        if (!pipeline.device_armed_ || *pipeline.device_armed_ != pipeline.engine_.now()) return;  // armed earlier since
        pipeline.device_armed_.reset();
        pipeline.device_->advance(pipeline.engine_.now(), pipeline.device_done_);
        pipeline.device_step();
      },
      this);
}

PipelineOutputs Pipeline::run() {
  for (std::size_t s = 0; s < inputs_.stages.size(); ++s)
    for (Worker* worker : stages_[s]->workers) engine_.spawn(stage_thread(s, *worker));
  for (std::size_t i = 0; i < sources_.size(); ++i) engine_.spawn(source_thread(i));
  const RunOutcome outcome = engine_.run();
  SPILLWAY_CHECK(outcome == RunOutcome::stopped, "the pipeline stood still before its last request was done");

  PipelineOutputs out;
  out.elapsed = engine_.now().time_since_epoch();
  out.requests = completed_;
  out.events = engine_.events();
  out.latency = latency_;
  const double seconds = to_seconds(out.elapsed);
  const auto bytes = static_cast<double>(completed_) * static_cast<double>(inputs_.request.value());
  out.iops = static_cast<double>(completed_) / seconds;
  out.mb_per_s = bytes / seconds * 1e-6;
  out.durable = out.elapsed;
  if (inputs_.durable_rate.value() > 0)
    out.durable = std::max(out.durable, time_to_move(Bytes{static_cast<std::int64_t>(bytes)}, inputs_.durable_rate));
  out.durable_mb_per_s = bytes / to_seconds(out.durable) * 1e-6;

  const auto percent = [&](Duration part) { return 100.0 * to_seconds(part) / seconds; };
  const auto add_thread = [&](const std::string& stage, const Worker& worker, StageOutput& sum) {
    ThreadOutput thread{stage, worker.name(), percent(worker.cpu), percent(worker.waited), worker.cpu,
                        worker.voluntary_switches, worker.involuntary_switches, worker.migrations};
    sum.cpu_pct += thread.cpu_pct;
    sum.cpu_pct_max = std::max(sum.cpu_pct_max, thread.cpu_pct);
    sum.wakeup_delay += worker.wakeup_delay;
    sum.context_switches += worker.voluntary_switches + worker.involuntary_switches;
    out.threads.push_back(std::move(thread));
  };
  StageOutput source;
  source.name = "source";
  source.requests = completed_;
  for (const auto& state : sources_) add_thread("source", *state->worker, source);
  out.stages.push_back(std::move(source));
  for (std::size_t s = 0; s < inputs_.stages.size(); ++s) {
    StageState& state = *stages_[s];
    StageOutput stage;
    stage.name = inputs_.stages[s].name;
    stage.requests = state.served;
    for (const Worker* worker : state.workers) add_thread(stage.name, *worker, stage);
    state.inbox.note(engine_.now());
    stage.queue_mean = static_cast<double>(state.inbox.area_ns) / static_cast<double>(out.elapsed.count());
    stage.lock_wait = state.lock_wait;
    out.stages.push_back(std::move(stage));
  }
  for (const auto& [name, mutex] : locks_)
    out.locks.push_back({name, percent(mutex->held()), mutex->waited(), mutex->acquired(), mutex->contended(), mutex->slept()});
  Duration cpu{};
  for (std::size_t h = 0; h < schedulers_.size(); ++h) {
    HostOutput host;
    host.name = inputs_.hosts[h].name;
    host.cpu = schedulers_[h]->busy();
    host.cpu_pct = percent(host.cpu) / inputs_.hosts[h].scheduler.cores;
    for (const Worker& worker : schedulers_[h]->workers()) host.wakeup_delay += worker.wakeup_delay;
    cpu += host.cpu;
    out.hosts.push_back(std::move(host));
  }
  out.cpu_s_per_gb = bytes > 0 ? to_seconds(cpu) / (bytes * 1e-9) : 0;
  out.link_busy_pct = percent(link_.busy);
  out.link_bytes = link_.bytes;
  out.link_packets = link_.packets;
  if (device_) {
    const auto split = device_->counters(engine_.now()).split();
    if (split.total().count() > 0)
      out.device_busy_pct = 100.0 * (1.0 - to_seconds(split.idle) / to_seconds(split.total()));
  }
  engine_.destroy_roots();
  return out;
}

}  // namespace

Status validate(const PipelineInputs& inputs) {
  const auto wrong = [](std::string what) { return fail(ErrorKind::bad_input, std::move(what)); };
  if (inputs.hosts.empty()) return wrong("A pipeline needs at least one host.");
  if (inputs.sources < 1 || inputs.in_flight < 1)
    return wrong("A pipeline needs at least one source with one request in flight.");
  if (inputs.request.value() < 1) return wrong("The pipeline's request has no size; give one of at least 1 B.");
  if (inputs.requests <= 0 && inputs.runtime.count() <= 0)
    return wrong("The pipeline would never end: give a number of requests or a runtime.");
  if (inputs.variation < 0 || inputs.variation >= 1) return wrong("The variation of CPU times must be in [0, 1).");
  for (const Stage& stage : inputs.stages) {
    if (stage.host >= inputs.hosts.size())
      return wrong(fmt::format("Stage {} names a host that is not listed.", stage.name));
    if (stage.threads < 0) return wrong(fmt::format("Stage {} has fewer than 0 threads.", stage.name));
    if (stage.link && inputs.link_rate.value() <= 0)
      return wrong(fmt::format("Stage {} sends over a link without a rate; give the link one.", stage.name));
    if (stage.link && stage.device)
      return wrong(fmt::format("Stage {} has both a link and a device; make two stages of it.", stage.name));
    if (stage.device) SPILLWAY_TRY(device::make_device(inputs.device, inputs.seed));
    if (stage.blocking && !stage.device)
      return wrong(fmt::format("Stage {} blocks but has no device to wait for.", stage.name));
  }
  for (const Host& host : inputs.hosts)
    if (host.scheduler.cores < 1) return wrong(fmt::format("Host {} has no core.", host.name));
  return {};
}

PipelineOutputs run_pipeline(const PipelineInputs& inputs) { return Pipeline{inputs}.run(); }

}  // namespace spillway::sim::pipeline
