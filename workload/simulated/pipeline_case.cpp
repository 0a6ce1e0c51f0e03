#include "workload/simulated/pipeline_case.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "workload/device/device_model.hpp"
#include "workload/simulated/translate.hpp"

namespace spillway::simulated {

namespace {

namespace pl = sim::pipeline;

pl::SchedulerParams scheduler_of(const std::string& kind, int cpus, Duration slice) {
  pl::SchedulerParams params =
      pl::default_scheduler(kind == "cfs" ? pl::SchedulerKind::cfs : pl::SchedulerKind::eevdf, cpus);
  if (slice.count() > 0) {
    params.wakeup_granularity = slice;
    params.base_slice = slice;
  }
  return params;
}

std::int64_t nanoseconds_of(Duration d) { return d.count(); }

/// What one more look at the busiest stage says: how far a pool would carry, until the next thing is full.
std::string serial_stage_sentence(const PipelineSpec& spec, const pl::PipelineOutputs& out) {
  const pl::StageOutput* busiest = nullptr;
  std::size_t index = 0;
  for (std::size_t i = 1; i < out.stages.size(); ++i) {
    if (spec.stages[i - 1].threads == 0) continue;
    if (!busiest || out.stages[i].cpu_pct_max > busiest->cpu_pct_max) {
      busiest = &out.stages[i];
      index = i - 1;
    }
  }
  if (!busiest || busiest->cpu_pct_max < 90) return {};
  // The next limit: everything else that is partly busy, scaled up until it is full.
  double headroom = 100.0 / std::max(1.0, std::max(out.link_busy_pct, out.device_busy_pct));
  for (const auto& stage : out.stages)
    if (&stage != busiest && stage.cpu_pct_max > 0) headroom = std::min(headroom, 100.0 / stage.cpu_pct_max);
  for (const auto& host : out.hosts)
    if (host.cpu_pct > 0) headroom = std::min(headroom, 100.0 / host.cpu_pct);
  const double pool = std::min(4.0, headroom);
  const int threads = spec.stages[index].threads;
  return fmt::format(
      "{} stage `{}` at {:.0f} % of one core, device {:.0f} % and link {:.0f} % busy: more sources cannot help; {} times as many "
      "threads there would give about {:.1f} times",
      threads == 1 ? "serial" : "saturated", busiest->name, busiest->cpu_pct_max, out.device_busy_pct, out.link_busy_pct, 4, pool);
}

}  // namespace

Result<pl::PipelineInputs> pipeline_inputs(const Case& item, std::uint64_t seed) {
  const Experiment& e = item.experiment;
  if (!e.pipeline) return fail(ErrorKind::internal, "The case has no [pipeline].");
  const PipelineSpec& spec = *e.pipeline;
  pl::PipelineInputs in;
  in.seed = seed;
  in.hosts.clear();
  for (const HostSpec& host : spec.hosts)
    in.hosts.push_back({host.name, scheduler_of(host.scheduler, host.cpus,
                                                host.slice.count() > 0 ? host.slice : spec.scheduler_slice)});
  if (in.hosts.empty()) in.hosts.push_back({"box", scheduler_of("eevdf", e.box.cpus.value_or(2), spec.scheduler_slice)});
  bool device = false;
  for (const StageSpec& s : spec.stages) {
    pl::Stage stage;
    stage.name = s.name;
    for (std::size_t h = 0; h < spec.hosts.size(); ++h)
      if (spec.hosts[h].name == s.host) stage.host = h;
    stage.threads = s.threads;
    stage.cpu_per_request = s.cpu_per_request;
    stage.cpu_ns_per_byte = s.cpu_ns_per_byte;
    stage.lock = s.lock;
    stage.lock_hold = s.lock_hold;
    if (!s.lock.empty() && s.lock_spin.count() > 0) in.locks[s.lock].spin_limit = s.lock_spin;
    stage.pieces = s.pieces;
    stage.piece_gap = s.piece_gap;
    stage.link = s.link;
    stage.device = s.device;
    stage.blocking = s.blocking;
    stage.requests_per_thread = s.requests_per_thread;
    device = device || s.device;
    in.stages.push_back(std::move(stage));
  }
  in.sources = spec.sources;
  in.in_flight = spec.in_flight;
  in.request = spec.request;
  in.write = spec.rw == "write" || spec.rw == "randwrite";
  in.random_offsets = spec.rw.starts_with("rand");
  in.think = spec.think;
  in.requests = spec.requests;
  in.runtime = spec.runtime;
  in.variation = spec.variation;
  in.link_rate = spec.link_rate;
  in.link_latency = spec.link_latency;
  in.bytes_on_link_per_byte = spec.bytes_on_link_per_byte;
  in.durable_rate = spec.durable_rate;
  if (device) {
    SPILLWAY_ASSIGN(in.device, device_spec_of(e.device, Bytes{100 * kGB}));
  }
  SPILLWAY_TRY(pl::validate(in));
  return in;
}

Result<Record> run_pipeline_case(const Case& item, const RepeatContext& context) {
  SPILLWAY_ASSIGN(const pl::PipelineInputs in, pipeline_inputs(item, context.seed));
  const pl::PipelineOutputs out = pl::run_pipeline(in);
  const PipelineSpec& spec = *item.experiment.pipeline;

  Record record;
  record.experiment_title = item.experiment.title;
  record.experiment_name = item.experiment.name;
  record.experiment = item.effective;
  record.case_keys = item.keys;
  record.repeat = context.repeat;
  record.seed = context.seed;
  record.box.kind = "simulated";
  record.box.target = "simulated";
  record.box.cpus = in.hosts.front().scheduler.cores;
  record.box.kernel = in.hosts.front().scheduler.kind == pl::SchedulerKind::cfs ? "CFS scheduler (before 6.6)" : "EEVDF scheduler (6.6 and later)";

  JobResult job;
  job.name = "pipeline";
  job.elapsed_s = to_seconds(out.durable);
  job.operations = out.requests;
  const std::int64_t bytes = out.requests * in.request.value();
  (in.write ? job.write_bytes : job.read_bytes) = bytes;
  job.mb_per_s = out.durable_mb_per_s;
  job.iops = static_cast<double>(out.requests) / to_seconds(out.durable);
  job.lat_ms_mean = to_seconds(out.latency.mean()) * 1e3;
  job.lat_ms_p50 = to_seconds(out.latency.quantile(0.5)) * 1e3;
  job.lat_ms_p99 = to_seconds(out.latency.quantile(0.99)) * 1e3;
  job.lat_ms_max = to_seconds(out.latency.max()) * 1e3;
  record.jobs.push_back(job);

  for (std::size_t i = 0; i < out.stages.size(); ++i) {
    const pl::StageOutput& s = out.stages[i];
    StageResult stage;
    stage.name = s.name;
    stage.threads = i == 0 ? spec.sources : spec.stages[i - 1].threads;
    stage.cpu_pct = s.cpu_pct;
    stage.cpu_pct_max = s.cpu_pct_max;
    stage.requests = s.requests;
    stage.lock_wait_s = to_seconds(s.lock_wait);
    stage.wakeup_delay_us_mean = static_cast<double>(nanoseconds_of(s.wakeup_delay.mean())) * 1e-3;
    stage.wakeup_delay_us_p99 = static_cast<double>(nanoseconds_of(s.wakeup_delay.quantile(0.99))) * 1e-3;
    stage.wakeup_delay_us_max = static_cast<double>(nanoseconds_of(s.wakeup_delay.max())) * 1e-3;
    stage.context_switches = s.context_switches;
    if (i > 0)
      for (const auto& lock : out.locks)
        if (lock.name == spec.stages[i - 1].lock) stage.lock_held_pct = lock.held_pct;
    record.stages.push_back(std::move(stage));
  }
  for (const auto& lock : out.locks) {
    record.counters["lock." + lock.name + ".acquired"] = static_cast<double>(lock.acquired);
    record.counters["lock." + lock.name + ".contended"] = static_cast<double>(lock.contended);
    record.counters["lock." + lock.name + ".slept"] = static_cast<double>(lock.slept);
    if (lock.held_pct > 60)
      record.notes.push_back(fmt::format("lock `{}` held {:.0f} % of the time", lock.name, lock.held_pct));
  }
  for (const auto& host : out.hosts) {
    record.counters["host." + host.name + ".cpu_pct"] = host.cpu_pct;
    record.counters["host." + host.name + ".wakeup_delay_us_mean"] = to_seconds(host.wakeup_delay.mean()) * 1e6;
    record.counters["host." + host.name + ".wakeup_delay_us_p99"] = to_seconds(host.wakeup_delay.quantile(0.99)) * 1e6;
    record.counters["host." + host.name + ".wakeup_delay_us_max"] = to_seconds(host.wakeup_delay.max()) * 1e6;
  }
  record.counters["link.busy_pct"] = out.link_busy_pct;
  record.counters["link.bytes"] = static_cast<double>(out.link_bytes);
  record.counters["link.packets"] = static_cast<double>(out.link_packets);
  record.counters["pipeline.apparent_mb_per_s"] = out.mb_per_s;
  record.counters["pipeline.cpu_s_per_gb"] = out.cpu_s_per_gb;
  record.counters["events"] = static_cast<double>(out.events);
  record.device.busy_pct = out.device_busy_pct;
  Duration cpu{};
  for (const auto& host : out.hosts) cpu += host.cpu;
  record.cpu_total_s = to_seconds(cpu);
  record.untars_end_s = to_seconds(out.elapsed);
  record.durable_s = to_seconds(out.durable);
  if (const std::string verdict = serial_stage_sentence(spec, out); !verdict.empty()) record.notes.push_back(verdict);
  record.complete = true;
  return record;
}

}  // namespace spillway::simulated
