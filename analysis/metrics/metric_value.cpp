#include "analysis/metrics/metric_value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>

#include "analysis/account/account.hpp"
#include "analysis/knee/knee.hpp"
#include "analysis/statistics/summary.hpp"

namespace spillway::analysis {
namespace {

constexpr double kBytesPerMb = 1e6;

std::unexpected<Error> absent(std::string what) { return fail(ErrorKind::bad_input, std::move(what)); }
std::unexpected<Error> unseen(std::string what) { return fail(ErrorKind::unsupported, std::move(what)); }

double mb(std::int64_t bytes) { return static_cast<double>(bytes) / kBytesPerMb; }
double count(std::int64_t n) { return static_cast<double>(n); }

/// A part of the account by its metric field ("throttled_s").
std::optional<double> account_field(const Account& account, std::string_view field) {
  if (field == "runqueue_s") return account.runqueue_s;
  if (field == "throttled_s") return account.throttled_s;
  if (field == "device_s") return account.device_s;
  if (field == "lock_s") return account.lock_s;
  if (field == "log_s") return account.log_s;
  if (field == "unknown_s") return account.unknown_s;
  return std::nullopt;
}

double percent(double part, double whole) { return whole > 0 ? 100.0 * part / whole : 0.0; }

Result<double> of_untars(std::span<const UntarResult> untars, const MetricName& name) {
  const auto add = [&](auto member) {
    return std::accumulate(untars.begin(), untars.end(), 0.0,
                           [&](double sum, const UntarResult& one) { return sum + static_cast<double>(member(one)); });
  };
  const auto cpu = [](const UntarResult& one) { return one.user_s + one.system_s; };
  const auto elapsed = [](const UntarResult& one) { return one.elapsed_s; };
  double first = untars.front().start_s;
  double last = first;
  double longest = 0;
  for (const UntarResult& one : untars) {
    first = std::min(first, one.start_s);
    last = std::max(last, one.start_s + one.elapsed_s);
    longest = std::max(longest, one.longest_pause_s);
  }
  const std::string& field = name.field;
  if (field == "elapsed_s") return add(elapsed);
  if (field == "start_s") return first;
  if (field == "end_s") return last;
  if (field == "user_s") return add([](const UntarResult& one) { return one.user_s; });
  if (field == "system_s") return add([](const UntarResult& one) { return one.system_s; });
  if (field == "cpu_s") return add(cpu);
  if (field == "cpu_pct") return percent(add(cpu), add(elapsed));
  if (field == "pauses") return add([](const UntarResult& one) { return one.pauses; });
  if (field == "longest_pause_s") return longest;
  if (field == "mb_per_s") {
    const double bytes = add([](const UntarResult& one) { return one.bytes; });
    if (bytes <= 0 || last <= first) return unseen(fmt::format("{}: the record does not say how many bytes.", name.text()));
    return bytes / kBytesPerMb / (last - first);
  }
  if (account_field(untars.front().account, field)) {
    return add([&](const UntarResult& one) { return *account_field(one.account, field); });
  }
  return unseen(fmt::format("{} has no value in a record.", name.text()));
}

Result<double> of_untar(const Record& record, const MetricName& name) {
  const std::span<const UntarResult> all = record.untars;
  if (all.empty()) return absent(fmt::format("{}: the record has no untars.", name.text()));
  if (name.selector == "all") return of_untars(all, name);
  const auto number = name.selector == "first" ? std::optional<int>{1}
                      : name.selector == "last" ? std::optional<int>{static_cast<int>(all.size())}
                                                : name.number();
  if (!number || static_cast<std::size_t>(*number) > all.size()) {
    return absent(fmt::format("{}: the record has {} untars.", name.text(), all.size()));
  }
  const auto found = std::ranges::find(all, *number, &UntarResult::number);
  // Records number their untars in start order; a record without numbers is taken in its own order.
  const auto place = found != all.end() ? static_cast<std::size_t>(found - all.begin()) : static_cast<std::size_t>(*number - 1);
  return of_untars(all.subspan(place, 1), name);
}

Result<double> of_phase(const Record& record, const MetricName& name) {
  const auto phase = std::ranges::find(record.phases, name.selector, &PhaseResult::name);
  if (phase == record.phases.end()) return absent(fmt::format("{}: the record has no phase \"{}\".", name.text(), name.selector));
  if (name.field == "elapsed_s") return phase->elapsed_s;
  if (name.field == "user_s") return phase->user_s;
  if (name.field == "system_s") return phase->system_s;
  if (name.field == "cpu_pct") return percent(phase->user_s + phase->system_s, phase->elapsed_s);
  return phase->device_busy_s;
}

/// The element with the selector's number (from 1) or name; null when there is none.
template <class Item>
const Item* pick(const std::vector<Item>& items, const MetricName& name) {
  const auto named = std::ranges::find(items, name.selector, &Item::name);
  if (named != items.end()) return &*named;
  const auto number = name.number();
  if (!number || static_cast<std::size_t>(*number) > items.size()) return nullptr;
  return &items[static_cast<std::size_t>(*number) - 1];
}

Result<double> of_job(const Record& record, const MetricName& name) {
  const JobResult* job = pick(record.jobs, name);
  if (job == nullptr) return absent(fmt::format("{}: the record has no job \"{}\".", name.text(), name.selector));
  const std::string& field = name.field;
  if (field == "elapsed_s") return job->elapsed_s;
  if (field == "mb_per_s") return job->mb_per_s;
  if (field == "iops") return job->iops;
  if (field == "lat_ms_mean") return job->lat_ms_mean;
  if (field == "lat_ms_p50") return job->lat_ms_p50;
  if (field == "lat_ms_p99") return job->lat_ms_p99;
  if (field == "lat_ms_max") return job->lat_ms_max;
  if (field == "user_s") return job->user_s;
  if (field == "system_s") return job->system_s;
  if (field == "cpu_pct") return percent(job->user_s + job->system_s, job->elapsed_s);
  if (const auto part = account_field(job->account, field)) return *part;
  return unseen(fmt::format("{} has no value in a record.", name.text()));
}

Result<double> of_stage(const Record& record, const MetricName& name) {
  const StageResult* stage = pick(record.stages, name);
  if (stage == nullptr) return absent(fmt::format("{}: the record has no stage \"{}\".", name.text(), name.selector));
  const std::string& field = name.field;
  if (field == "cpu_pct") return stage->cpu_pct;
  if (field == "cpu_pct_max") return stage->cpu_pct_max;
  if (field == "requests") return count(stage->requests);
  if (field == "lock_wait_s") return stage->lock_wait_s;
  if (field == "lock_held_pct") return stage->lock_held_pct;
  if (field == "wakeup_delay_us_mean") return stage->wakeup_delay_us_mean;
  if (field == "wakeup_delay_us_p99") return stage->wakeup_delay_us_p99;
  if (field == "wakeup_delay_us_max") return stage->wakeup_delay_us_max;
  if (field == "context_switches") return count(stage->context_switches);
  return unseen(fmt::format("{} has no value in a record.", name.text()));
}

/// All data that the tasks of the run wrote, in bytes.
std::int64_t data_bytes(const Record& record) {
  std::int64_t bytes = 0;
  for (const UntarResult& one : record.untars) bytes += one.bytes;
  for (const JobResult& one : record.jobs) bytes += one.write_bytes;
  return bytes;
}

Result<double> of_total(const Record& record, const MetricName& name) {
  const std::string& field = name.field;
  if (field == "untars_end_s") return record.untars_end_s;
  if (field == "durable_s") return record.durable_s;
  if (field == "untars_cv_pct") {
    std::vector<double> elapsed;
    for (const UntarResult& one : record.untars) elapsed.push_back(one.elapsed_s);
    if (elapsed.size() < 2 || mean_of(elapsed) <= 0) return absent("total.untars_cv_pct: one untar has nothing to differ from.");
    return 100.0 * std::sqrt(variance_of(elapsed)) / mean_of(elapsed);
  }
  if (field == "mb_per_s") {
    if (record.durable_s <= 0 || data_bytes(record) <= 0) return unseen("total.mb_per_s: no data or no time is recorded.");
    return mb(data_bytes(record)) / record.durable_s;
  }
  if (field == "requests_per_s") {
    const auto counted = record.counters.find("requests_per_s");
    if (counted != record.counters.end()) return counted->second;
    std::int64_t served = 0;
    for (const StageResult& stage : record.stages) served = std::max(served, stage.requests);
    if (served == 0 || record.durable_s <= 0) return unseen("total.requests_per_s: the record has no pipeline.");
    return count(served) / record.durable_s;
  }
  if (!record.cpu_total_s) return unseen(fmt::format("{}: the CPU of the whole box was not recorded.", name.text()));
  if (field == "cpu_s") return *record.cpu_total_s;
  if (data_bytes(record) <= 0) return unseen("total.cpu_s_per_gb: no data is recorded.");
  return *record.cpu_total_s / (mb(data_bytes(record)) / 1e3);
}

Result<double> of_device(const Record& record, const MetricName& name) {
  const DeviceResult& device = record.device;
  const std::string& field = name.field;
  if (field == "busy_pct") return device.busy_pct;
  if (field == "ios") return count(device.write_ios + device.read_ios);
  if (field == "seeks") return count(device.seeks);
  if (field == "read_mb") return mb(device.read_bytes);
  if (field == "write_mb") return mb(device.write_bytes);
  if (field == "rmw_reads") return count(device.rmw_reads);
  if (field == "flushes") return count(device.flushes);
  if (device.efficiency_pct > 0) return device.efficiency_pct;
  if (device.sequential_mb_per_s > 0 && record.durable_s > 0) {
    return percent(mb(data_bytes(record)), device.sequential_mb_per_s * record.durable_s);
  }
  return unseen("device.efficiency_pct: the device's sequential rate is not known.");
}

Result<double> of_flusher(const Record& record, const MetricName& name) {
  if (name.field == "cpu_pct") return record.flusher.cpu_pct;
  if (name.field == "cpu_s") return record.flusher.cpu_s;
  if (name.field == "blocked_s") return record.flusher.blocked_s;
  return record.flusher.count;
}

Result<double> of_kworker(const Record& record, const MetricName& name) {
  double cpu_pct = 0, cpu_s = 0, workers = 0;
  bool seen = false;
  std::string queues;
  for (const KworkerResult& one : record.kworkers) {
    queues += (queues.empty() ? "" : ", ") + one.queue;
    if (one.queue != name.selector) continue;
    seen = true;
    cpu_pct += one.cpu_pct;
    cpu_s += one.cpu_s;
    workers += one.count;
  }
  if (!seen) {
    return absent(fmt::format("{}: no kworker of that queue was seen{}.", name.text(), queues.empty() ? "" : "; there were " + queues));
  }
  return name.field == "cpu_pct" ? cpu_pct : name.field == "cpu_s" ? cpu_s : workers;
}

Result<double> of_log(const Record& record, const MetricName& name) {
  const LogResult& log = record.log;
  const std::string& field = name.field;
  if (field == "transactions") return count(log.transactions);
  if (field == "log_writes") return count(log.log_writes);
  if (field == "log_mb") return mb(log.log_bytes);
  if (field == "forces") return count(log.forces);
  if (field == "ail_pushes") return count(log.ail_pushes);
  return log.space_wait_s;
}

Result<double> of_stall(const Record& record) {
  double longest = 0;
  for (const UntarResult& one : record.untars) longest = std::max(longest, one.longest_pause_s);
  for (const JobResult& one : record.jobs) longest = std::max(longest, one.lat_ms_max / 1e3);
  if (record.untars.empty() && record.jobs.empty()) return absent("stall.longest_s: the record has neither untars nor jobs.");
  return longest;
}

}  // namespace

std::vector<double> untar_rates(const Record& record) {
  std::vector<double> rates;
  const bool sized = std::ranges::all_of(record.untars, [](const UntarResult& one) { return one.bytes > 0; });
  for (const UntarResult& one : record.untars) {
    if (one.elapsed_s <= 0) return {};
    rates.push_back((sized ? mb(one.bytes) : 1.0) / one.elapsed_s);
  }
  return rates;
}

Result<double> metric_value(const Record& record, const MetricName& name) {
  if (name.group == "untar") return of_untar(record, name);
  if (name.group == "phase") return of_phase(record, name);
  if (name.group == "job") return of_job(record, name);
  if (name.group == "stage") return of_stage(record, name);
  if (name.group == "total") return of_total(record, name);
  if (name.group == "device") return of_device(record, name);
  if (name.group == "flusher") return of_flusher(record, name);
  if (name.group == "kworker") return of_kworker(record, name);
  if (name.group == "log") return of_log(record, name);
  if (name.group == "stall") return of_stall(record);
  if (name.group == "files") {
    if (!record.extents_mean) return unseen("files.extents_mean: extents were not counted on this box.");
    return *record.extents_mean;
  }
  if (name.group == "knee") {
    const auto knee = find_knee(untar_rates(record), {.resamples = 0});
    if (!knee) return unseen("knee.untar: there is no knee in this record.");
    return static_cast<double>(knee->first().at + 1);
  }
  return fail(ErrorKind::bad_input, fmt::format("{} is a word, not a number.", name.text()));
}

Result<double> metric_value(const Record& record, std::string_view name) {
  SPILLWAY_ASSIGN(const MetricName parsed, parse_metric(name));
  return metric_value(record, parsed);
}

Result<std::string> metric_word(const Record& record, const MetricName& name) {
  if (name.group != "bottleneck") return fail(ErrorKind::bad_input, fmt::format("{} is a number, not a word.", name.text()));
  const auto found = find_bottleneck(record);
  if (!found) return unseen("bottleneck: the record has no account of time.");
  return found->key;
}

}  // namespace spillway::analysis
