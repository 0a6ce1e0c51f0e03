#include "workload/real/box.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "workload/archive/catalogue.hpp"
#include "workload/extract/verify_tree.hpp"
#include "workload/interrupt/interrupt.hpp"
#include "workload/real/capture/environment.hpp"
#include "workload/real/modeled_disk/modeled_disk.hpp"
#include "workload/real/monitors/account.hpp"
#include "workload/real/monitors/extents.hpp"
#include "workload/real/monitors/kernel_views.hpp"
#include "workload/real/monitors/observability.hpp"
#include "workload/real/monitors/sampler.hpp"
#include "workload/real/monitors/taskstats.hpp"
#include "workload/real/monitors/tracer.hpp"
#include "workload/real/pipeline/pipeline.hpp"
#include "workload/real/provision/preflight.hpp"
#include "workload/real/provision/settings.hpp"
#include "workload/real/provision/target.hpp"
#include "workload/real/replay/own_engine.hpp"
#include "workload/real/replay/replay.hpp"
#include "workload/real/replay/timed_process.hpp"
#include "workload/real/replay/user_flusher.hpp"
#include "workload/real/state/kernel_writeback.hpp"
#include "workload/real/state/state.hpp"
#include "workload/real/system/process.hpp"
#include "workload/real/system/text_file.hpp"
#include "workload/record/file_io.hpp"

namespace spillway::real {
namespace {

/// Counters of the whole box at one instant; a run is the difference of two.
struct Totals {
  CpuView cpu;
  BlockStat block;
  XfsView xfs;
  PressureView io_pressure, cpu_pressure, memory_pressure;
  double own_cpu_s = 0;  ///< of this program's own threads
  double disk_cpu_s = 0;  ///< of the modeled disk's server
};

Totals totals_of(const Target& target) {
  Totals totals;
  totals.cpu = parse_cpu(read_text("/proc/stat").value_or("")).value_or(CpuView{});
  if (!target.device_name.empty()) {
    totals.block = parse_block_stat(read_text(fmt::format("/sys/block/{}/stat", target.device_name)).value_or("")).value_or(BlockStat{});
    totals.xfs = parse_xfs_stat(read_text(fmt::format("/sys/fs/xfs/{}/stats/stats", target.device_name)).value_or("")).value_or(XfsView{});
  }
  totals.io_pressure = parse_pressure(read_text("/proc/pressure/io").value_or("")).value_or(PressureView{});
  totals.cpu_pressure = parse_pressure(read_text("/proc/pressure/cpu").value_or("")).value_or(PressureView{});
  totals.memory_pressure = parse_pressure(read_text("/proc/pressure/memory").value_or("")).value_or(PressureView{});
  if (target.modeled)
    if (const auto server = process_stat(target.modeled->pid())) totals.disk_cpu_s = static_cast<double>(server->user_ticks + server->system_ticks) * 0.01;
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  totals.own_cpu_s = static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
  return totals;
}

constexpr double kTick = 0.01;  // USER_HZ
/// How long others are watched before the run. assumed: long enough for a tenth of a core, short beside a repeat.
constexpr std::chrono::milliseconds kForeignWindow{1000};

/// One repeat, from a prepared archive to a filled record. The caller takes everything back afterwards.
class Repeat {
 public:
  /// `keep` receives what must outlive the undoing (the modeled disk's server).
  Repeat(Session& session, const Case& item, const RepeatContext& context, const PreparedArchive& archive, const RealBoxOptions& options,
         std::shared_ptr<ModeledDisk>& keep)
      : keep_(keep), session_(session), item_(item), experiment_(item.experiment), context_(context), archive_(archive), options_(options) {}

  Result<Record> run() {
    SPILLWAY_TRY(prepare());
    SPILLWAY_TRY(measure());
    describe_box();
    untars();
    whole_box();
    if (pipeline_) fill_record(record_, *experiment_.pipeline, *pipeline_);
    SPILLWAY_TRY(verify());
    record_.complete = true;
    return std::move(record_);
  }

 private:
  void tell(const std::string& text) const {
    if (context_.live) context_.live({text});
  }

  Status prepare() {
    record_.experiment_title = experiment_.title;
    record_.experiment_name = experiment_.name;
    record_.experiment = item_.effective;
    record_.case_keys = item_.keys;
    record_.repeat = context_.repeat;
    record_.seed = context_.seed;
    if (!session_.notice().empty()) record_.notes.push_back(session_.notice());
    if (!needs_target(experiment_)) {  // nothing but threads
      target_.kind = "none";
      target_.directory = session_.journal().directory();
      return {};
    }
    tell("making the target");
    seen_ = make_observable(session_.journal());
    for (const auto& missing : seen_.missing) record_.notes.push_back("not seen: " + missing);
    const Bytes data = data_of(experiment_, archive_.catalogue.data_bytes);
    SPILLWAY_ASSIGN(target_, make_target(session_, experiment_, data, options_.destroy));
    keep_ = target_.modeled;
    for (const auto& note : target_.notes) record_.notes.push_back(note);
    const bool root = ::geteuid() == 0;
    for (const auto& setting : memory_settings(experiment_.memory)) {
      if (!root && experiment_.target.kind == "mount") {
        record_.notes.push_back(fmt::format("{} was left as it is: needs root", setting_name(setting.path)));
        continue;
      }
      SPILLWAY_TRY(apply(session_.journal(), setting));
    }
    for (const auto& setting : knob_settings(experiment_.knobs, target_.device_name, target_.device_number))
      SPILLWAY_TRY(apply(session_.journal(), setting));
    if (experiment_.replay.cache == "cold") {
      tell("dropping caches");
      if (const auto dropped = drop_caches(); !dropped) record_.notes.push_back("the archive may be cached: " + dropped.error().what);
    } else if (experiment_.has_replay) {
      tell("reading the archive once");
      SPILLWAY_TRY(read_once(archive_.path));
    }
    tell("waiting until nothing is dirty");
    const auto quiet = static_cast<std::int64_t>(QuietLimits{}.foreign_dirty_pages);
    if (const auto left = settle(target_.device_name, quiet, std::chrono::seconds{30}); left > quiet)
      record_.notes.push_back(fmt::format("{:.1f} MB of others' dirty pages were left after 30 s of settling", static_cast<double>(left) * 4096e-6));
    if (interrupted()) return fail(ErrorKind::refused, "interrupted; the box is as it was before", EINTR);
    if (!target_.device_number.empty()) {
      tell("looking for the kernel's writeback state");
      if (auto reader = KernelWritebackReader::find(target_.directory, target_.device_number)) state_reader_ = *std::move(reader);
      else record_.notes.push_back("the kernel's completion counters before the run were not read: " + reader.error().what);
    }
    foreign_before_ = look_at_others(seen_.debugfs, target_.device_number, kForeignWindow);
    return {};
  }

  /// The last thing before the replay: what is read here is where the run starts from.
  void read_state() {
    record_.state_before = state_from(read_state_inputs(seen_.debugfs, target_.device_number, target_.cold));
    record_.state_before.foreign_completions_pages_per_s = foreign_before_.completions_pages_per_s;
    record_.state_before.foreign_cpus = foreign_before_.cpus;
    if (!state_reader_) return;
    if (const auto seen = state_reader_->read()) {
      set_from_kernel(record_.state_before, *seen, kernel_hz().value_or(250));
      state_measured_ = true;
    } else {
      record_.notes.push_back("the kernel's completion counters before the run were not read: " + seen.error().what);
    }
  }

  Status measure() {
    SPILLWAY_ASSIGN(sampler_, Sampler::start({target_.device_name, target_.device_number, seen_.debugfs, context_.dir / "timeline.csv",
                                              std::chrono::milliseconds{100}, options_.monitors}));
    if (options_.monitors && !experiment_.pipeline) {
      if (auto taskstats = Taskstats::start()) taskstats_ = std::move(*taskstats);
      else record_.notes.push_back("not seen: delay accounting: " + taskstats.error().what);
      if (!seen_.tracefs.empty() && !target_.device_number.empty()) {
        TracerSpec spec;
        spec.tracefs = seen_.tracefs;
        spec.device_number = target_.device_number;
        spec.directory = context_.dir;
        spec.hz = kernel_hz().value_or(250);
        if (auto tracer = Tracer::start(session_.journal(), spec)) {
          tracer_ = std::move(*tracer);
          if (!tracer_->probe_missing().empty()) record_.notes.push_back("bdp.csv has no exact controller state: " + tracer_->probe_missing());
        }
        else record_.notes.push_back("not seen: throttle decisions: " + tracer.error().what);
      }
    }
    before_ = totals_of(target_);
    read_state();
    if (experiment_.pipeline) return pipeline();
    ReplayInputs inputs;
    inputs.experiment = &experiment_;
    inputs.archive = &archive_;
    inputs.target = &target_;
    inputs.directory = context_.dir;
    if (context_.live)
      inputs.live = [this](const std::string& text) {
        if (tracer_) sampler_->set_traced(tracer_->limit_pages(), tracer_->ratelimit());
        tell(text);
      };
    auto outcome = run_replay(session_, inputs, {sampler_.get(), tracer_.get(), taskstats_.get()});
    after_ = totals_of(target_);
    if (tracer_) trace_ = tracer_->finish(outcome ? outcome->started_ns : std::map<int, std::int64_t>{});
    (void)sampler_->finish(outcome ? outcome->origin_ns : sampler_->started_ns());
    if (!outcome) return std::unexpected(outcome.error());
    outcome_ = std::move(*outcome);
    return {};
  }

  /// [pipeline], in a process of its own, so that it can be killed whole.
  Status pipeline() {
    tell("pipeline");
    const std::string output = context_.dir / "pipeline.json", messages = context_.dir / "pipeline.messages";
    const auto body = [&]() -> int {
      const auto ran = run_pipeline(*experiment_.pipeline, target_.directory, context_.seed);
      const auto written = ran ? write_file_atomically(output, to_json(*ran).dump()) : write_file_atomically(messages, ran.error().what);
      return ran && written ? 0 : 1;
    };
    SPILLWAY_ASSIGN(TimedProcess process, start_timed(session_, "pipeline", body));
    wait_for(session_, process, {});
    after_ = totals_of(target_);
    (void)sampler_->finish(process.started.released_ns);
    if (interrupted()) return fail(ErrorKind::refused, "interrupted; the box is as it was before", EINTR);
    if (process.exit_code != 0) return fail(ErrorKind::refused, fmt::format("the pipeline failed: {}", read_line(messages).value_or(fmt::format("exit code {}", process.exit_code))));
    SPILLWAY_ASSIGN(const std::string text, read_text(output));
    SPILLWAY_ASSIGN(pipeline_, outcome_from(nlohmann::ordered_json::parse(text, nullptr, false)));
    std::error_code ignored;
    std::filesystem::remove(output, ignored);
    outcome_.origin_ns = process.started.released_ns;
    outcome_.untars_end_s = pipeline_->elapsed_s;
    outcome_.durable_s = pipeline_->durable_s;
    work_cpu_s_ = process.user_s() + process.system_s();
    return {};
  }

  void describe_box() {
    auto& box = record_.box;
    box.kind = box.name = "real";
    box.kernel = kernel_version();
    box.hz = kernel_hz().value_or(0);
    box.cpus = cpu_count();
    box.numa_nodes = numa_nodes();
    box.ram_bytes = memory_bytes();
    box.target = target_.kind;
    if (target_.kind == "none") {
      box.device = "none: the pipeline has no device stage";
      box.environment = capture_environment("", "");
      return;
    }
    box.device = target_.device.empty() ? "folder " + target_.directory : target_.device;
    if (target_.modeled) {
      box.device = fmt::format("modeled {} of {} disks ({}), through FUSE and {}", experiment_.device.model, experiment_.device.disks, experiment_.device.member, target_.device);
      box.environment = capture_environment(target_.device_name, target_.mount_point);
      return;
    }
    if (experiment_.device.rate.value() > 0 && target_.own_file_system)
      box.device += fmt::format(", limited to {:.1f} MB/s", static_cast<double>(experiment_.device.rate.value()) / 1e6);
    if (experiment_.device.iops > 0 && target_.own_file_system) box.device += fmt::format(", {} writes/s", experiment_.device.iops);
    if (target_.kind == "loop") box.device += experiment_.device.queue == "bounded" ? ", queue of 128 (two loops)" : ", unlimited queue";
    box.environment = capture_environment(target_.device_name, target_.mount_point);
  }

  /// Traces and delays of an untar: its process first, then what that forked.
  void untars() {
    record_.untars = std::move(outcome_.untars);
    const bool own = experiment_.replay.engine != "tar" && experiment_.replay.engine != "bsdtar";
    for (std::size_t i = 0; i < record_.untars.size(); ++i) {
      const int pid = outcome_.pids[i];
      std::vector<int> family{pid};
      for (std::size_t k = 0; k < family.size(); ++k)
        for (const auto& [tid, task] : trace_.tasks)
          if (task.parent == family[k] && std::ranges::find(family, tid) == family.end()) family.push_back(tid);
      // Our own engines work in threads of their own while the first thread only waits.
      if (own && family.size() > 1) family.erase(family.begin());
      std::vector<TaskTrace> tasks;
      std::vector<TaskDelays> delays;
      if (taskstats_) {
        const auto exits = taskstats_->collect(pid, std::chrono::milliseconds{50});
        // A task that was in a wait when accounting was switched on reports the time since boot: not its own.
        for (const int tid : family)
          if (const auto it = exits.find(tid); it != exits.end() && static_cast<double>(it->second.blkio_ns) * 1e-9 <= record_.untars[i].elapsed_s + 1) delays.push_back(it->second);
      }
      for (const int tid : family)
        if (const auto it = trace_.tasks.find(tid); it != trace_.tasks.end()) tasks.push_back(it->second);
      fill_account(record_.untars[i], tasks, delays);
      double blkio = 0;
      for (const auto& task : delays) blkio += static_cast<double>(task.blkio_ns) * 1e-9;
      if (!delays.empty()) record_.counters[fmt::format("untar{}.taskstats_blkio_s", i + 1)] = blkio;
    }
    if (trace_.first_ratelimit && !target_.cold && !state_measured_) {
      // A warm device: the first update after the start is the nearest to its state before.
      record_.state_before.dirty_ratelimit_pages_per_s = trace_.first_ratelimit;
      record_.state_before.avg_write_bandwidth_pages_per_s = trace_.first_avg_write_bw;
      record_.state_before.write_bandwidth_pages_per_s = trace_.first_write_bw;
      record_.notes.push_back("the device's rate limit and bandwidth before the run are those of the first traced update");
    }
    if (trace_.first_limit && !state_measured_) record_.state_before.dirty_limit_pages = trace_.first_limit;
  }

  void whole_box() {
    record_.phases = std::move(outcome_.phases);
    record_.jobs = std::move(outcome_.jobs);
    record_.marks = std::move(outcome_.marks);
    for (auto& note : outcome_.notes) record_.notes.push_back(std::move(note));
    record_.untars_end_s = outcome_.untars_end_s;
    record_.durable_s = outcome_.durable_s;
    record_.files = {"timeline.csv"};
    if (tracer_) {
      record_.files.emplace_back("bdp.csv");
      record_.files.emplace_back("ratelimit.csv");
    }
    const double seconds = std::max(1e-9, record_.durable_s);
    record_.kworkers = sampler_->workers(seconds);
    double kworkers_s = 0;
    for (const auto& worker : record_.kworkers) {
      kworkers_s += worker.cpu_s;
      if (worker.queue == "flush") record_.flusher = {worker.count, worker.cpu_s, worker.cpu_pct, 0, 0};
    }
    device(seconds);
    modeled_disk();
    const auto& rows = sampler_->rows();
    if (!rows.empty() && rows.back().wb_written_pages && rows.front().wb_written_pages)
      record_.flusher.pages_written = static_cast<std::int64_t>(*rows.back().wb_written_pages - *rows.front().wb_written_pages);
    const auto xfs = [&](std::int64_t XfsView::* member) { return after_.xfs.*member - before_.xfs.*member; };
    record_.log.transactions = xfs(&XfsView::transactions);
    record_.log.log_writes = xfs(&XfsView::log_writes);
    record_.log.log_bytes = xfs(&XfsView::log_blocks) * 512;
    record_.log.forces = xfs(&XfsView::log_forces);
    record_.log.ail_pushes = xfs(&XfsView::ail_pushes);
    for (const auto& untar : record_.untars) record_.log.space_wait_s += untar.account.log_s;
    if (target_.own_file_system && options_.monitors)
      if (const auto extents = look_at_extents(target_.directory, 20'000)) {
        record_.extents_mean = extents->mean();
        for (const auto& [most, files] : extents->files_by_extents) record_.counters[fmt::format("files_by_extents.{}", most)] = static_cast<double>(files);
        for (const auto& [group, bytes] : extents->bytes_per_group)
          if (extents->bytes_per_group.size() <= 64) record_.counters[fmt::format("ag{}.data_bytes", group)] = static_cast<double>(bytes);
        for (const auto& [group, count] : extents->extents_per_group)
          if (extents->extents_per_group.size() <= 64) record_.counters[fmt::format("ag{}.extents", group)] = static_cast<double>(count);
      }
    if (after_.xfs.transactions > 0) {
      record_.counters["xfs.extents_allocated"] = static_cast<double>(xfs(&XfsView::extents_allocated));
      record_.counters["xfs.blocks_allocated"] = static_cast<double>(xfs(&XfsView::blocks_allocated));
      record_.counters["xfs.delalloc_conversions"] = static_cast<double>(xfs(&XfsView::delalloc_conversions));
      record_.counters["xfs.log_force_sleeps"] = static_cast<double>(xfs(&XfsView::log_force_sleeps));
      record_.counters["xfs.log_buffer_waits"] = static_cast<double>(xfs(&XfsView::log_noiclogs));
      record_.counters["xfs.ail_log_space_sleeps"] = static_cast<double>(xfs(&XfsView::ail_sleeps));
    }
    const double busy = static_cast<double>(after_.cpu.busy() - before_.cpu.busy()) * kTick;
    record_.cpu_total_s = busy;
    double untars_s = 0;
    for (const auto& untar : record_.untars) untars_s += untar.user_s + untar.system_s;
    for (const auto& phase : record_.phases) untars_s += phase.user_s + phase.system_s;
    for (const auto& job : record_.jobs) untars_s += job.user_s + job.system_s;
    untars_s += work_cpu_s_ + outcome_.flushers_cpu_s + after_.disk_cpu_s - before_.disk_cpu_s;
    if (target_.modeled) record_.counters["modeled_disk.server_cpu_s"] = after_.disk_cpu_s - before_.disk_cpu_s;
    if (const auto helpers = user_flushers(experiment_.replay.flushers); helpers && experiment_.has_replay) {
      record_.flusher.count += *helpers;
      record_.flusher.cpu_s += outcome_.flushers_cpu_s;
      record_.flusher.cpu_pct = 100 * record_.flusher.cpu_s / seconds;
      record_.counters["user_flushers"] = *helpers;
      record_.counters["user_flushers_cpu_s"] = outcome_.flushers_cpu_s;
    }
    const double own = after_.own_cpu_s - before_.own_cpu_s;
    const double whole = static_cast<double>(after_.cpu.total() - before_.cpu.total()) * kTick / std::max(1, cpu_count());
    Foreign foreign = foreign_dirty(rows, 0, record_.durable_s);
    foreign.cpus = whole > 0 ? std::max(0.0, busy - untars_s - kworkers_s - own) / whole : 0;
    record_.disturbances = disturbances(foreign, {});
    auto& counters = record_.counters;
    counters["foreign_dirty_pages_mean"] = foreign.dirty_pages_mean;
    counters["other_cpus"] = foreign.cpus;
    counters["monotonic_origin_s"] = static_cast<double>(outcome_.origin_ns) * 1e-9;
    counters["psi_io_some_s"] = static_cast<double>(after_.io_pressure.some_us - before_.io_pressure.some_us) * 1e-6;
    counters["psi_cpu_some_s"] = static_cast<double>(after_.cpu_pressure.some_us - before_.cpu_pressure.some_us) * 1e-6;
    counters["psi_memory_some_s"] = static_cast<double>(after_.memory_pressure.some_us - before_.memory_pressure.some_us) * 1e-6;
    counters["psi_io_full_s"] = static_cast<double>(after_.io_pressure.full_us - before_.io_pressure.full_us) * 1e-6;
    counters["context_switches"] = static_cast<double>(after_.cpu.switches - before_.cpu.switches);
    counters["trace_events"] = static_cast<double>(trace_.events);
    counters["trace_events_lost"] = static_cast<double>(trace_.lost);
    counters["trace_switches_missing"] = static_cast<double>(trace_.switches_missing);
    if (trace_.lost > 0) record_.notes.push_back(fmt::format("{} trace events were lost: accounts and bdp.csv have gaps", trace_.lost));
    if (taskstats_) counters["taskstats_lost"] = static_cast<double>(taskstats_->lost());
    std::int64_t decisions = 0;
    for (const auto& [tid, task] : trace_.tasks) decisions += task.decisions;
    counters["throttle_decisions"] = static_cast<double>(decisions);
    counters["throttle_decisions_exact"] = static_cast<double>(trace_.exact);
    for (const auto& [place, ns] : trace_.unknown_places)
      if (ns > 1'000'000) counters["unknown_wait." + place + "_s"] = static_cast<double>(ns) * 1e-9;
    const double monitors = sampler_->own_cpu_s() + trace_.own_cpu_s + (taskstats_ ? taskstats_->own_cpu_s() : 0.0);
    record_.host["monitors_cpu_s"] = monitors;
    record_.host["monitors_cpu_pct"] = 100 * monitors / std::max(1e-9, whole);
    record_.host["wall_clock"] = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
    char name[256]{};
    if (::gethostname(name, sizeof name - 1) == 0) record_.host["name"] = name;
  }

  void device(double seconds) {
    auto& device = record_.device;
    device.write_bytes = (after_.block.write_sectors - before_.block.write_sectors) * 512;
    device.read_bytes = (after_.block.read_sectors - before_.block.read_sectors) * 512;
    device.write_ios = after_.block.write_ios - before_.block.write_ios;
    device.read_ios = after_.block.read_ios - before_.block.read_ios;
    device.flushes = after_.block.flushes - before_.block.flushes;
    device.busy_s = static_cast<double>(after_.block.busy_ms - before_.block.busy_ms) * 1e-3;
    device.busy_pct = std::min(100.0, 100 * device.busy_s / seconds);
    if (!outcome_.phases.empty() && !experiment_.replay.before.empty())
      record_.notes.push_back("device totals include the phases before the untars");
    if (experiment_.device.rate.value() > 0 && target_.own_file_system && !experiment_.pipeline) {
      device.sequential_mb_per_s = static_cast<double>(experiment_.device.rate.value()) / 1e6;
      const double data = static_cast<double>(data_of(experiment_, archive_.catalogue.data_bytes).value());
      device.efficiency_pct = 100 * data / (static_cast<double>(experiment_.device.rate.value()) * seconds);
    }
  }

  /// The modeled disk's own counters, since its start: mkfs and mount are in them.
  void modeled_disk() {
    if (!target_.modeled) return;
    const auto text = target_.modeled->report();
    const auto report = text ? nlohmann::ordered_json::parse(*text, nullptr, false) : nlohmann::ordered_json{};
    if (!report.is_object() || !report.contains("disks")) {
      record_.notes.push_back("the modeled disk gave no report");
      return;
    }
    auto& device = record_.device;
    const auto number = [](const nlohmann::ordered_json& from, const char* key) {
      const auto it = from.find(key);
      return it != from.end() && it->is_number() ? it->get<double>() : 0.0;
    };
    device.sequential_mb_per_s = number(report, "sequential_write_bytes_per_s") / 1e6;
    for (const auto& disk : report["disks"]) {
      device.members.push_back({{"busy_s", number(disk, "busy_s")}, {"seeks", number(disk, "seeks")}, {"write_mb", number(disk, "written_bytes") / 1e6},
                                {"read_mb", number(disk, "read_bytes") / 1e6}, {"rmw_reads", number(disk, "rmw_reads")}});
      device.seeks += static_cast<std::int64_t>(number(disk, "seeks"));
      device.rmw_reads += static_cast<std::int64_t>(number(disk, "rmw_reads"));
    }
    if (device.sequential_mb_per_s > 0 && record_.durable_s > 0)
      device.efficiency_pct = 100 * static_cast<double>(data_of(experiment_, archive_.catalogue.data_bytes).value()) / 1e6 / (device.sequential_mb_per_s * record_.durable_s);
    double whole = 0;
    for (const auto& [part, value] : report["time_split"].items())
      if (value.is_number()) whole += value.get<double>();
    for (const auto& [part, value] : report["time_split"].items())
      if (value.is_number() && whole > 0) device.split_pct[part.substr(0, part.rfind("_s"))] = 100 * value.get<double>() / whole;
    for (const char* kind : {"requested", "delivered", "late"}) {
      record_.counters[fmt::format("modeled_disk.{}_us_mean", kind)] = number(report["service"][kind], "mean_us");
      record_.counters[fmt::format("modeled_disk.{}_us_p99", kind)] = number(report["service"][kind], "p99_us");
    }
  }

  /// Archive and trees, one by one: names, types, contents, modes, times, links. What tar does not extract unless told
  /// to (extended attributes) or maps by name (owners) is compared for our own engines only.
  Status verify() {
    if (!experiment_.replay.verify || !experiment_.has_replay) return {};
    std::int64_t directory_mtimes = 0;
    for (int i = 1; i <= experiment_.replay.untars; ++i) {
      tell(fmt::format("comparing tree {} with the archive", i));
      if (interrupted()) return fail(ErrorKind::refused, "interrupted; the box is as it was before", EINTR);
      extract::VerifyOptions what;
      what.owner = what.xattrs = what.directory_mtime = own_engine_available(experiment_.replay).has_value();
      what.stop = [] { return interrupted(); };
      SPILLWAY_ASSIGN(const auto compared, extract::verify_tree(archive_.path, fmt::format("{}/t{}", target_.directory, i), what));
      if (!compared.same()) {
        const auto& first = compared.differences.front();
        return fail(ErrorKind::refused, fmt::format("the tree of untar {} differs from the archive in {} places, first {}: {}", i,
                                                    compared.difference_count, first.name, first.what));
      }
      directory_mtimes += compared.directory_mtimes;
    }
    record_.notes.push_back(fmt::format("{} trees were compared with the archive: no difference", experiment_.replay.untars));
    if (directory_mtimes > 0)
      record_.notes.push_back(fmt::format("{} directories have another mtime than in the archive: {} leaves them so", directory_mtimes, experiment_.replay.engine));
    return {};
  }

  std::shared_ptr<ModeledDisk>& keep_;
  Session& session_;
  const Case& item_;
  const Experiment& experiment_;
  const RepeatContext& context_;
  const PreparedArchive& archive_;
  const RealBoxOptions& options_;
  Record record_;
  Observability seen_;
  Target target_;
  std::unique_ptr<Sampler> sampler_;
  std::unique_ptr<Taskstats> taskstats_;
  std::unique_ptr<Tracer> tracer_;
  TraceTotals trace_;
  ReplayOutcome outcome_;
  std::optional<PipelineOutcome> pipeline_;
  double work_cpu_s_ = 0;  ///< of the pipeline's process
  Totals before_, after_;
  OthersBefore foreign_before_;
  std::unique_ptr<KernelWritebackReader> state_reader_;
  bool state_measured_ = false;  ///< the kernel's own counters were read before the run
};

}  // namespace

Status RealBox::open_session() {
  if (session_) return {};
  SPILLWAY_ASSIGN(session_, Session::open());
  return {};
}

Status RealBox::check(const Case& item) { return check_experiment(item.experiment); }

Result<std::vector<std::string>> RealBox::plan(const Case& item) {
  Bytes archive{0};
  if (item.experiment.has_replay) {
    SPILLWAY_ASSIGN(const Catalogue catalogue, catalogue_of(item.experiment.archive, item.experiment.folder));
    archive = catalogue.data_bytes;
  }
  return describe_plan(item.experiment, data_of(item.experiment, archive), state_directory());
}

Result<Record> RealBox::run(const Case& item, const RepeatContext& context) {
  SPILLWAY_TRY(check(item));
  PreparedArchive archive;
  if (item.experiment.has_replay) {
    if (context.live) context.live({"preparing the archive"});
    SPILLWAY_ASSIGN(archive, prepare_archive(item.experiment.archive, item.experiment.folder));
  }
  const Bytes data = data_of(item.experiment, archive.catalogue.data_bytes);
  SPILLWAY_TRY(check_resources(item.experiment, data, state_directory(), options_.destroy));
  SPILLWAY_TRY(open_session());
  for (int attempt = 1;; ++attempt) {
    const std::uint64_t mark = session_->journal().mark();
    std::shared_ptr<ModeledDisk> keep;
    auto record = Repeat{*session_, item, context, archive, options_, keep}.run();
    const auto report = session_->journal().undo_to(mark);
    if (!report.clean()) {
      const std::string left = fmt::format("not everything could be put back: {}; run `spillway restore`", fmt::join(report.failures, "; "));
      if (!record) return fail(record.error().kind, record.error().what + ". " + left, record.error().sys_errno);
      record->notes.push_back(left);
      return record;
    }
    if (!record) return record;
    record->counters["attempts"] = attempt;
    if (record->disturbances.empty() || attempt > options_.redo_disturbed) {
      if (attempt > 1) record->notes.push_back(fmt::format("attempt {}: those before were disturbed and thrown away", attempt));
      return record;
    }
    if (context.live) context.live({fmt::format("disturbed, done again ({} of {}): {}", attempt, options_.redo_disturbed, record->disturbances.front())});
  }
}

}  // namespace spillway::real
