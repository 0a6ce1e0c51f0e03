#include "analysis/compare/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/compare/comparable.hpp"
#include "analysis/statistics/many_tests.hpp"
#include "analysis/statistics/summary.hpp"
#include "analysis/verdict/case_selection.hpp"
#include "analysis/verdict/words.hpp"

namespace spillway::analysis {
namespace {

using Records = std::span<const Record* const>;

double centre(const std::vector<double>& values) {
  const auto logs = logarithms(values);
  return logs ? std::exp(mean_of(*logs)) : mean_of(values);
}

void add_row(Comparison& comparison, std::string what, std::string unit, const std::vector<double>& a, const std::vector<double>& b, double level) {
  if (a.empty() || b.empty()) return;
  ComparedRow row{.what = std::move(what), .unit = std::move(unit), .a = centre(a), .b = centre(b), .ratio = 1, .interval = {}, .p = {}};
  if (row.a <= 0 || row.b <= 0) {
    if (row.a == row.b) return;  // nothing on either side
    row.ratio = row.a > 0 ? 0.0 : std::numeric_limits<double>::infinity();
  } else {
    row.ratio = row.b / row.a;
  }
  if (const auto ratio = ratio_of(a, b, level); ratio && (variance_of(a) > 0 || variance_of(b) > 0)) {
    row.interval = ratio->interval;
    row.p = ratio->p;
  }
  comparison.rows.push_back(std::move(row));
}

template <class Value>
std::vector<double> collect(Records records, const Value& value) {
  std::vector<double> out;
  for (const Record* record : records) {
    if (const std::optional<double> one = value(*record)) out.push_back(*one);
  }
  return out;
}

std::string short_name(const Record& record) {
  std::string name = box_label(record);
  for (const auto& [key, value] : record.case_keys) name += " " + key.substr(key.rfind('.') + 1) + "=" + value;
  return name;
}

std::string ratio_words(const ComparedRow& row) {
  std::string words = std::isfinite(row.ratio) ? fmt::format("{:.3f}", row.ratio) : "-";
  if (row.interval) words += fmt::format(" ({:.3f} to {:.3f})", row.interval->low, row.interval->high);
  return words;
}

}  // namespace

Result<Comparison> compare_records(Records a, Records b, const CompareOptions& options) {
  if (a.empty() || b.empty()) return fail(ErrorKind::bad_input, "A comparison needs a record on either side.");
  if (const auto why = why_not_comparable(*a.front(), *b.front()); why && !options.force) {
    return fail(ErrorKind::bad_input, *why + "; --force compares them all the same");
  }
  Comparison comparison{.a_name = short_name(*a.front()), .b_name = short_name(*b.front()), .a_repeats = a.size(), .b_repeats = b.size(),
                        .rows = {}, .differences = differing_keys(*a.front(), *b.front())};
  const std::size_t untars = std::min(a.front()->untars.size(), b.front()->untars.size());
  for (std::size_t i = 0; i < untars; ++i) {
    const auto value = [&](const Record& r) { return i < r.untars.size() ? std::optional{r.untars[i].elapsed_s} : std::nullopt; };
    add_row(comparison, fmt::format("untar {}", i + 1), "s", collect(a, value), collect(b, value), options.level);
  }
  for (const PhaseResult& phase : a.front()->phases) {
    const auto value = [&](const Record& r) -> std::optional<double> {
      const auto found = std::ranges::find(r.phases, phase.name, &PhaseResult::name);
      return found == r.phases.end() ? std::nullopt : std::optional{found->elapsed_s};
    };
    add_row(comparison, phase.name, "s", collect(a, value), collect(b, value), options.level);
  }
  for (const JobResult& job : a.front()->jobs) {
    const auto value = [&](const Record& r) -> std::optional<double> {
      const auto found = std::ranges::find(r.jobs, job.name, &JobResult::name);
      return found == r.jobs.end() ? std::nullopt : std::optional{found->mb_per_s};
    };
    add_row(comparison, "job " + job.name, "MB/s", collect(a, value), collect(b, value), options.level);
  }
  const auto ends = [](const Record& r) { return std::optional{r.untars_end_s}; };
  const auto durable = [](const Record& r) { return std::optional{r.durable_s}; };
  const auto cpu = [](const Record& r) {
    double sum = 0;
    for (const UntarResult& one : r.untars) sum += one.user_s + one.system_s;
    return std::optional{sum};
  };
  add_row(comparison, "untars end", "s", collect(a, ends), collect(b, ends), options.level);
  add_row(comparison, "durable", "s", collect(a, durable), collect(b, durable), options.level);
  add_row(comparison, "CPU of the untars", "s", collect(a, cpu), collect(b, cpu), options.level);

  std::vector<double> p;
  for (const ComparedRow& row : comparison.rows) p.push_back(row.p.value_or(1));
  const std::vector<double> adjusted = holm(p);
  for (std::size_t i = 0; i < adjusted.size(); ++i) {
    if (comparison.rows[i].p) comparison.rows[i].p = adjusted[i];
  }
  return comparison;
}

std::string comparison_table(const Comparison& comparison) {
  std::string out = fmt::format("A: {:.60}, {} repeat{}\nB: {:.60}, {} repeat{}\n", comparison.a_name, comparison.a_repeats,
                                comparison.a_repeats == 1 ? "" : "s", comparison.b_name, comparison.b_repeats, comparison.b_repeats == 1 ? "" : "s");
  out += fmt::format("{:<18} {:>9} {:>9} {:>4}  B / A\n", "", "A", "B", "");
  for (const ComparedRow& row : comparison.rows) {
    const bool sure = row.p && *row.p < 0.05;
    out += fmt::format("{:<18.18} {:>9} {:>9} {:<4}  {}{}\n", row.what, number_words(row.a), number_words(row.b), row.unit, ratio_words(row), sure ? " *" : "");
  }
  if (std::ranges::any_of(comparison.rows, [](const ComparedRow& row) { return row.p.has_value(); })) {
    out += "* differs at 5 % after correction for the number of rows\n";
  }
  return out;
}

}  // namespace spillway::analysis
