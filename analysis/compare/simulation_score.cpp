#include "analysis/compare/simulation_score.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "analysis/compare/comparable.hpp"
#include "analysis/knee/knee.hpp"
#include "analysis/knee/timeline_knee.hpp"
#include "analysis/metrics/metric_value.hpp"
#include "analysis/null_model.hpp"
#include "analysis/report/text.hpp"
#include "analysis/statistics/summary.hpp"
#include "analysis/verdict/words.hpp"
#include "sim/units.hpp"

namespace spillway::analysis {
namespace {

using Value = std::function<std::optional<double>(const Record&)>;

std::vector<double> collect(std::span<const Record* const> records, const Value& value) {
  std::vector<double> out;
  for (const Record* record : records) {
    if (const auto one = value(*record)) out.push_back(*one);
  }
  return out;
}

double error_pct(double found, double truth) { return truth != 0 ? 100.0 * (found - truth) / truth : 0.0; }

std::optional<ScoredPart> score_part(const std::string& what, const Side& real, const Side& simulated, std::optional<double> null_s, const Value& value) {
  const std::vector<double> truth = collect(real.records, value);
  const std::vector<double> found = collect(simulated.records, value);
  if (truth.empty() || found.empty()) return std::nullopt;
  ScoredPart part{.what = what, .real_s = mean_of(truth), .simulated_s = mean_of(found), .error_pct = 0, .null_s = null_s, .null_error_pct = {}, .spread_pct = {}};
  if (part.real_s <= 0) return std::nullopt;
  part.error_pct = error_pct(part.simulated_s, part.real_s);
  if (null_s) part.null_error_pct = error_pct(*null_s, part.real_s);
  if (truth.size() > 1) part.spread_pct = 100.0 * summarise(truth)->cv();
  return part;
}

template <class Get>
std::optional<double> mean_abs(std::span<const ScoredPart> parts, const Get& get) {
  double sum = 0;
  std::size_t n = 0;
  for (const ScoredPart& part : parts) {
    if (const std::optional<double> one = get(part)) {
      sum += std::abs(*one);
      ++n;
    }
  }
  return n == 0 ? std::nullopt : std::optional{sum / static_cast<double>(n)};
}

/// Where the real run's untars leave full speed; the number of untars when they never do.
std::size_t first_throttled(const Side& real) {
  std::vector<std::vector<double>> series;
  for (const Record* record : real.records) series.push_back(untar_rates(*record));
  const auto knee = find_knee(series, {.resamples = 0});
  return knee ? knee->first().at : series.front().size();
}

template <class Get>
ScoreSummary summary_of(const SimulationScore& score, std::size_t throttled_from, const Get& get) {
  const std::span<const ScoredPart> untars = score.untars;
  const std::size_t knee = std::min(throttled_from, untars.size());
  const std::size_t after = std::min(knee + 2, untars.size());
  ScoreSummary s;
  s.untars_pct = mean_abs(untars, get).value_or(0);
  s.full_speed_pct = mean_abs(untars.first(knee), get);
  s.transition_pct = mean_abs(untars.subspan(knee, after - knee), get);
  s.throttled_pct = mean_abs(untars.subspan(after), get);
  s.finish_pct = mean_abs(score.finishes, get).value_or(0);
  for (const ScoredPart& part : score.totals) {
    const double size = std::abs(get(part).value_or(0));
    if (part.what == "untars end") s.untars_end_pct = size;
    if (part.what == "durable") s.durable_pct = size;
  }
  for (const ScoredPart& part : score.phases) {
    if (part.what == "sync" && get(part)) s.sync_pct = std::abs(*get(part));
  }
  return s;
}

/// Straight line between samples of (t, dirty + writeback in pages).
class Curve {
 public:
  explicit Curve(const Timeline& timeline) {
    for (const TimelineRow& row : timeline.rows) {
      if (const auto held = dirty_and_writeback(row)) points_.emplace_back(row.t_s, *held);
    }
  }
  [[nodiscard]] bool empty() const { return points_.size() < 2; }
  [[nodiscard]] double at(double t_s) const {
    const auto above = std::ranges::lower_bound(points_, t_s, {}, &std::pair<double, double>::first);
    if (above == points_.begin()) return points_.front().second;
    if (above == points_.end()) return points_.back().second;
    const auto below = above - 1;
    const double width = above->first - below->first;
    return width <= 0 ? above->second : std::lerp(below->second, above->second, (t_s - below->first) / width);
  }

 private:
  std::vector<std::pair<double, double>> points_;
};

std::optional<double> limit_pages(const Timeline& timeline) {
  for (const TimelineRow& row : timeline.rows) {
    if (row.thresh_pages && *row.thresh_pages > 0) return row.thresh_pages;
  }
  return std::nullopt;
}

/// Mean |real - other| over 0 .. end_s in steps of 100 ms, in percent of the limit.
template <class Other>
std::optional<double> mean_gap_pct(const Timeline& real, double end_s, const Other& other) {
  const Curve truth{real};
  const auto limit = limit_pages(real);
  if (truth.empty() || !limit || !(end_s > 0)) return std::nullopt;
  double sum = 0;
  std::size_t n = 0;
  for (double t = 0; t <= end_s; t += 0.1, ++n) sum += std::abs(truth.at(t) - other(t));
  return 100.0 * sum / static_cast<double>(n) / *limit;
}

std::string optional_pct(const std::optional<double>& value) { return value ? fmt::format("{:+.1f}", *value) : "-"; }
std::string optional_size(const std::optional<double>& value) { return value ? fmt::format("{:.1f}", *value) : "-"; }

}  // namespace

std::optional<double> timeline_error_pct(const Timeline& real, const Timeline& simulated, double end_s) {
  const Curve found{simulated};
  if (found.empty()) return std::nullopt;
  return mean_gap_pct(real, end_s, [&](double t) { return found.at(t); });
}

Result<SimulationScore> score_simulation(const Side& real, const Side& simulated, const CompareOptions& options) {
  if (real.records.empty() || simulated.records.empty()) return fail(ErrorKind::bad_input, "A score needs a real and a simulated record.");
  const Record& truth = *real.records.front();
  if (const auto why = why_not_same_experiment(truth, *simulated.records.front()); why && !options.force) {
    return fail(ErrorKind::bad_input, *why + "; --force compares them all the same");
  }
  SimulationScore score;
  score.real_repeats = real.records.size();
  score.simulated_repeats = simulated.records.size();
  const auto model = null_model_for(truth, real.timeline);
  std::optional<NullResult> null;
  if (model) {
    null = run_null_model(*model);
  } else {
    score.null_missing = model.error().what;
  }
  const auto null_at = [&](std::size_t i, bool finish) -> std::optional<double> {
    if (!null || i >= null->elapsed_s.size()) return std::nullopt;
    return null->elapsed_s[i] + (finish ? null->start_s[i] : 0.0);
  };

  const std::size_t n = std::min(truth.untars.size(), simulated.records.front()->untars.size());
  double points = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const auto with = [i](auto member) {
      return [i, member](const Record& r) { return i < r.untars.size() ? std::optional<double>{member(r.untars[i])} : std::nullopt; };
    };
    if (auto part = score_part(fmt::format("untar {}", i + 1), real, simulated, null_at(i, false), with([](const UntarResult& u) { return u.elapsed_s; }))) {
      score.untars.push_back(*part);
    }
    if (auto part = score_part(fmt::format("end of untar {}", i + 1), real, simulated, null_at(i, true), with([](const UntarResult& u) { return u.start_s + u.elapsed_s; }))) {
      score.finishes.push_back(*part);
    }
    const auto cpu = with([](const UntarResult& u) { return u.cpu_pct(); });
    points += std::abs(mean_of(collect(simulated.records, cpu)) - mean_of(collect(real.records, cpu)));
  }
  if (n > 0) score.cpu_points = points / static_cast<double>(n);
  const Value all_cpu = [](const Record& r) {
    double sum = 0;
    for (const UntarResult& one : r.untars) sum += one.user_s + one.system_s;
    return std::optional{sum};
  };
  score.cpu_s_pct = error_pct(mean_of(collect(simulated.records, all_cpu)), mean_of(collect(real.records, all_cpu)));

  for (const PhaseResult& phase : truth.phases) {
    const Value value = [&](const Record& r) -> std::optional<double> {
      const auto found = std::ranges::find(r.phases, phase.name, &PhaseResult::name);
      return found == r.phases.end() ? std::nullopt : std::optional{found->elapsed_s};
    };
    const auto null_s = null && phase.name == "sync" ? std::optional{null->sync_s} : std::nullopt;
    if (auto part = score_part(phase.name, real, simulated, null_s, value)) score.phases.push_back(*part);
  }
  const auto total = [&](const std::string& what, std::optional<double> null_s, const Value& value) {
    if (auto part = score_part(what, real, simulated, null_s, value)) score.totals.push_back(*part);
  };
  total("untars end", null ? std::optional{null->untars_end_s} : std::nullopt, [](const Record& r) { return std::optional{r.untars_end_s}; });
  total("durable", null ? std::optional{null->durable_s()} : std::nullopt, [](const Record& r) { return std::optional{r.durable_s}; });

  const std::size_t knee = truth.untars.empty() ? 0 : first_throttled(real);
  score.simulated = summary_of(score, knee, [](const ScoredPart& part) { return std::optional{part.error_pct}; });
  if (null) score.null = summary_of(score, knee, [](const ScoredPart& part) { return part.null_error_pct; });
  if (real.timeline != nullptr) {
    if (simulated.timeline != nullptr) score.simulated.timeline_pct = timeline_error_pct(*real.timeline, *simulated.timeline, truth.durable_s);
    if (null) {
      const auto page = static_cast<double>(kPageSize.value());
      score.null->timeline_pct = mean_gap_pct(*real.timeline, truth.durable_s, [&](double t) { return null->level_at(t) / page; });
    }
  }
  return score;
}

std::string score_table(const SimulationScore& score) {
  std::string out = fmt::format("{} real, {} simulated repeat{}; errors in %; null = leaky bucket\n", score.real_repeats, score.simulated_repeats,
                                score.simulated_repeats == 1 ? "" : "s");
  out += fmt::format("{:<16} {:>9} {:>9} {:>8} {:>8} {:>8}\n", "", "real s", "sim s", "error", "null", "spread");
  const auto rows = [&](const std::vector<ScoredPart>& parts) {
    for (const ScoredPart& part : parts) {
      out += fmt::format("{:<16.16} {:>9} {:>9} {:>+8.1f} {:>8} {:>8}\n", part.what, number_words(part.real_s), number_words(part.simulated_s),
                         part.error_pct, optional_pct(part.null_error_pct), optional_size(part.spread_pct));
    }
  };
  rows(score.untars);
  rows(score.phases);
  rows(score.totals);
  const auto line = [&](std::string_view what, const std::optional<double>& sim, const std::optional<double>& null) {
    if (sim || null) out += fmt::format("{:<36} {:>8} {:>8}\n", what, optional_size(sim), optional_size(null));
  };
  const ScoreSummary& s = score.simulated;
  const ScoreSummary none{};
  const bool has_null = score.null.has_value();
  const ScoreSummary& z = has_null ? *score.null : none;
  const auto only = [&](double value) { return has_null ? std::optional{value} : std::nullopt; };
  out += fmt::format("{:<36} {:>8} {:>8}\n", "mean |error|, %", "sim", "null");
  line("untars", s.untars_pct, only(z.untars_pct));
  line("  at full speed", s.full_speed_pct, z.full_speed_pct);
  line("  in the transition", s.transition_pct, z.transition_pct);
  line("  throttled", s.throttled_pct, z.throttled_pct);
  line("finish times", s.finish_pct, only(z.finish_pct));
  line("sync", s.sync_pct, z.sync_pct);
  line("timeline, of the limit", s.timeline_pct, z.timeline_pct);
  out += fmt::format("CPU: {:.1f} points a untar, {:+.1f} % of user + system\n", score.cpu_points, score.cpu_s_pct);
  if (!has_null) out += wrap(score.null_missing);
  return out;
}

}  // namespace spillway::analysis
