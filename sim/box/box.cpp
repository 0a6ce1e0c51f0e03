#include "sim/box/box.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "sim/block/simple_block_device.hpp"
#include "sim/box/untar.hpp"
#include "sim/cache/archive.hpp"
#include "sim/cache/file_reader.hpp"
#include "sim/cache/page_cache.hpp"
#include "sim/check.hpp"
#include "sim/flusher/flushers.hpp"
#include "sim/job/job_runner.hpp"
#include "sim/memory/dirty_memory.hpp"
#include "sim/xfs/simple_xfs.hpp"
#include "sim/xfs/worker_names.hpp"
#include "sim/xfs/xfs.hpp"

namespace spillway::sim {

namespace {

KernelWord pages_per_second(BytesPerSec rate) { return static_cast<KernelWord>(rate.value() / kPageSize.value()); }
KernelWord whole_pages(Bytes bytes) { return static_cast<KernelWord>(to_pages_floor(bytes).value()); }

/// Largest bio: 256 segments of one folio each. Programs that write little at a time make small folios.
Bytes largest_bio(const BoxInputs& in) {
  const std::int64_t folio = in.kernel.large_folios
                                 ? std::clamp<std::int64_t>(in.replay.engine.write_size.value(), 4096, 2 * kMiB)
                                 : 4096;
  // 4.18 chains the bios of one I/O end, which completes as a whole; without a cap there, 4 MiB are taken (assumed).
  const std::int64_t chained = in.kernel.name == "4.18" ? 4 : 1;
  return Bytes{std::min<std::int64_t>(256 * folio * chained, 16 * kMiB) / 4096 * 4096};
}

DeviceWriteback device_before(const BoxInputs& in, const TickClock& clock) {
  DeviceWriteback wb;
  const StateBefore& b = in.before;
  wb.estimate = {pages_per_second(b.write_bandwidth), pages_per_second(b.avg_write_bandwidth)};
  wb.rate = {pages_per_second(b.dirty_ratelimit), pages_per_second(b.balanced_dirty_ratelimit)};
  wb.bandwidth_stamp = clock.jiffies(SimTime{}) - b.bandwidth_stamp_age.count() * in.hz / 1'000'000'000;
  wb.completions.events = b.device_completions;
  return wb;
}

DirtyMemoryParams memory_before(const BoxInputs& in) {
  DirtyMemoryParams p;
  p.settings = in.memory.dirty;
  p.dirtyable = in.memory.dirtyable.value() > 0 ? whole_pages(in.memory.dirtyable) : whole_pages(in.memory.ram) / 10 * 9;
  p.dirty_limit = whole_pages(in.before.dirty_limit);
  p.foreign_dirty = to_pages_floor(in.before.foreign_dirty).value();
  p.foreign_completions_per_s = in.before.foreign_completions_per_s;
  p.completions.events = std::max<std::int64_t>(in.before.global_completions, 1);
  p.next_halving = in.before.next_halving;
  p.kernel = in.kernel;
  p.cores = in.cpu.cores;
  p.balance_cost = in.costs.balance_dirty;
  p.wake_cost = in.costs.wake_after_sleep;
  p.wake_jitter = in.wake_jitter;
  return p;
}

/// The cache is followed where something is read: otherwise what is in it decides nothing.
bool cache_matters(const BoxInputs& in) { return !in.jobs.empty() || in.replay.archive_cold; }

PageCacheParams cache_before(const BoxInputs& in, const DirtyMemory& memory) {
  return {.pages = memory.dirtyable(), .nodes = in.cpu.numa_nodes, .dirty = in.memory.dirty, .reclaim_page = in.costs.reclaim_page};
}

/// Everything of one run. Members are in order of dependence; the engine goes last.
class Box {
 public:
  explicit Box(const BoxInputs& in)
      : in_(in),
        engine_({.seed = in.seed, .shuffle_ties = in.shuffle_ties}),
        clock_(in.hz, in.before.tick_phase, in.kernel.rounding_timer_wheel),
        cpus_(engine_, in.cpu),
        wb_(device_before(in, clock_)),
        memory_(engine_, clock_, cpus_, memory_before(in), in.ablation),
        device_(engine_, clock_, in.device, wb_, in.ablation.throttle_slices, in.kernel),
        files_(make_files()),
        flushers_(engine_, cpus_, memory_, wb_, *files_,
                  {.writeback_interval = in.memory.writeback_interval,
                   .dirty_expire = in.memory.dirty_expire,
                   .kernel = in.kernel,
                   .inode_cost = in.costs.flush_inode},
                  in.flushers),
        cache_(engine_, cpus_, cache_before(in, memory_)),
        reader_(engine_, cpus_, cache_, memory_, device_, *files_, in_.costs,
                {.read_ahead_pages = to_pages_ceil(in.device.read_ahead).value(),
                 .io_pages = to_pages_ceil(in.device.max_request).value(),
                 .max_bio_pages = 256}),
        sample_timer_(engine_, Phase::sample, [this] { sample(); }) {
    files_->set_flushers(flushers_);
    device_.plug_tasks_of(cpus_);
    cache_.cleaned_ever = [this] { return flushers_.written() + flushers_.cancelled(); };
    if (in_.replay.archive_cold) archive_.emplace(engine_, clock_, cpus_, cache_, memory_, wb_, *files_, in_);
    if (!in_.jobs.empty()) jobs_.emplace(parts(), cache_, reader_);
    trace();
  }
  ~Box() { engine_.destroy_roots(); }

  Result<BoxOutputs> run() {
    engine_.describe_with([this] {
      return fmt::format("dirty {} writeback {} (device {}/{}), b_dirty {} b_io {} b_more_io {}, parked bios {}",
                         memory_.file_dirty(), memory_.under_writeback(), flushers_.reclaimable(), flushers_.writeback(),
                         flushers_.b_dirty(), flushers_.b_io(), flushers_.b_more_io(), device_.counters().parked);
    });
    // Whole cores first, then what is left of the foreign load.
    for (double load = in_.before.foreign_cpus; load > 0; load -= 1) engine_.spawn(other_program(std::min(load, 1.0)));
    engine_.spawn(main());
    if (in_.sample_every.count() > 0) sample();
    const RunOutcome outcome = engine_.run();
    if (const std::string failure = files_->failure(); !failure.empty()) return fail(ErrorKind::bad_input, failure);
    if (outcome != RunOutcome::stopped)
      return fail(ErrorKind::internal, fmt::format("the simulated box {}: {}",
                                                   outcome == RunOutcome::idle ? "has nothing left to do but is not done"
                                                                               : "makes no progress",
                                                   engine_.state_report()));
    finish();
    return std::move(out_);
  }

 private:
  Parts parts() {
    return {in_, engine_, cpus_, memory_, *files_, flushers_, cache_matters(in_) ? &cache_ : nullptr, archive_ ? &*archive_ : nullptr};
  }

  std::unique_ptr<FileSystem> make_files() {
    if (in_.filesystem.model == FilesystemInputs::Model::thin)
      return std::make_unique<SimpleXfs>(engine_, cpus_, memory_, wb_, device_, in_.filesystem, in_.costs, in_.kernel, largest_bio(in_));
    if (in_.filesystem.external_log) {
      // A second disk of the same kind without the limit.
      DeviceInputs log = in_.device;
      log.kind = DeviceInputs::Kind::fixed;
      log.write_rate = in_.device.base_rate;
      log.model.reset();
      log_device_.emplace(engine_, clock_, log, wb_, true, in_.kernel);
    }
    xfs::XfsParams p{.inputs = in_.filesystem, .costs = in_.costs, .kernel = in_.kernel, .max_bio = largest_bio(in_),
                     .write_size = in_.replay.engine.write_size, .completion_cores = {}, .hz = in_.hz};
    // assumed: the adapter's interrupts go to the cores of its NUMA node in turn, and it is attached to node 0.
    for (int core = 0; core < in_.cpu.cores; core += in_.cpu.numa_nodes) p.completion_cores.push_back(core);
    return std::make_unique<xfs::Xfs>(engine_, cpus_, memory_, wb_, device_, log_device_ ? *log_device_ : device_, p);
  }

  /// Somebody else's program that keeps a core busy for this share of the time, in turns of 10 ms.
  Task<> other_program(double load) {
    constexpr Duration kTurn = std::chrono::milliseconds{10};
    Thread& thread = cpus_.new_thread("other");
    const Duration work{static_cast<std::int64_t>(load * static_cast<double>(kTurn.count()))};
    for (;;) {
      const SimTime turn = engine_.now();
      co_await cpus_.run(thread, CpuMode::user, work);
      if (turn + kTurn > engine_.now()) co_await engine_.sleep_until(turn + kTurn);
    }
  }

  Task<> main() {
    harness_ = &cpus_.new_thread("harness");
    std::vector<Tree> trees(static_cast<std::size_t>(std::max(in_.replay.untars, 0)));
    if (in_.replay.remove_before) co_await phase_remove(trees);
    if (in_.replay.skeleton_before) co_await phase_skeleton(trees);
    int running = jobs_ ? 1 : 0;
    WaitQueue jobs_done{engine_};
    if (jobs_) {
      co_await jobs_->lay_out(*harness_);
      engine_.spawn(one_of(jobs_->run(out_), running, jobs_done));
    }
    co_await untars(trees);
    out_.untars_end = since_start();
    while (running > 0) co_await jobs_done.wait();
    if (in_.replay.sync_after) {
      const Duration start = since_start();
      const TimeAccount before = harness_->account;
      co_await flushers_.sync(*harness_);
      out_.phases.push_back({"sync", start, since_start() - start, harness_->account - before});
    }
    out_.durable = since_start();
    engine_.stop();
  }

  Task<> lane(std::vector<Tree>& trees, int& next, int& running, WaitQueue& done) {
    while (next < in_.replay.untars) {
      const int index = next++;
      co_await untar(parts(), index, trees[static_cast<std::size_t>(index)], out_);
      if (next < in_.replay.untars) co_await engine_.sleep(in_.replay.gap);
    }
    if (--running == 0) done.wake_all();
  }

  Task<> untars(std::vector<Tree>& trees) {
    if (in_.replay.untars <= 0) co_return;
    if (const ModelDisk* model = device_.model()) out_.device.model_before = model->device_counters();
    int next = 0;
    int running = std::min(in_.replay.at_once, in_.replay.untars);
    WaitQueue done{engine_};
    out_.untars.resize(static_cast<std::size_t>(in_.replay.untars));
    for (int i = running; i > 0; --i) engine_.spawn(lane(trees, next, running, done));
    while (running > 0) co_await done.wait();
  }

  Task<> one_of(Task<> work, int& running, WaitQueue& done) {
    co_await work;
    if (--running == 0) done.wake_all();
  }

  Task<> phase_remove(std::vector<Tree>& trees) {
    // Trees of an earlier replay: made at no cost, on disk, then removed by one process each, all at once.
    std::vector<TimeAccount> accounts(trees.size());
    for (Tree& tree : trees) co_await lay_out(parts(), *harness_, tree);
    const TimeAccount reset{};
    harness_->account = reset;
    const Duration start = since_start();
    int running = static_cast<int>(trees.size());
    WaitQueue done{engine_};
    for (std::size_t i = 0; i < trees.size(); ++i)
      engine_.spawn(one_of(remove_tree(parts(), trees[i], accounts[i]), running, done));
    while (running > 0) co_await done.wait();
    PhaseOutputs phase{"remove", start, since_start() - start, {}};
    for (const auto& a : accounts) add(phase.account, a);
    out_.phases.push_back(phase);
  }

  Task<> phase_skeleton(std::vector<Tree>& trees) {
    std::vector<TimeAccount> accounts(trees.size());
    const Duration start = since_start();
    int running = static_cast<int>(trees.size());
    WaitQueue done{engine_};
    for (std::size_t i = 0; i < trees.size(); ++i)
      engine_.spawn(one_of(make_skeleton(parts(), trees[i], accounts[i]), running, done));
    while (running > 0) co_await done.wait();
    PhaseOutputs phase{"skeleton", start, since_start() - start, {}};
    for (const auto& a : accounts) add(phase.account, a);
    out_.phases.push_back(phase);
  }

  [[nodiscard]] Duration since_start() const { return engine_.now().time_since_epoch(); }

  void sample() {
    const Thresholds t = memory_.thresholds();
    const auto dirty = static_cast<KernelWord>(memory_.dirty());
    const BlockCounters device = device_.counters();
    TimelineRow row;
    row.at = since_start();
    row.nr_dirty = memory_.file_dirty();
    row.nr_writeback = memory_.under_writeback();
    row.threshold = static_cast<std::int64_t>(t.thresh);
    row.background_threshold = static_cast<std::int64_t>(t.background);
    row.freerun = static_cast<std::int64_t>(t.freerun());
    row.dirty_limit = static_cast<std::int64_t>(memory_.dirty_limit());
    row.device_reclaimable = flushers_.reclaimable();
    row.device_writeback = flushers_.writeback();
    // Of several contexts the shares and bandwidths together, and the first one's rate limit.
    for (const auto& context : flushers_.contexts()) {
      row.device_share += static_cast<std::int64_t>(memory_.share_of(*context->wb, t.thresh, dirty));
      row.write_bandwidth += static_cast<std::int64_t>(context->wb->estimate.write_bandwidth);
      row.avg_write_bandwidth += static_cast<std::int64_t>(context->wb->estimate.avg_write_bandwidth);
    }
    row.device_dirtied = flushers_.dirtied();
    row.device_written = flushers_.written();
    row.dirty_ratelimit = static_cast<std::int64_t>(wb_.rate.dirty_ratelimit);
    row.b_dirty = flushers_.b_dirty();
    row.b_io = flushers_.b_io();
    row.b_more_io = flushers_.b_more_io();
    row.device_writes = device.writes;
    row.device_written_bytes = device.written;
    row.in_flight = device.in_flight;
    row.flusher_cpu = flushers_.cpu();
    out_.timeline.push_back(row);
    sample_timer_.arm(engine_.now() + in_.sample_every);
  }

  void trace() {
    if (!in_.trace_throttling) return;
    memory_.on_throttle = [this](const ThrottleEvent& e) {
      const auto ms = [this](Jiffies ticks) { return ticks * 1000 / in_.hz; };
      ThrottleTraceRow row;
      row.at = since_start();
      row.task = e.thread->name();
      row.untar = e.task->id;
      row.dirty = e.dirty;
      row.setpoint = e.setpoint;
      row.limit = e.limit;
      row.dirty_ratelimit = static_cast<std::int64_t>(e.wb->rate.dirty_ratelimit);
      row.task_ratelimit = static_cast<std::int64_t>(e.decision.task_ratelimit);
      row.dirtied = static_cast<std::int64_t>(e.pages_dirtied);
      row.dirtied_pause = static_cast<std::int64_t>(e.dirtied_pause);
      row.paused_ms = std::chrono::duration_cast<std::chrono::milliseconds>(e.paused).count();
      row.pause_ms = ms(e.decision.pause);
      row.period_ms = ms(e.decision.period);
      row.think_ms = ms(e.decision.think);
      row.wb_dirty = e.wb_dirty;
      row.wb_thresh = e.wb_thresh;
      row.avg_write_bandwidth = static_cast<std::int64_t>(e.wb->estimate.avg_write_bandwidth);
      row.pos_ratio = e.pos_ratio;
      out_.throttle_trace.push_back(row);
    };
    memory_.on_rate_limit = [this](const DeviceWriteback& wb, const RateLimitStep& s) {
      out_.ratelimit_trace.push_back({since_start(), static_cast<std::int64_t>(wb.estimate.write_bandwidth),
                                      static_cast<std::int64_t>(wb.estimate.avg_write_bandwidth),
                                      static_cast<std::int64_t>(s.dirty_rate),
                                      static_cast<std::int64_t>(s.after.dirty_ratelimit),
                                      static_cast<std::int64_t>(s.task_ratelimit),
                                      static_cast<std::int64_t>(s.after.balanced_dirty_ratelimit)});
    };
  }

  void finish() {
    for (const auto& context : flushers_.contexts()) {
      const DeviceWriteback& wb = *context->wb;
      SPILLWAY_CHECK(wb.dirtied == wb.reclaimable + wb.writeback + wb.written + wb.cancelled,
                     "a dirtied page is neither dirty, under writeback, written nor cancelled");
      out_.flushers.push_back({wb.written, context->flusher.passes(), context->flusher.thread().account});
    }
    for (const Thread* helper : flushers_.helpers()) add(out_.helpers, helper->account);
    SPILLWAY_CHECK(cache_.adds_up(), "the pages of a node are not its free, file and anonymous pages");
    if (jobs_) out_.cache = jobs_->cache_outputs();
    out_.cache.tracked = cache_matters(in_);
    out_.cache.evicted = cache_.evicted();
    if (archive_) {
      out_.archive_from_cache = to_bytes(Pages{archive_->from_cache});
      out_.archive_from_device = to_bytes(Pages{archive_->from_device});
    }
    const BlockCounters c = device_.counters();
    out_.device.writes = c.writes;
    out_.device.reads = c.reads;
    out_.device.flushes = c.flushes;
    out_.device.written = c.written;
    out_.device.read = c.read;
    out_.device.metadata_written = c.metadata_written;
    out_.device.busy = c.busy;
    if (const ModelDisk* model = device_.model()) {
      out_.device.model = model->device_counters();
      out_.device.sequential_rate = model->device().sequential_write_rate();
    }
    const std::string wrong = files_->audit();
    SPILLWAY_CHECK(wrong.empty(), wrong);
    out_.filesystem = files_->outputs();
    out_.workers = files_->workers();
    int flush_workers = 0;
    for (const Thread& t : cpus_.threads()) {
      if (t.name() != "flush" && t.name() != "kswapd" && (in_.filesystem.model == FilesystemInputs::Model::full || !t.name().starts_with("xfs"))) continue;
      WorkerOutputs worker;
      worker.name = t.name();
      worker.cpu = t.account.cpu();
      worker.runs = t.voluntary_switches;
      if (t.name() == "flush") worker.number = flush_workers++;
      out_.workers.push_back(worker);
    }
    block_workers(c);
    for (WorkerOutputs& w : out_.workers)
      xfs::name_worker(w, in_.kernel, {.cores = in_.cpu.cores, .device = in_.device.name, .major = in_.device.major, .minor = in_.device.minor});
    if (memory_.first_pause() != SimTime{}) out_.throttle_began = memory_.first_pause().time_since_epoch();
    out_.pages_dirtied = flushers_.dirtied();
    out_.pages_written = flushers_.written();
    out_.pages_cancelled = flushers_.cancelled();
    out_.events = engine_.events();
  }

  /// The block layer's workers. Their CPU time is counted, but takes no core away from anybody: a loop's worker and the
  /// completions below it together 50 us a request (measured: 0.17 and 0.19 s for 7,300 requests on the reference box), the
  /// throttle's 20 us a slice of 100 ms, the queue's 2 us a request (assumed).
  void block_workers(const BlockCounters& c) {
    if (in_.filesystem.model != FilesystemInputs::Model::full) return;
    const auto add = [this](const char* name, std::int64_t runs, Duration each, int core) {
      if (runs <= 0) return;
      WorkerOutputs w;
      w.name = name;
      w.runs = static_cast<std::uint64_t>(runs);
      w.cpu = each * runs;
      w.core = core;
      out_.workers.push_back(w);
    };
    if (in_.device.loop) add("loop", c.writes + c.reads, std::chrono::microseconds{50}, -1);
    if (in_.device.kind == DeviceInputs::Kind::throttled || in_.device.kind == DeviceInputs::Kind::stacked)
      add("kthrotld", c.busy.count() / 100'000'000 + 1, std::chrono::microseconds{20}, 0);
    if (in_.device.kind != DeviceInputs::Kind::throttled) add("kblockd", c.writes + c.reads, std::chrono::microseconds{2}, 0);
  }

  const BoxInputs in_;
  Engine engine_;
  TickClock clock_;
  CpuSet cpus_;
  DeviceWriteback wb_;
  DirtyMemory memory_;
  SimpleBlockDevice device_;
  std::optional<SimpleBlockDevice> log_device_;
  std::unique_ptr<FileSystem> files_;
  Flushers flushers_;
  PageCache cache_;
  FileReader reader_;
  std::optional<ArchiveOnDisk> archive_;
  std::optional<JobRunner> jobs_;
  Timer sample_timer_;
  Thread* harness_ = nullptr;
  BoxOutputs out_;
};

}  // namespace

Result<BoxOutputs> simulate(const BoxInputs& inputs) {
  SPILLWAY_TRY(validate(inputs));
  Box box{inputs};
  return box.run();
}

}  // namespace spillway::sim
