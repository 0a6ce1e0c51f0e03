/// The outcome of a real pipeline as JSON between two processes, and as a record.

#include <fmt/format.h>

#include <algorithm>

#include "workload/real/pipeline/pipeline.hpp"

namespace spillway::real {
namespace {

using Json = nlohmann::ordered_json;

double at_share(const std::vector<std::int64_t>& sorted, double share) {
  if (sorted.empty()) return 0;
  return static_cast<double>(sorted[std::min(sorted.size() - 1, static_cast<std::size_t>(share * static_cast<double>(sorted.size())))]);
}
double mean_of(const std::vector<std::int64_t>& values) {
  double sum = 0;
  for (const auto value : values) sum += static_cast<double>(value);
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

/// Which thread everything waits for, in words; empty when none is near its limit.
std::string bottleneck_sentence(const Record& record, const PipelineSpec& spec, const PipelineOutcome& outcome) {
  const StageResult* busiest = nullptr;
  for (const auto& stage : record.stages)
    if (stage.threads > 0 && stage.name != "source" && (busiest == nullptr || stage.cpu_pct_max > busiest->cpu_pct_max)) busiest = &stage;
  if (busiest == nullptr || busiest->cpu_pct_max < 90) return {};
  const auto held = std::ranges::max_element(record.stages, {}, &StageResult::lock_held_pct);
  if (held->lock_held_pct > 90) return {};  // the lock is the answer, and has a sentence of its own
  double whole = 0;
  for (const auto& stage : record.stages) whole += stage.cpu_pct;
  const double cores = static_cast<double>(record.box.cpus > 0 ? record.box.cpus : 1);
  // How far a pool carries until the cores, the link or the device are full.
  double headroom = 100 * cores / std::max(1.0, whole);
  headroom = std::min(headroom, 100 / std::max(1.0, std::max(outcome.link_busy_pct, outcome.device_busy_pct)));
  for (const auto& stage : record.stages)
    if (&stage != busiest && stage.threads > 0 && stage.cpu_pct_max > 0) headroom = std::min(headroom, 100 / stage.cpu_pct_max);
  return fmt::format("{} stage `{}` at {:.0f} % of one core, device {:.0f} % and link {:.0f} % busy: more sources than {} cannot help; a pool there would give at most {:.1f} times",
                     busiest->threads == 1 ? "serial" : "saturated", busiest->name, busiest->cpu_pct_max, outcome.device_busy_pct, outcome.link_busy_pct, spec.sources, std::max(1.0, headroom));
}

}  // namespace

Json to_json(const PipelineOutcome& outcome) {
  Json json{{"requests", outcome.requests}, {"elapsed_s", outcome.elapsed_s}, {"durable_s", outcome.durable_s}, {"latencies_ns", outcome.latencies_ns},
            {"link_busy_pct", outcome.link_busy_pct}, {"device_busy_pct", outcome.device_busy_pct}, {"notes", outcome.notes}, {"threads", Json::array()}};
  for (const auto& use : outcome.threads)
    json["threads"].push_back({{"stage", use.stage}, {"number", use.number}, {"cpu_ns", use.cpu_ns}, {"runqueue_ns", use.runqueue_ns}, {"slices", use.slices},
                               {"voluntary_switches", use.voluntary_switches}, {"involuntary_switches", use.involuntary_switches}, {"wakeup_delays_ns", use.wakeup_delays_ns},
                               {"requests", use.requests}, {"lock_wait_ns", use.lock_wait_ns}});
  json["locks"] = Json::object();
  for (const auto& [name, use] : outcome.locks) json["locks"][name] = {{"acquired", use.acquired}, {"contended", use.contended}, {"held_ns", use.held_ns}, {"wait_ns", use.wait_ns}};
  return json;
}

Result<PipelineOutcome> outcome_from(const Json& json) {
  PipelineOutcome outcome;
  try {  // the JSON library throws on a missing member
    outcome.requests = json.at("requests");
    outcome.elapsed_s = json.at("elapsed_s");
    outcome.durable_s = json.at("durable_s");
    outcome.latencies_ns = json.at("latencies_ns").get<std::vector<std::int64_t>>();
    outcome.link_busy_pct = json.at("link_busy_pct");
    outcome.device_busy_pct = json.at("device_busy_pct");
    outcome.notes = json.at("notes").get<std::vector<std::string>>();
    for (const auto& one : json.at("threads")) {
      ThreadUse use;
      use.stage = one.at("stage").get<std::string>();
      use.number = one.at("number");
      use.cpu_ns = one.at("cpu_ns");
      use.runqueue_ns = one.at("runqueue_ns");
      use.slices = one.at("slices");
      use.voluntary_switches = one.at("voluntary_switches");
      use.involuntary_switches = one.at("involuntary_switches");
      use.wakeup_delays_ns = one.at("wakeup_delays_ns").get<std::vector<std::int64_t>>();
      use.requests = one.at("requests");
      use.lock_wait_ns = one.at("lock_wait_ns");
      outcome.threads.push_back(std::move(use));
    }
    for (const auto& [name, one] : json.at("locks").items()) outcome.locks[name] = {one.at("acquired"), one.at("contended"), one.at("held_ns"), one.at("wait_ns")};
  } catch (const Json::exception& thrown) {
    return fail(ErrorKind::internal, fmt::format("the pipeline's result cannot be read: {}", thrown.what()));
  }
  return outcome;
}

void fill_record(Record& record, const PipelineSpec& spec, const PipelineOutcome& outcome) {
  const double elapsed = std::max(1e-9, outcome.elapsed_s), durable = std::max(1e-9, outcome.durable_s);
  auto latencies = outcome.latencies_ns;
  std::ranges::sort(latencies);
  JobResult job;
  job.name = "pipeline";
  job.elapsed_s = outcome.durable_s;
  job.operations = outcome.requests;
  const std::int64_t bytes = outcome.requests * spec.request.value();
  (spec.rw.ends_with("write") ? job.write_bytes : job.read_bytes) = bytes;
  job.mb_per_s = static_cast<double>(bytes) * 1e-6 / durable;
  job.iops = static_cast<double>(outcome.requests) / durable;
  job.lat_ms_mean = mean_of(latencies) * 1e-6;
  job.lat_ms_p50 = at_share(latencies, 0.5) * 1e-6;
  job.lat_ms_p99 = at_share(latencies, 0.99) * 1e-6;
  job.lat_ms_max = latencies.empty() ? 0 : static_cast<double>(latencies.back()) * 1e-6;
  record.jobs.push_back(job);

  double cpu_s = 0;
  std::vector<std::int64_t> all_delays;
  const auto add_stage = [&](const std::string& name, int threads) {
    StageResult stage;
    stage.name = name;
    stage.threads = threads;
    std::vector<std::int64_t> delays;
    std::int64_t runqueue_ns = 0, slices = 0;
    for (const auto& use : outcome.threads) {
      if (use.stage != name) continue;
      const double pct = 100 * static_cast<double>(use.cpu_ns) * 1e-9 / elapsed;
      cpu_s += static_cast<double>(use.cpu_ns) * 1e-9;
      stage.cpu_pct += pct;
      stage.cpu_pct_max = std::max(stage.cpu_pct_max, pct);
      stage.requests += use.requests;
      stage.lock_wait_s += static_cast<double>(use.lock_wait_ns) * 1e-9;
      stage.context_switches += use.voluntary_switches + use.involuntary_switches;
      runqueue_ns += use.runqueue_ns;
      slices += use.slices;
      delays.insert(delays.end(), use.wakeup_delays_ns.begin(), use.wakeup_delays_ns.end());
      const std::string key = fmt::format("thread.{}.{}", name, use.number);
      record.counters[key + ".cpu_pct"] = pct;
      record.counters[key + ".runqueue_pct"] = 100 * static_cast<double>(use.runqueue_ns) * 1e-9 / elapsed;
      record.counters[key + ".switches"] = static_cast<double>(use.voluntary_switches + use.involuntary_switches);
    }
    std::ranges::sort(delays);
    all_delays.insert(all_delays.end(), delays.begin(), delays.end());
    stage.wakeup_delay_us_mean = slices > 0 ? static_cast<double>(runqueue_ns) * 1e-3 / static_cast<double>(slices) : 0;
    stage.wakeup_delay_us_p99 = at_share(delays, 0.99) * 1e-3;
    stage.wakeup_delay_us_max = delays.empty() ? 0 : static_cast<double>(delays.back()) * 1e-3;
    record.stages.push_back(std::move(stage));
  };
  add_stage("source", spec.sources);
  for (const auto& stage : spec.stages) add_stage(stage.name, stage.threads);
  for (std::size_t s = 0; s < spec.stages.size(); ++s)
    if (const auto it = outcome.locks.find(spec.stages[s].lock); it != outcome.locks.end()) {
      record.stages[s + 1].lock_held_pct = std::min(100.0, 100 * static_cast<double>(it->second.held_ns) * 1e-9 / elapsed);
      if (record.stages[s + 1].lock_held_pct > 60)
        record.notes.push_back(fmt::format("lock `{}` held {:.0f} % of the time", spec.stages[s].lock, record.stages[s + 1].lock_held_pct));
    }
  for (const auto& [name, use] : outcome.locks) {
    record.counters["lock." + name + ".acquired"] = static_cast<double>(use.acquired);
    record.counters["lock." + name + ".contended"] = static_cast<double>(use.contended);
    record.counters["lock." + name + ".wait_s"] = static_cast<double>(use.wait_ns) * 1e-9;
  }
  std::ranges::sort(all_delays);
  const std::string host = spec.hosts.empty() || spec.hosts[0].name.empty() ? "box" : spec.hosts[0].name;
  record.counters["host." + host + ".cpu_pct"] = 100 * cpu_s / elapsed / std::max(1, record.box.cpus);
  record.counters["host." + host + ".wakeup_delay_us_mean"] = mean_of(all_delays) * 1e-3;
  record.counters["host." + host + ".wakeup_delay_us_p99"] = at_share(all_delays, 0.99) * 1e-3;
  record.counters["link.busy_pct"] = outcome.link_busy_pct;
  record.counters["pipeline.apparent_mb_per_s"] = static_cast<double>(bytes) * 1e-6 / elapsed;
  record.counters["pipeline.cpu_s_per_gb"] = bytes > 0 ? cpu_s / (static_cast<double>(bytes) * 1e-9) : 0;
  record.device.busy_pct = outcome.device_busy_pct;
  record.untars_end_s = outcome.elapsed_s;
  record.durable_s = outcome.durable_s;
  record.notes.insert(record.notes.end(), outcome.notes.begin(), outcome.notes.end());
  record.notes.push_back("stages: wake-up delays are run-queue time per stretch on a core (schedstat); the 99th percentile and the longest are of every eighth sleep");
  if (const auto sentence = bottleneck_sentence(record, spec, outcome); !sentence.empty()) record.notes.push_back(sentence);
}

}  // namespace spillway::real
