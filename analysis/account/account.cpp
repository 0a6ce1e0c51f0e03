#include "analysis/account/account.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "workload/record/metric.hpp"

namespace spillway::analysis {
namespace {

AccountBar bar_of(std::string label, double from_s, double elapsed_s, const Account& account) {
  AccountBar bar{.label = std::move(label), .from_s = from_s, .to_s = from_s + elapsed_s, .account = account,
                 .elapsed_s = elapsed_s, .residue_pct = 0, .unknown_pct = 0};
  if (elapsed_s > 0) {
    bar.residue_pct = 100.0 * (account.total_s() - elapsed_s) / elapsed_s;
    bar.unknown_pct = 100.0 * account.unknown_s / elapsed_s;
  }
  return bar;
}

Account scaled(const Account& a, double k) {
  return {.user_s = a.user_s * k, .system_s = a.system_s * k, .runqueue_s = a.runqueue_s * k,
          .throttled_s = a.throttled_s * k, .device_s = a.device_s * k, .lock_s = a.lock_s * k, .log_s = a.log_s * k,
          .unknown_s = a.unknown_s * k};
}

/// What the key means for a person.
std::string_view meaning_of(std::string_view key) {
  if (key == "user") return "running in user mode";
  if (key == "system") return "running in the kernel";
  if (key == "runqueue") return "runnable but without a core";
  if (key == "throttled") return "asleep in balance_dirty_pages";
  if (key == "device") return "blocked on the device";
  if (key == "lock") return "blocked on a lock";
  if (key == "log") return "blocked on the log";
  return "in ways that no source explains";
}

struct Largest {
  std::size_t part = 0;
  double seconds = 0, share_pct = 0;
};
Largest largest_part(const Account& account, double elapsed_s) {
  const auto parts = account_parts(account);
  const auto most = std::ranges::max_element(parts);
  return {static_cast<std::size_t>(most - parts.begin()), *most, elapsed_s > 0 ? 100.0 * *most / elapsed_s : 0.0};
}

/// For throttled: what the writers wanted against what the device gave.
std::string throttle_evidence(const Record& record) {
  double fastest = 0;
  for (const UntarResult& one : record.untars) {
    if (one.elapsed_s > 0) fastest = std::max(fastest, static_cast<double>(one.bytes) / 1e6 / one.elapsed_s);
  }
  if (fastest <= 0) return "";
  if (record.device.write_bytes > 0 && record.durable_s > 0) {
    return fmt::format(": the fastest untar accepted {:.0f} MB/s, the device wrote {:.1f} MB/s", fastest,
                       static_cast<double>(record.device.write_bytes) / 1e6 / record.durable_s);
  }
  return fmt::format(": the fastest untar accepted {:.0f} MB/s, the slowest far less", fastest);
}

std::optional<Bottleneck> of_pipeline(const Record& record) {
  if (record.stages.empty()) return std::nullopt;
  const auto held = std::ranges::max_element(record.stages, {}, &StageResult::lock_held_pct);
  if (held->lock_held_pct >= 80.0) {
    return Bottleneck{"lock", held->lock_held_pct,
                      fmt::format("Bottleneck: the lock of stage {}, held {:.0f} % of the time; its threads waited {:.2f} s for it.",
                                  held->name, held->lock_held_pct, held->lock_wait_s)};
  }
  const auto busy = std::ranges::max_element(record.stages, {}, &StageResult::cpu_pct_max);
  if (busy->cpu_pct_max >= 80.0) {
    return Bottleneck{"stage " + busy->name, busy->cpu_pct_max,
                      fmt::format("Bottleneck: stage {}, whose busiest thread used {:.0f} % of a core ({} thread{}).", busy->name,
                                  busy->cpu_pct_max, busy->threads, busy->threads == 1 ? "" : "s")};
  }
  return Bottleneck{"device", record.device.busy_pct,
                    fmt::format("Bottleneck: no thread (at most {:.0f} % of a core) and no lock; the device was busy {:.0f} % of the "
                                "time, the rest is latency with too few requests in flight.",
                                busy->cpu_pct_max, record.device.busy_pct)};
}

double end_of_untars(const Record& record) {
  double end = 0;
  for (const UntarResult& one : record.untars) end = std::max(end, one.start_s + one.elapsed_s);
  return end;
}

/// Seconds of dated sleep of each untar in each step.
std::vector<std::vector<double>> throttled_by_step(const Record& record, double step_s, std::size_t steps, std::span<const DatedPause> pauses) {
  std::vector<std::vector<double>> out(record.untars.size(), std::vector<double>(steps, 0.0));
  for (const DatedPause& pause : pauses) {
    double weights = 0;
    const auto weight = [&](const UntarResult& one) {
      const bool runs = pause.t_s >= one.start_s && pause.t_s < one.start_s + one.elapsed_s;
      return runs && one.elapsed_s > 0 ? one.account.throttled_s / one.elapsed_s : 0.0;
    };
    for (const UntarResult& one : record.untars) weights += weight(one);
    if (weights <= 0) continue;
    for (std::size_t u = 0; u < record.untars.size(); ++u) {
      const double share = weight(record.untars[u]) / weights;
      if (share <= 0) continue;
      const double stop = std::min(pause.t_s + pause.pause_s, record.untars[u].start_s + record.untars[u].elapsed_s);
      for (auto i = static_cast<std::size_t>(pause.t_s / step_s); i < steps && step_s * static_cast<double>(i) < stop; ++i) {
        const double from = std::max(pause.t_s, step_s * static_cast<double>(i));
        const double to = std::min(stop, step_s * static_cast<double>(i + 1));
        out[u][i] += share * std::max(0.0, to - from);
      }
    }
  }
  return out;
}

}  // namespace

std::array<double, kAccountParts> account_parts(const Account& a) {
  return {a.user_s, a.system_s, a.runqueue_s, a.throttled_s, a.device_s, a.lock_s, a.log_s, a.unknown_s};
}

Account operator+(const Account& a, const Account& b) {
  return {.user_s = a.user_s + b.user_s, .system_s = a.system_s + b.system_s, .runqueue_s = a.runqueue_s + b.runqueue_s,
          .throttled_s = a.throttled_s + b.throttled_s, .device_s = a.device_s + b.device_s, .lock_s = a.lock_s + b.lock_s,
          .log_s = a.log_s + b.log_s, .unknown_s = a.unknown_s + b.unknown_s};
}

std::vector<AccountBar> account_per_untar(const Record& record) {
  std::vector<AccountBar> bars;
  for (std::size_t i = 0; i < record.untars.size(); ++i) {
    const UntarResult& one = record.untars[i];
    const int number = one.number > 0 ? one.number : static_cast<int>(i) + 1;
    bars.push_back(bar_of(fmt::format("untar {}", number), one.start_s, one.elapsed_s, one.account));
  }
  return bars;
}

std::optional<AccountBar> account_of_all(const Record& record) {
  if (record.untars.empty()) return std::nullopt;
  Account sum;
  double elapsed = 0;
  for (const UntarResult& one : record.untars) {
    sum = sum + one.account;
    elapsed += one.elapsed_s;
  }
  return bar_of("all untars", record.untars.front().start_s, elapsed, sum);
}

std::vector<AccountBar> account_per_step(const Record& record, double step_s, std::span<const DatedPause> pauses) {
  const double end = end_of_untars(record);
  std::vector<AccountBar> bars;
  if (!(step_s > 0) || end <= 0) return bars;
  const auto steps = static_cast<std::size_t>(std::ceil(end / step_s - 1e-9));
  const auto from_of = [&](std::size_t i) { return step_s * static_cast<double>(i); };
  std::vector<Account> sums(steps);
  std::vector<double> running(steps, 0.0);
  const auto throttled = throttled_by_step(record, step_s, steps, pauses);
  for (std::size_t u = 0; u < record.untars.size(); ++u) {
    const UntarResult& one = record.untars[u];
    if (one.elapsed_s <= 0) continue;
    Account rest = one.account;
    rest.throttled_s = 0;
    // Where no sleep of this untar is dated, its throttled time is spread like the rest.
    double dated = 0;
    for (const double seconds : throttled[u]) dated += seconds;
    const double scale = dated > 0 ? one.account.throttled_s / dated : 0;
    if (dated <= 0) rest.throttled_s = one.account.throttled_s;
    std::vector<double> asleep(steps, 0.0), awake(steps, 0.0);
    double awake_total = 0, missing = 0;
    for (std::size_t i = 0; i < steps; ++i) {
      const double overlap = std::max(0.0, std::min(from_of(i) + step_s, one.start_s + one.elapsed_s) - std::max(from_of(i), one.start_s));
      running[i] += overlap;
      // A sleep that was asked for is not longer than the step: what the scale puts beyond it goes where there is room.
      asleep[i] = std::min(scale * throttled[u][i], overlap);
      missing += scale * throttled[u][i] - asleep[i];
      awake[i] = overlap - asleep[i];
      awake_total += awake[i];
    }
    if (awake_total <= 0) continue;
    for (std::size_t i = 0; i < steps; ++i) {
      sums[i] = sums[i] + scaled(rest, awake[i] / awake_total);
      sums[i].throttled_s += asleep[i] + missing * awake[i] / awake_total;
    }
  }
  for (std::size_t i = 0; i < steps; ++i) {
    AccountBar bar = bar_of(fmt::format("{:.3g}", from_of(i)), from_of(i), running[i], sums[i]);
    bar.to_s = std::min(end, from_of(i) + step_s);
    bars.push_back(bar);
  }
  return bars;
}

double nice_step(const Record& record, std::size_t most) {
  const double least = end_of_untars(record) / static_cast<double>(std::max<std::size_t>(1, most));
  if (!(least > 0)) return 1;
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

std::vector<std::string> account_sources(const Record& record) {
  std::map<std::string, std::string> named;
  for (const UntarResult& one : record.untars) named.insert(one.account_sources.begin(), one.account_sources.end());
  std::vector<std::string> lines;
  const auto all = account_of_all(record);
  const auto parts = all ? account_parts(all->account) : std::array<double, kAccountParts>{};
  for (std::size_t i = 0; i < kAccountParts; ++i) {
    const std::string key{account_keys()[i]};
    // Sources may be written with or without the unit in the key.
    auto source = named.find(key);
    if (source == named.end()) source = named.find(key + "_s");
    if (source != named.end()) {
      lines.push_back(fmt::format("{}: {}", key, source->second));
    } else if (parts[i] > 0) {
      lines.push_back(key == "unknown" ? "unknown: elapsed less all other parts"
                                       : fmt::format("{}: source not recorded", key));
    }
  }
  return lines;
}

std::optional<Bottleneck> find_bottleneck(const Record& record) {
  Account account;
  double elapsed = 0;
  std::string who;
  if (!record.untars.empty()) {
    const auto all = account_of_all(record);
    account = all->account;
    elapsed = all->elapsed_s;
    who = record.untars.size() == 1 ? "the untar's" : fmt::format("the {} untars'", record.untars.size());
  } else if (auto pipeline = of_pipeline(record)) {
    return pipeline;
  } else if (!record.jobs.empty()) {
    for (const JobResult& job : record.jobs) {
      account = account + job.account;
      elapsed += job.account.total_s() > 0 ? job.account.total_s() : job.elapsed_s;
    }
    who = "the jobs'";
  }
  if (elapsed <= 0 || account.total_s() <= 0) return std::nullopt;
  const Largest most = largest_part(account, elapsed);
  const std::string key{account_keys()[most.part]};
  std::string sentence = fmt::format("Bottleneck: {}. Of {} {:.2f} s, {:.2f} s ({:.0f} %) were spent {}", key, who, elapsed,
                                     most.seconds, most.share_pct, meaning_of(key));
  if (key == "throttled") sentence += throttle_evidence(record);
  sentence += ".";
  if (!record.untars.empty()) {
    // An average over a collapse hides both sides of it: say what bounded the first and the last untar where they differ.
    const UntarResult& first = record.untars.front();
    const UntarResult& last = record.untars.back();
    const std::size_t part_first = largest_part(first.account, first.elapsed_s).part;
    const std::size_t part_last = largest_part(last.account, last.elapsed_s).part;
    if (part_first != part_last && first.account.total_s() > 0 && last.account.total_s() > 0) {
      sentence += fmt::format(" The first untar was bound by {}, the last by {}.", account_keys()[part_first], account_keys()[part_last]);
    }
  }
  return Bottleneck{key, most.share_pct, sentence};
}

std::optional<Rates> find_rates(const Record& record) {
  double bytes = 0;
  double end = record.untars_end_s;
  for (const UntarResult& one : record.untars) bytes += static_cast<double>(one.bytes);
  for (const JobResult& one : record.jobs) {
    bytes += static_cast<double>(one.write_bytes);
    end = std::max(end, one.start_s + one.elapsed_s);
  }
  if (bytes <= 0 || end <= 0) return std::nullopt;
  const double durable = std::max(record.durable_s, end);
  return Rates{.data_mb = bytes / 1e6, .apparent_mb_per_s = bytes / 1e6 / end, .durable_mb_per_s = bytes / 1e6 / durable};
}

}  // namespace spillway::analysis
