#include "analysis/report/untar_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "analysis/account/account.hpp"
#include "analysis/report/text.hpp"
#include "analysis/statistics/interval.hpp"
#include "analysis/statistics/summary.hpp"

namespace spillway::analysis {
namespace {

/// The account's keys in six columns, in their order.
constexpr std::array<std::string_view, kAccountParts> kShortKeys{"user", "system", "runq", "throt.", "device", "lock", "log", "unkn."};

std::string time_line(std::string_view label, double elapsed, double user, double system) {
  const double cpu = elapsed > 0 ? 100.0 * (user + system) / elapsed : 0.0;
  return fmt::format("{}...{:.2f}sec {:.2f}usr {:.2f}sys ({:.2f}% cpu)", label, elapsed, user, system, cpu);
}

std::string with_rate(const std::string& line, std::int64_t bytes, double elapsed) {
  if (bytes <= 0 || elapsed <= 0) return line;
  const double rate = static_cast<double>(bytes) / 1e6 / elapsed;
  return fmt::format("{:<52} {:>9.{}f} MB/s", line, rate, rate < 10 ? 2 : rate < 100 ? 1 : 0);
}

}  // namespace

std::string untar_line(const UntarResult& untar) {
  return with_rate(time_line(std::to_string(untar.number), untar.elapsed_s, untar.user_s, untar.system_s), untar.bytes, untar.elapsed_s);
}

std::string phase_line(const PhaseResult& phase) { return time_line(phase.name, phase.elapsed_s, phase.user_s, phase.system_s); }

std::string untar_table(const Record& record) {
  std::string out;
  const auto phases = [&](bool before) {
    for (const PhaseResult& phase : record.phases) {
      if ((phase.start_s < 0) == before) out += phase_line(phase) + "\n";
    }
  };
  phases(true);
  for (const UntarResult& untar : record.untars) out += untar_line(untar) + "\n";
  phases(false);
  if (const auto rates = find_rates(record)) {
    out += fmt::format("apparent {:.1f} MB/s (last write accepted at {:.2f} s)\n", rates->apparent_mb_per_s, record.untars_end_s);
    out += fmt::format("durable  {:.1f} MB/s (on disk at {:.2f} s)\n", rates->durable_mb_per_s, record.durable_s);
  }
  return out;
}

std::string repeats_table(std::span<const Record* const> repeats, double level) {
  if (repeats.size() < 2) return "";
  std::size_t untars = repeats.front()->untars.size();
  for (const Record* record : repeats) untars = std::min(untars, record->untars.size());
  const bool enough = repeats.size() >= least_for_median(level);
  std::string out = fmt::format("{:<12} {:>10} {:>8}   {}\n", "", "median s", "CV %", enough ? fmt::format("{:.0f} % interval of the median, s", 100 * level) : "range, s");
  const auto row = [&](const std::string& what, const auto& value) {
    std::vector<double> values;
    for (const Record* record : repeats) values.push_back(value(*record));
    const auto summary = summarise(values);
    const auto interval = median_interval(values, level);
    out += fmt::format("{:<12} {:>10.3f} {:>8.1f}   {:.3f} to {:.3f}\n", what, summary->median, 100 * summary->cv(), interval ? interval->low : summary->min,
                       interval ? interval->high : summary->max);
  };
  for (std::size_t i = 0; i < untars; ++i) {
    row(fmt::format("untar {}", i + 1), [i](const Record& r) { return r.untars[i].elapsed_s; });
  }
  row("untars end", [](const Record& r) { return r.untars_end_s; });
  row("durable", [](const Record& r) { return r.durable_s; });
  if (!enough) out += fmt::format("({} repeats; an interval of the median at {:.0f} % needs {})\n", repeats.size(), 100 * level, least_for_median(level));
  return out;
}

std::string account_table(const Record& record) {
  const auto all = account_of_all(record);
  if (!all) return "";
  std::vector<AccountBar> bars = account_per_untar(record);
  bars.push_back(*all);
  const auto total = account_parts(all->account);
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < kAccountParts; ++i) {
    if (total[i] != 0) shown.push_back(i);
  }
  // Label, up to eight parts and the sum: 10 + 8 * 7 + 6 columns at most.
  std::string out = fmt::format("{:<9}", "s");
  for (const std::size_t part : shown) out += fmt::format(" {:>6}", kShortKeys[part]);
  out += fmt::format(" {:>6}\n", "sum");
  for (const AccountBar& bar : bars) {
    const auto parts = account_parts(bar.account);
    out += fmt::format("{:<9.9}", bar.label == "all untars" ? "all" : bar.label);
    for (const std::size_t part : shown) out += fmt::format(" {:>6.{}f}", parts[part], parts[part] >= 1000 ? 0 : 2);
    out += fmt::format(" {:>6.{}f}\n", bar.account.total_s(), bar.account.total_s() >= 1000 ? 0 : 2);
  }
  // One source for everything (a simulator's books) is said once.
  const std::vector<std::string> sources = account_sources(record);
  const auto source_of = [](const std::string& line) { return line.substr(std::min(line.size(), line.find(": ") + 2)); };
  const bool same = sources.size() > 1 && std::ranges::all_of(sources, [&](const std::string& line) { return source_of(line) == source_of(sources.front()); });
  if (same) return out + wrap("source of every part: " + source_of(sources.front()), "  ", "      ");
  for (const std::string& line : sources) out += wrap(line, "  ", "      ");
  return out;
}

}  // namespace spillway::analysis
