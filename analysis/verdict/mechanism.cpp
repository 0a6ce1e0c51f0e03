#include "analysis/verdict/mechanism.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "analysis/account/account.hpp"
#include "analysis/verdict/words.hpp"
#include "workload/record/metric.hpp"

namespace spillway::analysis {
namespace {

/// A part that moved by less than this share of the longer side's time is not worth a word. assumed.
constexpr double kWorthAWord = 0.03;
/// A count that moved by less than this factor either. assumed.
constexpr double kCountMoved = 1.2;

/// Means over the repeats of a case.
struct Means {
  std::array<double, kAccountParts> parts{};  ///< seconds of a mean untar
  double elapsed = 0;                         ///< of a mean untar
  double sync_s = 0, pauses = 0, writes = 0, seeks = 0, rmw_reads = 0, write_mb = 0;
};

Means means_of(const CaseRecords& item) {
  Means m;
  for (const Record* record : item.repeats) {
    const auto all = account_of_all(*record);
    if (all) {
      const auto parts = account_parts(all->account);
      const double untars = static_cast<double>(record->untars.size());
      for (std::size_t i = 0; i < kAccountParts; ++i) m.parts[i] += parts[i] / untars;
      m.elapsed += all->elapsed_s / untars;
      for (const UntarResult& untar : record->untars) m.pauses += static_cast<double>(untar.pauses);
    }
    m.sync_s += std::max(0.0, record->durable_s - record->untars_end_s);
    m.writes += static_cast<double>(record->device.write_ios);
    m.seeks += static_cast<double>(record->device.seeks);
    m.rmw_reads += static_cast<double>(record->device.rmw_reads);
    m.write_mb += static_cast<double>(record->device.write_bytes) * 1e-6;
  }
  const double n = std::max<double>(1.0, static_cast<double>(item.repeats.size()));
  for (double& part : m.parts) part /= n;
  for (double* one : {&m.elapsed, &m.sync_s, &m.pauses, &m.writes, &m.seeks, &m.rmw_reads, &m.write_mb}) *one /= n;
  return m;
}

/// A pipeline has no account of untars: its busiest stage and its device say what bounds it.
std::string pipeline_words(const CaseRecords& base, const CaseRecords& changed) {
  const auto words = [](const Record& record) {
    const auto busiest = std::ranges::max_element(record.stages, {}, &StageResult::cpu_pct_max);
    return fmt::format("{} at {:.0f} % of a core, device busy {:.0f} %", busiest->name, busiest->cpu_pct_max, record.device.busy_pct);
  };
  const Record& a = *base.repeats.front();
  const Record& b = *changed.repeats.front();
  if (a.stages.empty() || b.stages.empty()) return "";
  const std::string before = words(a), after = words(b);
  return before == after ? "the busiest stage stays " + before : fmt::format("the busiest stage: {} -> {}", before, after);
}

void add(std::string& text, const std::string& words) { text += (text.empty() ? "" : ", ") + words; }

void add_count(std::string& text, const char* what, double before, double after) {
  const double least = std::min(before, after);
  const double most = std::max(before, after);
  if (most < 10 || most < kCountMoved * std::max(least, 1.0)) return;
  add(text, fmt::format("{} {} -> {}", what, number_words(std::round(before)), number_words(std::round(after))));
}

}  // namespace

std::string mechanism_words(const CaseRecords& base, const CaseRecords& changed) {
  if (base.repeats.empty() || changed.repeats.empty()) return "";
  if (auto pipeline = pipeline_words(base, changed); !pipeline.empty()) return pipeline;
  const Means a = means_of(base);
  const Means b = means_of(changed);
  if (a.elapsed <= 0 || b.elapsed <= 0) return "";
  struct Moved {
    std::size_t part;
    double by;
  };
  std::vector<Moved> moved;
  for (std::size_t i = 0; i < kAccountParts; ++i) moved.push_back({i, std::abs(b.parts[i] - a.parts[i])});
  std::ranges::stable_sort(moved, std::ranges::greater{}, &Moved::by);
  std::string parts;
  for (const Moved& one : moved) {
    if (one.by < kWorthAWord * std::max(a.elapsed, b.elapsed)) break;
    const double before = a.parts[one.part], after = b.parts[one.part];
    const int digits = std::max(before, after) < 0.1 ? 4 : 2;
    add(parts, fmt::format("{} {:.{}f} -> {:.{}f} s", account_keys()[one.part], before, digits, after, digits));
  }
  std::string text;
  if (parts.empty()) {
    const auto most = std::ranges::max_element(a.parts);
    const auto key = account_keys()[static_cast<std::size_t>(most - a.parts.begin())];
    text = fmt::format("the untars' time stays where it was: {:.0f} % {}", 100 * *most / a.elapsed, key);
    if (a.pauses == 0 && b.pauses == 0) text += ", nobody is ever throttled";
  } else {
    text = "a mean untar: " + parts;
  }
  if (std::abs(a.sync_s - b.sync_s) > std::max(0.05, kWorthAWord * std::max(a.sync_s, b.sync_s))) {
    text += fmt::format("; sync after them {:.2f} -> {:.2f} s", a.sync_s, b.sync_s);
  }
  std::string counts;
  add_count(counts, "pauses", a.pauses, b.pauses);
  add_count(counts, "device writes", a.writes, b.writes);
  add_count(counts, "seeks", a.seeks, b.seeks);
  add_count(counts, "parity reads", a.rmw_reads, b.rmw_reads);
  add_count(counts, "MB written", a.write_mb, b.write_mb);
  return counts.empty() ? text : text + "; " + counts;
}

}  // namespace spillway::analysis
