#include "workload/record/metric.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/core.h>
#include <vector>

namespace spillway {

namespace {

constexpr std::string_view kUntar = "K|first|last|all", kPhase = "NAME", kItem = "N|NAME", kQueue = "QUEUE";

constexpr MetricInfo kMetrics[] = {
    {"untar", kUntar, "elapsed_s", "s", "elapsed time until the last write was accepted", -1},
    {"untar", kUntar, "start_s", "s", "start, since the start of the first untar", 0},
    {"untar", kUntar, "end_s", "s", "end, since the start of the first untar", -1},
    {"untar", kUntar, "user_s", "s", "CPU time in user mode", -1},
    {"untar", kUntar, "system_s", "s", "CPU time in the kernel", -1},
    {"untar", kUntar, "cpu_s", "s", "user and system time", -1},
    {"untar", kUntar, "cpu_pct", "%", "user and system time in percent of the elapsed time, as `time` prints it", 0},
    {"untar", kUntar, "mb_per_s", "MB/s", "file data by elapsed time", +1},
    {"untar", kUntar, "runqueue_s", "s", "account: runnable, waiting for a core", -1},
    {"untar", kUntar, "throttled_s", "s", "account: asleep in balance_dirty_pages", -1},
    {"untar", kUntar, "device_s", "s", "account: blocked on reads or writes of a device", -1},
    {"untar", kUntar, "lock_s", "s", "account: blocked on a lock", -1},
    {"untar", kUntar, "log_s", "s", "account: blocked on log space or a log force", -1},
    {"untar", kUntar, "unknown_s", "s", "account: what no source explained", -1},
    {"untar", kUntar, "pauses", "count", "sleeps in balance_dirty_pages", -1},
    {"untar", kUntar, "longest_pause_s", "s", "longest single stall", -1},
    {"phase", kPhase, "elapsed_s", "s", "elapsed time of a phase: remove, skeleton, sync", -1},
    {"phase", kPhase, "user_s", "s", "its CPU time in user mode", -1},
    {"phase", kPhase, "system_s", "s", "its CPU time in the kernel", -1},
    {"phase", kPhase, "cpu_pct", "%", "its CPU time in percent of its elapsed time", 0},
    {"phase", kPhase, "device_busy_s", "s", "how long the device stayed busy in or after it", -1},
    {"job", kItem, "elapsed_s", "s", "elapsed time of a job", -1},
    {"job", kItem, "mb_per_s", "MB/s", "its data rate", +1},
    {"job", kItem, "iops", "1/s", "its operations a second", +1},
    {"job", kItem, "lat_ms_mean", "ms", "mean latency of its operations", -1},
    {"job", kItem, "lat_ms_p50", "ms", "median latency", -1},
    {"job", kItem, "lat_ms_p99", "ms", "99th percentile of the latency", -1},
    {"job", kItem, "lat_ms_max", "ms", "longest latency", -1},
    {"job", kItem, "user_s", "s", "its CPU time in user mode", -1},
    {"job", kItem, "system_s", "s", "its CPU time in the kernel", -1},
    {"job", kItem, "cpu_pct", "%", "its CPU time in percent of its elapsed time", 0},
    {"job", kItem, "runqueue_s", "s", "account: runnable, waiting for a core", -1},
    {"job", kItem, "throttled_s", "s", "account: asleep in balance_dirty_pages", -1},
    {"job", kItem, "device_s", "s", "account: blocked on a device", -1},
    {"job", kItem, "lock_s", "s", "account: blocked on a lock", -1},
    {"job", kItem, "log_s", "s", "account: blocked on the log", -1},
    {"job", kItem, "unknown_s", "s", "account: what no source explained", -1},
    {"stage", kItem, "cpu_pct", "%", "CPU of a pipeline stage, of one core, summed over its threads", 0},
    {"stage", kItem, "cpu_pct_max", "%", "its busiest thread", 0},
    {"stage", kItem, "requests", "count", "requests it served", +1},
    {"stage", kItem, "lock_wait_s", "s", "time its threads waited for its lock", -1},
    {"stage", kItem, "lock_held_pct", "%", "share of the time its lock was held", -1},
    {"stage", kItem, "wakeup_delay_us_mean", "us", "mean delay from wake-up to running", -1},
    {"stage", kItem, "wakeup_delay_us_p99", "us", "99th percentile of that delay", -1},
    {"stage", kItem, "wakeup_delay_us_max", "us", "longest such delay", -1},
    {"stage", kItem, "context_switches", "count", "context switches of its threads", -1},
    {"total", "", "untars_end_s", "s", "end of the last untar (apparent)", -1},
    {"total", "", "durable_s", "s", "until the data was on disk", -1},
    {"total", "", "untars_cv_pct", "%", "unevenness: standard deviation of the untars' elapsed times by their mean", -1},
    {"total", "", "mb_per_s", "MB/s", "all data by the time until durable", +1},
    {"total", "", "requests_per_s", "1/s", "requests of a pipeline a second", +1},
    {"total", "", "cpu_s", "s", "CPU of the whole box", -1},
    {"total", "", "cpu_s_per_gb", "s/GB", "CPU of the whole box by data", -1},
    {"device", "", "busy_pct", "%", "device busy, of the time until durable", 0},
    {"device", "", "ios", "count", "device reads and writes", -1},
    {"device", "", "seeks", "count", "head movements", -1},
    {"device", "", "read_mb", "MB", "data read from the device", -1},
    {"device", "", "write_mb", "MB", "data written to the device", -1},
    {"device", "", "rmw_reads", "count", "reads for read-modify-write of parity", -1},
    {"device", "", "flushes", "count", "cache flushes", -1},
    {"device", "", "efficiency_pct", "%", "data written, in percent of what the sequential rate would have written", +1},
    {"flusher", "", "cpu_pct", "%", "CPU of the flush contexts, of one core", -1},
    {"flusher", "", "cpu_s", "s", "CPU time of the flush contexts", -1},
    {"flusher", "", "blocked_s", "s", "time they slept on tags, write-back throttling, log, locks", 0},
    {"flusher", "", "count", "count", "flush contexts that wrote", 0},
    {"kworker", kQueue, "cpu_pct", "%", "CPU of the kworkers of a work queue, of one core", -1},
    {"kworker", kQueue, "cpu_s", "s", "CPU time of the kworkers of a work queue", -1},
    {"kworker", kQueue, "count", "count", "how many kworkers served that queue", 0},
    {"files", "", "extents_mean", "count", "extents per file", -1},
    {"log", "", "transactions", "count", "transactions committed", 0},
    {"log", "", "log_writes", "count", "writes to the log", -1},
    {"log", "", "log_mb", "MB", "data written to the log", -1},
    {"log", "", "forces", "count", "log forces", -1},
    {"log", "", "ail_pushes", "count", "metadata pushes to make log space", -1},
    {"log", "", "space_wait_s", "s", "time spent waiting for log space", -1},
    {"knee", "", "untar", "untar", "the untar at which the collapse begins", +1},
    {"stall", "", "longest_s", "s", "longest single stall of any task", -1},
    {"bottleneck", "", "", "account key", "the part of the account that took most of the untars' time", 0},
};

constexpr std::array<std::string_view, 8> kAccount = {"user", "system", "runqueue", "throttled",
                                                      "device", "lock", "log", "unknown"};

std::string nearest_in(std::string_view word, const std::vector<std::string_view>& candidates) {
  std::string best;
  int distance = std::max<int>(2, static_cast<int>(word.size()) / 3) + 1;
  for (const std::string_view candidate : candidates) {
    if (const int d = edit_distance(word, candidate); d < distance) {
      distance = d;
      best = candidate;
    }
  }
  return best;
}

}  // namespace

std::span<const MetricInfo> all_metrics() { return kMetrics; }
std::span<const std::string_view> account_keys() { return kAccount; }

std::optional<int> MetricName::number() const {
  int n = 0;
  const auto [end, code] = std::from_chars(selector.data(), selector.data() + selector.size(), n);
  if (code != std::errc{} || end != selector.data() + selector.size() || n < 1) return std::nullopt;
  return n;
}

std::string MetricName::text() const {
  std::string out = group;
  if (!selector.empty()) out += "[" + selector + "]";
  if (!field.empty()) out += "." + field;
  return out;
}

Result<MetricName> parse_metric(std::string_view text) {
  const auto refuse = [&](std::string why) {
    return fail(ErrorKind::bad_input, fmt::format("metric \"{}\" {}", text, why));
  };
  MetricName name;
  const std::size_t open = text.find('[');
  const std::size_t head_end = std::min(open, text.find('.'));
  name.group = text.substr(0, head_end);
  std::string_view rest = head_end == std::string_view::npos ? std::string_view{} : text.substr(head_end);
  if (rest.starts_with('[')) {
    const std::size_t close = rest.find(']');
    if (close == std::string_view::npos) return refuse("has no closing \"]\"");
    name.selector = rest.substr(1, close - 1);
    rest.remove_prefix(close + 1);
    if (name.selector.empty()) return refuse("has nothing between \"[\" and \"]\"");
  }
  if (rest.starts_with('.')) {
    name.field = rest.substr(1);
  } else if (!rest.empty()) {
    return refuse(fmt::format("has \"{}\" where \".\" was expected", rest));
  }

  std::vector<std::string_view> groups, fields;
  const MetricInfo* group = nullptr;
  for (const MetricInfo& info : kMetrics) {
    groups.push_back(info.group);
    if (info.group != name.group) continue;
    if (group == nullptr) group = &info;
    fields.push_back(info.field);
  }
  if (group == nullptr) {
    const std::string near = nearest_in(name.group, groups);
    return refuse(near.empty() ? "is not known; `spillway keys` lists the metrics" : fmt::format("is not known; the nearest begins with \"{}\"", near));
  }
  if (group->selector.empty() && !name.selector.empty()) return refuse(fmt::format("should have no \"[{}]\"", name.selector));
  if (!group->selector.empty() && name.selector.empty()) {
    return refuse(fmt::format("needs to say which: {}[{}]", name.group, group->selector));
  }
  if (name.group == "untar" && !name.number() && name.selector != "first" && name.selector != "last" && name.selector != "all") {
    return refuse(fmt::format("has \"{}\" where a number from 1, first, last or all was expected", name.selector));
  }
  const bool account = std::find(kAccount.begin(), kAccount.end(), name.field) != kAccount.end();
  for (const std::string& field : {name.field, account ? name.field + "_s" : name.field}) {
    for (const MetricInfo& info : kMetrics) {
      if (info.group == name.group && info.field == field) {
        name.field = field;
        name.info = &info;
        return name;
      }
    }
  }
  if (name.field.empty()) return refuse(fmt::format("needs a field, for example {}.{}", text, group->field));
  const std::string near = nearest_in(name.field, fields);
  return refuse(fmt::format("is not known: {} has no \"{}\"{}", name.group, name.field,
                            near.empty() ? "; `spillway keys` lists the metrics" : fmt::format(", the nearest is \"{}\"", near)));
}

int edit_distance(std::string_view a, std::string_view b) {
  // Optimal string alignment: three rows are enough.
  std::vector<int> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) now[j] = std::min(now[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(now);
  }
  return last[b.size()];
}

}  // namespace spillway
