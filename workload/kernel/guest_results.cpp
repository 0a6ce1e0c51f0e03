#include "workload/kernel/guest_results.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <sstream>

namespace spillway::kernel {
namespace {

std::vector<std::string_view> split(std::string_view line, char separator) {
  std::vector<std::string_view> fields;
  while (true) {
    const auto end = line.find(separator);
    fields.push_back(line.substr(0, end));
    if (end == std::string_view::npos) return fields;
    line.remove_prefix(end + 1);
  }
}

template <class Visit>
void each_line(std::string_view text, Visit&& visit) {
  while (!text.empty()) {
    const auto end = text.find('\n');
    visit(text.substr(0, end));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

std::int64_t to_integer(std::string_view text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

double to_number(std::string_view text) { return std::strtod(std::string{text}.c_str(), nullptr); }

// The number behind "key=" in the fields of a trace line.
std::optional<std::int64_t> field(std::string_view line, std::string_view key) {
  std::size_t from = 0;
  while (true) {
    const auto at = line.find(key, from);
    if (at == std::string_view::npos) return std::nullopt;
    const auto behind = at + key.size();
    if (at > 0 && line[at - 1] == ' ' && behind < line.size() && line[behind] == '=') return to_integer(line.substr(behind + 1));
    from = at + 1;
  }
}

std::int64_t field_or_zero(std::string_view line, std::string_view key) { return field(line, key).value_or(0); }

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

constexpr double kSectorBytes = 512;
// Kilobytes of the kernel's debug files are KiB; four to a page.
constexpr double kKilobytesPerPage = 4;
// delayacct_blkio_ticks of /proc/PID/stat count 1/100 s (USER_HZ).
constexpr double kUserTick = 0.01;
// measured: a_quiet, user over user and system of untars 1 and 2: 0.05 of 1.62 s; the kernel samples the split by its tick.
constexpr double kUserShare = 0.03;

// "kworker/u2:0+flush-7:1" serves queue "flush" for a device: what stands behind + or -, less the device.
std::string queue_of(std::string_view name) {
  const auto plus = name.find('+');
  auto queue = plus == std::string_view::npos ? name : name.substr(plus + 1);
  if (queue.starts_with("flush-")) return "writeback";
  if (const auto slash = queue.find('/'); slash != std::string_view::npos) queue = queue.substr(0, slash);
  while (!queue.empty() && queue.back() >= '0' && queue.back() <= '9') queue.remove_suffix(1);
  return std::string{queue};
}

void read_workers(std::string_view text, double seconds, Record& record) {
  std::map<std::string, KworkerResult> queues;
  std::map<std::string, std::int64_t> most;
  each_line(text, [&](std::string_view line) {
    const auto fields = split(line, '\t');
    if (fields.size() == 2 && fields[0] == "flushers_at_once") {
      record.flusher.count = static_cast<int>(to_integer(fields[1]));
      record.counters["flushers_at_once"] = static_cast<double>(record.flusher.count);
    }
    if (fields.size() < 7) return;
    auto& queue = queues[queue_of(fields[0])];
    queue.queue = queue_of(fields[0]);
    queue.count += static_cast<int>(to_integer(fields[3]));
    queue.cpu_s += static_cast<double>(to_integer(fields[4])) * kUserTick;
    // The name that was seen running most often stands for its queue.
    if (const auto active = to_integer(fields[1]); active > most[queue.queue]) {
      most[queue.queue] = active;
      queue.name = fields[0];
      queue.busiest_state = fields[5];
    }
  });
  for (auto& [name, queue] : queues) {
    if (seconds > 0) queue.cpu_pct = 100.0 * queue.cpu_s / seconds;
    record.kworkers.push_back(queue);
  }
}

}  // namespace

Trace parse_trace(std::string_view text, std::string_view bdi) {
  Trace trace;
  std::set<std::uint64_t> groups;
  each_line(text, [&](std::string_view line) {
    if (line.empty() || line[0] == '#') return;
    if (line.find("LOST") != std::string_view::npos && line.find("EVENTS") != std::string_view::npos) {
      ++trace.lost;
      return;
    }
    // "   comm-pid   [cpu] flags  seconds: event: fields"
    const auto bracket = line.find(" [");
    if (bracket == std::string_view::npos) return;
    const auto head = line.substr(0, bracket);
    const auto stamp_end = line.find(": ", bracket);
    if (stamp_end == std::string_view::npos) return;
    const auto stamp = line.rfind(' ', stamp_end) + 1;
    const double t_s = to_number(line.substr(stamp, stamp_end - stamp));
    const auto rest = line.substr(stamp_end + 2);
    const auto colon = rest.find(": ");
    if (colon == std::string_view::npos) return;
    const auto event = rest.substr(0, colon);
    // Fields start behind a blank, so that keys are found as whole words.
    const auto fields = rest.substr(colon + 1);
    if (!fields.starts_with(fmt::format(" bdi {}: ", bdi))) return;
    if (event == "balance_dirty_pages") {
      ThrottleEvent e;
      e.t_s = t_s;
      const auto dash = head.rfind('-');
      const auto first = head.find_first_not_of(' ');
      e.comm = dash == std::string_view::npos ? "" : head.substr(first, dash - first);
      auto pid = dash == std::string_view::npos ? std::string_view{} : head.substr(dash + 1);
      e.pid = static_cast<int>(to_integer(pid));
      e.bdi = bdi;
      e.limit = field_or_zero(fields, "limit");
      e.setpoint = field_or_zero(fields, "setpoint");
      e.dirty = field_or_zero(fields, "dirty");
      e.wb_setpoint = field(fields, "wb_setpoint").value_or(field_or_zero(fields, "bdi_setpoint"));
      e.wb_dirty = field(fields, "wb_dirty").value_or(field_or_zero(fields, "bdi_dirty"));
      e.dirty_ratelimit = field_or_zero(fields, "dirty_ratelimit");
      e.task_ratelimit = field_or_zero(fields, "task_ratelimit");
      e.dirtied = field_or_zero(fields, "dirtied");
      e.dirtied_pause = field_or_zero(fields, "dirtied_pause");
      e.paused_ms = field_or_zero(fields, "paused");
      e.pause_ms = field_or_zero(fields, "pause");
      e.period_ms = field_or_zero(fields, "period");
      e.think_ms = field_or_zero(fields, "think");
      e.cgroup_ino = static_cast<std::uint64_t>(field_or_zero(fields, "cgroup_ino"));
      trace.throttle.push_back(std::move(e));
    } else if (event == "bdi_dirty_ratelimit") {
      RateLimitEvent e;
      e.t_s = t_s;
      e.bdi = bdi;
      e.write_bw = field_or_zero(fields, "write_bw");
      e.avg_write_bw = field_or_zero(fields, "awrite_bw");
      e.dirty_rate = field_or_zero(fields, "dirty_rate");
      e.dirty_ratelimit = field_or_zero(fields, "dirty_ratelimit");
      e.task_ratelimit = field_or_zero(fields, "task_ratelimit");
      e.balanced_dirty_ratelimit = field_or_zero(fields, "balanced_dirty_ratelimit");
      trace.rate_limit.push_back(std::move(e));
    } else if (event == "writeback_start") {
      ++trace.flusher_starts;
      groups.insert(static_cast<std::uint64_t>(field_or_zero(fields, "cgroup_ino")));
    }
  });
  trace.flusher_cgroups.assign(groups.begin(), groups.end());
  return trace;
}

std::string throttle_csv(const Trace& trace, double t0_s) {
  std::string csv =
      "t_ms,comm,pid,dirty_pg,setpoint_pg,limit_pg,dirty_ratelimit_kBps,task_ratelimit_kBps,dirtied_pg,dirtied_pause_pg,paused_ms,"
      "pause_ms,think_ms,period_ms,wb_setpoint_pg,wb_dirty_pg,cgroup_ino\n";
  for (const auto& e : trace.throttle) {
    csv += fmt::format("{:.3f},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", (e.t_s - t0_s) * 1e3, e.comm, e.pid, e.dirty, e.setpoint, e.limit,
                       e.dirty_ratelimit, e.task_ratelimit, e.dirtied, e.dirtied_pause, e.paused_ms, e.pause_ms, e.think_ms, e.period_ms,
                       e.wb_setpoint, e.wb_dirty, e.cgroup_ino);
  }
  return csv;
}

std::string rate_limit_csv(const Trace& trace, double t0_s) {
  std::string csv = "t_ms,write_bw_kBps,avg_write_bw_kBps,dirty_rate_kBps,dirty_ratelimit_kBps,task_ratelimit_kBps,balanced_dirty_ratelimit_kBps\n";
  for (const auto& e : trace.rate_limit) {
    csv += fmt::format("{:.3f},{},{},{},{},{},{}\n", (e.t_s - t0_s) * 1e3, e.write_bw, e.avg_write_bw, e.dirty_rate, e.dirty_ratelimit,
                       e.task_ratelimit, e.balanced_dirty_ratelimit);
  }
  return csv;
}

Timeline timeline_from_samples(std::string_view samples, const Trace& trace, double t0_s) {
  Timeline timeline;
  std::map<std::string, std::size_t, std::less<>> column;
  std::size_t event = 0;
  double last_t = 0, last_busy_ms = 0;
  bool first_row = true;
  double sectors_before = 0, reads_before = 0, ios_before = 0;
  each_line(samples, [&](std::string_view line) {
    const auto cells = split(line, ',');
    if (column.empty()) {
      for (std::size_t i = 0; i < cells.size(); ++i) column.emplace(cells[i], i);
      return;
    }
    if (cells.size() < column.size()) return;
    // -1 is the guest's "not there".
    const auto get = [&](std::string_view name, double scale) -> std::optional<double> {
      const auto found = column.find(name);
      if (found == column.end()) return std::nullopt;
      const double value = to_number(cells[found->second]);
      if (value < 0) return std::nullopt;
      return value * scale;
    };
    TimelineRow row;
    const double t = get("t_ns", 1e-9).value_or(0);
    row.t_s = t - t0_s;
    row.nr_dirty_pages = get("nr_dirty", 1);
    row.nr_writeback_pages = get("nr_writeback", 1);
    row.thresh_pages = get("threshold", 1);
    row.background_pages = get("background", 1);
    if (row.thresh_pages && row.background_pages) row.freerun_pages = static_cast<double>(static_cast<std::int64_t>(*row.thresh_pages + *row.background_pages) / 2);
    row.wb_reclaimable_pages = get("reclaimable_kb", 1 / kKilobytesPerPage);
    row.wb_writeback_pages = get("writeback_kb", 1 / kKilobytesPerPage);
    row.wb_thresh_pages = get("wb_thresh_kb", 1 / kKilobytesPerPage);
    row.wb_dirtied_pages = get("wb_dirtied_kb", 1 / kKilobytesPerPage);
    row.wb_written_pages = get("wb_written_kb", 1 / kKilobytesPerPage);
    row.write_bandwidth_pages_per_s = get("bandwidth_kb_per_s", 1 / kKilobytesPerPage);
    row.b_dirty = get("b_dirty", 1);
    row.b_io = get("b_io", 1);
    row.b_more_io = get("b_more_io", 1);
    const double sectors = get("write_sectors", 1).value_or(0), reads = get("read_sectors", 1).value_or(0), ios = get("write_ios", 1).value_or(0);
    const double busy_ms = get("busy_ms", 1).value_or(0);
    if (first_row) {
      sectors_before = sectors;
      reads_before = reads;
      ios_before = ios;
    } else if (t > last_t) {
      row.device_busy_pct = std::min(100.0, (busy_ms - last_busy_ms) / ((t - last_t) * 10));
    }
    row.device_write_bytes = (sectors - sectors_before) * kSectorBytes;
    row.device_read_bytes = (reads - reads_before) * kSectorBytes;
    row.device_write_ios = ios - ios_before;
    row.device_inflight = get("inflight", 1);
    row.untar = get("untar", 1);
    while (event < trace.rate_limit.size() && trace.rate_limit[event].t_s <= t) ++event;
    if (event > 0) row.dirty_ratelimit_pages_per_s = static_cast<double>(trace.rate_limit[event - 1].dirty_ratelimit) / kKilobytesPerPage;
    first_row = false;
    last_t = t;
    last_busy_ms = busy_ms;
    timeline.rows.push_back(row);
  });
  return timeline;
}

Result<GuestResults> read_guest_results(const std::filesystem::path& folder, const GuestPlan& plan) {
  const auto text = read_text(folder / "results.txt");
  if (text.find("\ndone\n") == std::string::npos) {
    auto log = read_text(folder / "guest.log");
    if (log.size() > 600) log = log.substr(log.size() - 600);
    return fail(ErrorKind::refused, fmt::format("The guest did not finish its plan ({} has no end). Its last words: {}. The kernel's console is in {}.",
                                                (folder / "results.txt").string(), log.empty() ? "none" : log, (folder / "console.log").string()));
  }
  GuestResults results;
  auto& record = results.record;
  std::string bdi;
  each_line(text, [&bdi](std::string_view line) {
    if (line.starts_with("bdi ")) bdi = line.substr(4);
  });
  results.trace = parse_trace(read_text(folder / "trace"), bdi);

  double failures = 0;
  struct Span { std::string name; double start, end; };
  std::vector<Span> phases;
  std::map<int, std::size_t> untar_of_pid;
  double last_untar_end = 0;
  each_line(text, [&](std::string_view line) {
    const auto f = split(line, ' ');
    const auto seconds = [&](std::size_t i) { return static_cast<double>(to_integer(f[i])) * 1e-9; };
    if (f[0] == "t0" && f.size() > 1) results.t0_s = seconds(1);
    if (f[0] == "failures" && f.size() > 1) failures = to_number(f[1]);
    if (f[0] == "phase" && f.size() >= 4) phases.push_back({std::string{f[1]}, seconds(2), seconds(3)});
    if (f[0] != "untar" || f.size() < 16) return;
    UntarResult untar;
    untar.number = static_cast<int>(to_integer(f[1]));
    untar_of_pid[static_cast<int>(to_integer(f[2]))] = record.untars.size();
    untar.start_s = seconds(3);
    untar.elapsed_s = seconds(4) - seconds(3);
    last_untar_end = std::max(last_untar_end, seconds(4));
    untar.exit_status = static_cast<int>(to_integer(f[5]));
    untar.voluntary_switches = to_integer(f[6]);
    untar.involuntary_switches = to_integer(f[7]);
    untar.max_rss_bytes = to_integer(f[8]) * 1024;
    const double user_measured = static_cast<double>(to_integer(f[9])) * 1e-6, system_measured = static_cast<double>(to_integer(f[10])) * 1e-6;
    untar.files = to_integer(f[11]);
    untar.bytes = to_integer(f[12]);
    const double charged = seconds(13), queued = seconds(14);
    if (plan.costs.copy_ps_per_byte > 0 || plan.costs.file_ns > 0) {
      untar.user_s = charged * kUserShare;
      untar.system_s = charged - untar.user_s;
      untar.account_sources["user"] = untar.account_sources["system"] = "charged from the profile";
      untar.account_sources["runqueue"] = "charged: waited for one of the profile's cores";
    } else {
      untar.user_s = user_measured;
      untar.system_s = system_measured;
      untar.account_sources["user"] = untar.account_sources["system"] = "wait4";
    }
    auto& account = untar.account;
    account.user_s = untar.user_s;
    account.system_s = untar.system_s;
    account.runqueue_s = queued;
    const double ticks = to_number(f[15]);
    if (ticks >= 0) {
      account.throttled_s = std::min(ticks * kUserTick, std::max(0.0, untar.elapsed_s - charged - queued));
      untar.account_sources["throttled"] = "delayacct_blkio_ticks of the process (10 ms): sleeps of balance_dirty_pages, and reads";
    }
    account.unknown_s = untar.elapsed_s - account.user_s - account.system_s - account.runqueue_s - account.throttled_s;
    record.untars.push_back(std::move(untar));
  });
  for (const auto& e : results.trace.throttle) {
    const auto found = untar_of_pid.find(e.pid);
    if (found == untar_of_pid.end() || e.pause_ms <= 0) continue;
    auto& untar = record.untars[found->second];
    untar.pauses += 1;
    untar.longest_pause_s = std::max(untar.longest_pause_s, static_cast<double>(e.pause_ms) * 1e-3);
  }
  for (auto& untar : record.untars) untar.start_s -= results.t0_s;
  std::sort(record.untars.begin(), record.untars.end(), [](const UntarResult& a, const UntarResult& b) { return a.number < b.number; });
  record.untars_end_s = last_untar_end - results.t0_s;
  record.durable_s = record.untars_end_s;
  for (const auto& phase : phases) {
    PhaseResult result;
    result.name = phase.name;
    result.start_s = phase.start - results.t0_s;
    result.elapsed_s = phase.end - phase.start;
    record.durable_s = std::max(record.durable_s, phase.end - results.t0_s);
    // The guest's own wait for durability is no phase that was asked for.
    if (phase.name != "until_durable") record.phases.push_back(std::move(result));
  }
  for (const auto& untar : record.untars) {
    record.marks.push_back({untar.start_s, fmt::format("untar {} start", untar.number)});
    record.marks.push_back({untar.start_s + untar.elapsed_s, fmt::format("untar {} end", untar.number)});
  }
  for (const auto& phase : record.phases) {
    record.marks.push_back({phase.start_s, fmt::format("phase {} start", phase.name)});
    record.marks.push_back({phase.start_s + phase.elapsed_s, fmt::format("phase {} end", phase.name)});
  }
  std::stable_sort(record.marks.begin(), record.marks.end(), [](const Mark& a, const Mark& b) { return a.t_s < b.t_s; });

  results.timeline = timeline_from_samples(read_text(folder / "samples.csv"), results.trace, results.t0_s);
  read_workers(read_text(folder / "workers.tsv"), record.durable_s, record);
  for (const auto& queue : record.kworkers) {
    if (queue.queue != "writeback") continue;
    record.flusher.cpu_s = queue.cpu_s;
    record.flusher.cpu_pct = queue.cpu_pct;
  }
  if (!results.timeline.rows.empty()) {
    const auto& last = results.timeline.rows.back();
    record.device.write_bytes = static_cast<std::int64_t>(last.device_write_bytes.value_or(0));
    record.device.read_bytes = static_cast<std::int64_t>(last.device_read_bytes.value_or(0));
    record.device.write_ios = static_cast<std::int64_t>(last.device_write_ios.value_or(0));
    record.flusher.pages_written = static_cast<std::int64_t>(last.wb_written_pages.value_or(0) - results.timeline.rows.front().wb_written_pages.value_or(0));
    const auto& first = results.timeline.rows.front();
    if (first.wb_thresh_pages && first.thresh_pages && *first.thresh_pages > 0) record.state_before.completion_share = *first.wb_thresh_pages / *first.thresh_pages;
    if (first.write_bandwidth_pages_per_s) record.state_before.write_bandwidth_pages_per_s = static_cast<std::int64_t>(*first.write_bandwidth_pages_per_s);
    if (first.thresh_pages) record.state_before.dirty_limit_pages = static_cast<std::int64_t>(*first.thresh_pages);
    record.state_before.foreign_dirty_pages = static_cast<std::int64_t>(first.nr_dirty_pages.value_or(0));
  }
  record.counters["balance_dirty_pages_events"] = static_cast<double>(results.trace.throttle.size());
  record.counters["bdi_dirty_ratelimit_events"] = static_cast<double>(results.trace.rate_limit.size());
  record.counters["writeback_start_events"] = static_cast<double>(results.trace.flusher_starts);
  record.counters["flusher_cgroups"] = static_cast<double>(results.trace.flusher_cgroups.size());
  if (results.trace.lost > 0) {
    record.counters["trace_events_lost"] = static_cast<double>(results.trace.lost);
    record.disturbances.emplace_back("The trace buffer overflowed: some throttle decisions are missing.");
  }
  if (failures > 0) record.disturbances.push_back(fmt::format("{} of the guest's steps failed; see guest.log.", failures));
  return results;
}

}  // namespace spillway::kernel
