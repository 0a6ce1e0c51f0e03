#include "workload/simulated/to_record.hpp"

#include "sim/box/untar.hpp"

#include <algorithm>
#include <fmt/core.h>

namespace spillway::simulated {

namespace {

double seconds(Duration d) { return to_seconds(d); }

Account to_account(const sim::TimeAccount& t) {
  return {.user_s = seconds(t.user), .system_s = seconds(t.system), .runqueue_s = seconds(t.runqueue), .throttled_s = seconds(t.throttled),
          .device_s = seconds(t.device), .lock_s = seconds(t.lock), .log_s = seconds(t.log), .unknown_s = seconds(t.unknown)};
}

Duration first_start(const sim::BoxOutputs& outputs) {
  Duration first = Duration::max();
  for (const auto& untar : outputs.untars) first = std::min(first, untar.start);
  for (const auto& job : outputs.jobs)
    for (const auto& instance : job.instances) first = std::min(first, instance.start);
  return first == Duration::max() ? Duration{0} : first;
}

/// A worker's work queue, and the name that `ps` shows for it on that kernel (sim/xfs/worker_names.hpp).
KworkerResult to_kworker(const sim::WorkerOutputs& worker, double until_durable) {
  KworkerResult out;
  out.queue = worker.name == "flush" ? "writeback" : worker.name;
  out.name = worker.shown.empty() ? worker.name : worker.shown;
  out.count = worker.count;
  out.cpu_s = seconds(worker.cpu);
  out.cpu_pct = until_durable > 0 ? 100.0 * out.cpu_s / until_durable : 0;
  return out;
}

/// The disks of a device model from the first untar to the end: what each did, and where their time went. All disks'
/// time together is 100 %.
void add_disks(DeviceResult& out, const sim::DeviceOutputs& device) {
  if (!device.model) return;
  const auto& disks = device.model->disks;
  const auto since = [&](std::size_t i, auto member) {
    auto x = disks[i].*member;
    if (device.model_before && i < device.model_before->disks.size()) x -= device.model_before->disks[i].*member;
    return x;
  };
  using D = sim::device::DiskCounters;
  using S = sim::device::TimeSplit;
  double total = 0;
  std::map<std::string, double> parts;
  const auto part = [&](const char* name, Duration S::* time) {
    for (std::size_t i = 0; i < disks.size(); ++i) {
      Duration d = disks[i].split.*time;
      if (device.model_before && i < device.model_before->disks.size()) d -= device.model_before->disks[i].split.*time;
      parts[name] += seconds(d);
      total += seconds(d);
    }
  };
  part("transfer", &S::data);
  part("transfer", &S::redundancy);
  part("metadata", &S::metadata);
  part("rmw", &S::read_modify_write);
  part("alignment", &S::alignment);
  part("seek", &S::seek);
  part("rotation", &S::rotation);
  part("flush", &S::flush);
  part("overhead", &S::overhead);
  part("idle", &S::idle);
  for (const auto& [name, time] : parts) out.split_pct[name] = total > 0 ? 100.0 * time / total : 0;
  out.seeks = out.rmw_reads = 0;
  for (std::size_t i = 0; i < disks.size(); ++i) {
    out.seeks += since(i, &D::seeks);
    out.rmw_reads += since(i, &D::rmw_reads);
    out.members.push_back({{"busy_s", seconds(since(i, &D::busy))},
                           {"seeks", static_cast<double>(since(i, &D::seeks))},
                           {"write_mb", static_cast<double>(since(i, &D::written).value()) * 1e-6},
                           {"read_mb", static_cast<double>(since(i, &D::read).value()) * 1e-6},
                           {"rmw_reads", static_cast<double>(since(i, &D::rmw_reads))}});
  }
}

/// The flush contexts together, and what each waited for: the answer to whether more of them would help stands in that.
void add_flushers(Record& r, const sim::FlusherInputs& in, const sim::BoxOutputs& outputs) {
  sim::TimeAccount all;
  std::int64_t most = 0;
  r.flusher.count = 0;
  for (const sim::FlusherOutputs& f : outputs.flushers) {
    sim::add(all, f.account);
    r.flusher.pages_written += f.pages_written;
    if (f.pages_written > 0) ++r.flusher.count;
    most = std::max(most, f.pages_written);
  }
  r.flusher.count = std::max(r.flusher.count, decltype(r.flusher.count){1});
  r.flusher.blocked_s = seconds(all.device + all.lock + all.log);
  r.counters["flusher_device_wait_s"] = seconds(all.device);
  r.counters["flusher_lock_wait_s"] = seconds(all.lock);
  r.counters["flusher_log_wait_s"] = seconds(all.log);
  if (r.flusher.pages_written > 0) r.counters["flusher_busiest_share_pct"] = 100.0 * static_cast<double>(most) / static_cast<double>(r.flusher.pages_written);
  sim::TimeAccount with_helpers = all;
  if (in.kind == sim::FlusherInputs::Kind::user) {
    sim::add(with_helpers, outputs.helpers);
    r.flusher.count += in.count;
    r.counters["user_flushers"] = in.count;
    r.counters["user_flushers_cpu_s"] = seconds(outputs.helpers.cpu());
  }
  r.flusher.cpu_s = seconds(with_helpers.cpu());
  r.flusher.cpu_pct = r.durable_s > 0 ? 100.0 * r.flusher.cpu_s / r.durable_s : 0;
}

/// All instances together, as fio's group_reporting does: bytes, operations and times added up, elapsed from the first
/// start to the last end.
JobResult to_job_result(const sim::JobOutputs& job, Duration zero) {
  JobResult out;
  out.name = job.name;
  Duration first = Duration::max(), last{0};
  sim::TimeAccount all;
  for (const sim::JobInstance& i : job.instances) {
    first = std::min(first, i.start);
    last = std::max(last, i.start + i.elapsed);
    sim::add(all, i.account);
    out.read_bytes += i.read().value();
    out.write_bytes += i.written.value();
    out.operations += i.reads + i.writes + i.others;
  }
  out.account = to_account(all);
  out.user_s = out.account.user_s;
  out.system_s = out.account.system_s;
  out.start_s = seconds(first - zero);
  out.elapsed_s = seconds(last - first);
  if (out.elapsed_s > 0) {
    out.mb_per_s = static_cast<double>(out.read_bytes + out.write_bytes) * 1e-6 / out.elapsed_s;
    out.iops = static_cast<double>(out.operations) / out.elapsed_s;
  }
  out.lat_ms_mean = seconds(job.latency_mean) * 1e3;
  out.lat_ms_p50 = seconds(job.latency_p50) * 1e3;
  out.lat_ms_p99 = seconds(job.latency_p99) * 1e3;
  out.lat_ms_max = seconds(job.latency_max) * 1e3;
  return out;
}

}  // namespace

double job_elapsed_s(const sim::JobOutputs& job) { return to_job_result(job, Duration{0}).elapsed_s; }

Record to_record(const Case& item, const RepeatContext& context, const Translation& translation, const sim::BoxOutputs& outputs) {
  const Experiment& e = item.experiment;
  const sim::BoxInputs& in = translation.inputs;
  const Duration zero = first_start(outputs);
  const auto since = [zero](Duration at) { return seconds(at - zero); };

  Record r;
  r.experiment_title = e.title;
  r.experiment_name = e.name;
  r.experiment = item.effective;
  r.case_keys = item.keys;
  r.repeat = context.repeat;
  r.seed = context.seed;
  r.box = {.kind = "simulated", .name = translation.profile.name, .kernel = translation.profile.kernel, .hz = in.hz, .cpus = in.cpu.cores, .numa_nodes = in.cpu.numa_nodes,
           .ram_bytes = in.memory.ram.value(), .device = translation.device_text, .target = "simulated", .profile = translation.profile.described, .environment = nlohmann::ordered_json::object()};

  BoxState& s = r.state_before;
  if (in.before.global_completions > 0) s.completion_share = static_cast<double>(in.before.device_completions) / static_cast<double>(in.before.global_completions);
  if (in.before.next_halving.count() >= 0 && in.before.global_completions > 0) s.completion_phase_s = 3.0 - seconds(in.before.next_halving);
  s.dirty_ratelimit_pages_per_s = in.before.dirty_ratelimit.value() / 4096;
  s.avg_write_bandwidth_pages_per_s = in.before.avg_write_bandwidth.value() / 4096;
  s.write_bandwidth_pages_per_s = in.before.write_bandwidth.value() / 4096;
  if (in.before.dirty_limit.value() > 0) s.dirty_limit_pages = in.before.dirty_limit.value() / 4096;
  if (in.memory.dirtyable.value() > 0) s.dirtyable_pages = in.memory.dirtyable.value() / 4096;
  s.foreign_dirty_pages = in.before.foreign_dirty.value() / 4096;
  s.device_completions_pages = in.before.device_completions;
  s.global_completions_pages = in.before.global_completions;
  s.balanced_dirty_ratelimit_pages_per_s = in.before.balanced_dirty_ratelimit.value() / 4096;
  s.bandwidth_stamp_age_s = seconds(in.before.bandwidth_stamp_age);
  s.foreign_completions_pages_per_s = in.before.foreign_completions_per_s;
  s.foreign_cpus = in.before.foreign_cpus;
  s.cold = in.before.device_completions == 0;

  const auto data = in.replay.catalogue->bytes().value();
  const auto files = static_cast<std::int64_t>(in.replay.catalogue->files.size());
  for (const auto& u : outputs.untars) {
    UntarResult untar;
    untar.number = u.index;
    untar.start_s = since(u.start);
    untar.elapsed_s = seconds(u.elapsed);
    untar.user_s = seconds(u.account.user);
    untar.system_s = seconds(u.account.system);
    untar.bytes = data;
    untar.files = files;
    untar.voluntary_switches = static_cast<std::int64_t>(u.voluntary_switches);
    untar.involuntary_switches = static_cast<std::int64_t>(u.involuntary_switches);
    untar.account = to_account(u.account);
    for (const char* part : {"user", "system", "runqueue", "throttled", "device", "lock", "log", "unknown"}) untar.account_sources[part] = "simulated";
    untar.pauses = u.pauses;
    for (const auto& row : outputs.throttle_trace) {
      if (row.untar == u.index) untar.longest_pause_s = std::max(untar.longest_pause_s, static_cast<double>(row.pause_ms) / 1000.0);
    }
    r.untars.push_back(std::move(untar));
    r.marks.push_back({since(u.start), fmt::format("untar {} start", u.index)});
    r.marks.push_back({since(u.start + u.elapsed), fmt::format("untar {} end", u.index)});
  }
  for (const auto& p : outputs.phases) {
    r.phases.push_back({.name = p.name, .start_s = since(p.start), .elapsed_s = seconds(p.elapsed), .user_s = seconds(p.account.user), .system_s = seconds(p.account.system), .device_busy_s = 0});
    r.marks.push_back({since(p.start), fmt::format("phase {} start", p.name)});
    r.marks.push_back({since(p.start + p.elapsed), fmt::format("phase {} end", p.name)});
  }
  for (const auto& job : outputs.jobs) {
    r.jobs.push_back(to_job_result(job, zero));
    r.marks.push_back({r.jobs.back().start_s, fmt::format("job {} start", job.name)});
    r.marks.push_back({r.jobs.back().start_s + r.jobs.back().elapsed_s, fmt::format("job {} end", job.name)});
  }
  std::stable_sort(r.marks.begin(), r.marks.end(), [](const Mark& a, const Mark& b) { return a.t_s < b.t_s; });

  r.untars_end_s = since(outputs.untars_end);
  r.durable_s = since(outputs.durable);
  double cpu = 0;
  for (const auto& u : outputs.untars) cpu += seconds(u.account.cpu());
  for (const auto& p : outputs.phases) cpu += seconds(p.account.cpu());
  for (const auto& j : r.jobs) cpu += j.user_s + j.system_s;
  for (const auto& w : outputs.workers) {
    cpu += seconds(w.cpu);
    r.kworkers.push_back(to_kworker(w, r.durable_s));
  }
  add_flushers(r, in.flushers, outputs);
  cpu += seconds(outputs.helpers.cpu());
  r.cpu_total_s = cpu;

  const double total = r.durable_s;
  r.device.write_bytes = outputs.device.written.value();
  r.device.read_bytes = outputs.device.read.value();
  r.device.write_ios = outputs.device.writes;
  r.device.read_ios = outputs.device.reads;
  r.device.flushes = outputs.device.flushes;
  r.device.busy_s = seconds(outputs.device.busy);
  r.device.busy_pct = total > 0 ? 100.0 * r.device.busy_s / total : 0;
  const BytesPerSec sequential = outputs.device.model ? outputs.device.sequential_rate : in.device.write_rate;
  r.device.sequential_mb_per_s = static_cast<double>(sequential.value()) * 1e-6;
  add_disks(r.device, outputs.device);
  double all_data = static_cast<double>(data) * in.replay.untars;
  for (const auto& j : r.jobs) all_data += static_cast<double>(j.write_bytes);
  if (total > 0) r.device.efficiency_pct = 100.0 * all_data * 1e-6 / (r.device.sequential_mb_per_s * total);
  r.log.transactions = outputs.filesystem.transactions;
  r.log.log_bytes = outputs.filesystem.log_written.value();
  r.log.log_writes = outputs.filesystem.log_writes;
  r.log.forces = outputs.filesystem.log_forces;
  r.log.ail_pushes = outputs.filesystem.ail_pushes;
  r.log.space_wait_s = seconds(outputs.filesystem.log_space_wait);
  const bool full = in.filesystem.model == sim::FilesystemInputs::Model::full;
  if (const auto with = full ? outputs.filesystem.files_with_extents : outputs.filesystem.files; with > 0)
    r.extents_mean = static_cast<double>(outputs.filesystem.extents) / static_cast<double>(with);

  r.counters["events"] = static_cast<double>(outputs.events);
  r.counters["checkpoints"] = static_cast<double>(outputs.filesystem.checkpoints);
  r.counters["metadata_write_bytes"] = static_cast<double>(outputs.device.metadata_written.value());
  r.counters["pages_dirtied"] = static_cast<double>(outputs.pages_dirtied);
  r.counters["pages_written"] = static_cast<double>(outputs.pages_written);
  if (full) {
    r.counters["groups_passed_over"] = static_cast<double>(outputs.filesystem.groups_passed_over);
    r.counters["free_blocks"] = static_cast<double>(outputs.filesystem.free_blocks);
    std::int64_t pieces = 0;
    for (const std::int64_t n : outputs.filesystem.free_extents) pieces += n;
    r.counters["free_extents"] = static_cast<double>(pieces);
  }
  if (outputs.cache.tracked) r.counters["cache.evicted_bytes"] = static_cast<double>(outputs.cache.evicted * 4096);
  if (in.replay.archive_cold) {
    r.counters["archive.read_from_device_bytes"] = static_cast<double>(outputs.archive_from_device.value());
    r.counters["archive.read_from_cache_bytes"] = static_cast<double>(outputs.archive_from_cache.value());
  }
  for (const auto& job : outputs.jobs) {
    double cached = 0, device = 0;
    for (const auto& i : job.instances) cached += static_cast<double>(i.read_from_cache.value()), device += static_cast<double>(i.read_from_device.value());
    if (cached + device > 0) {
      r.counters["job." + job.name + ".read_from_cache_bytes"] = cached;
      r.counters["job." + job.name + ".read_from_device_bytes"] = device;
    }
  }
  for (const auto& after : outputs.cache.after_job)
    for (const auto& file : after.files) r.counters[fmt::format("cached_after.{}.{}_bytes", after.job, file.name)] = static_cast<double>(file.cached.value());
  r.notes = translation.notes;
  r.files = {"timeline.csv"};
  r.complete = true;
  return r;
}

std::string throttle_csv(const sim::BoxOutputs& outputs) {
  const Duration zero = first_start(outputs);
  std::string csv = "t_s,untar,limit,setpoint,dirty,wb_dirty,dirty_ratelimit,task_ratelimit,dirtied,dirtied_pause,paused_ms,pause_ms,period_ms,think_ms,wb_thresh,avg_write_bw,pos_ratio\n";
  for (const auto& r : outputs.throttle_trace) {
    csv += fmt::format("{:.6f},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", seconds(r.at - zero), r.untar, r.limit, r.setpoint, r.dirty, r.wb_dirty, r.dirty_ratelimit,
                       r.task_ratelimit, r.dirtied, r.dirtied_pause, r.paused_ms, r.pause_ms, r.period_ms, r.think_ms, r.wb_thresh, r.avg_write_bandwidth, r.pos_ratio);
  }
  return csv;
}

Timeline to_timeline(const sim::BoxOutputs& outputs) {
  const Duration zero = first_start(outputs);
  Timeline out;
  for (const sim::TimelineRow& row : outputs.timeline) {
    TimelineRow t;
    t.t_s = seconds(row.at - zero);
    const auto number = [](std::int64_t n) { return std::optional<double>{static_cast<double>(n)}; };
    t.nr_dirty_pages = number(row.nr_dirty);
    t.nr_writeback_pages = number(row.nr_writeback);
    t.thresh_pages = number(row.threshold);
    t.background_pages = number(row.background_threshold);
    t.freerun_pages = number(row.freerun);
    t.limit_pages = number(row.dirty_limit);
    t.wb_reclaimable_pages = number(row.device_reclaimable);
    t.wb_writeback_pages = number(row.device_writeback);
    t.wb_thresh_pages = number(row.device_share);
    t.wb_written_pages = number(row.device_written);
    t.wb_dirtied_pages = number(row.device_dirtied);
    t.write_bandwidth_pages_per_s = number(row.write_bandwidth);
    t.dirty_ratelimit_pages_per_s = number(row.dirty_ratelimit);
    t.b_dirty = number(row.b_dirty);
    t.b_io = number(row.b_io);
    t.b_more_io = number(row.b_more_io);
    t.device_write_bytes = number(row.device_written_bytes.value());
    t.device_write_ios = number(row.device_writes);
    t.device_inflight = number(row.in_flight);
    std::int64_t youngest = 0;
    for (const auto& u : outputs.untars) {
      if (u.start <= row.at && row.at < u.start + u.elapsed) youngest = std::max<std::int64_t>(youngest, u.index);
    }
    t.untar = number(youngest);
    out.rows.push_back(t);
  }
  return out;
}

}  // namespace spillway::simulated
