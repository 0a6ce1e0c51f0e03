#pragma once
/// How far a simulation is from the real run: error of each untar, finish time and phase in percent, of CPU in points, of the
/// sync tail, of the dirty + writeback timeline as a share of the limit; each beside the null model's, and beside the
/// real box's own spread where it was repeated (an error below that spread means nothing).

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/compare/comparison.hpp"
#include "sim/result.hpp"
#include "workload/record/record.hpp"
#include "workload/record/timeline.hpp"

namespace spillway::analysis {

struct ScoredPart {
  std::string what;                   ///< "untar 3", "end of untar 3", "sync", "untars end", "durable"
  double real_s = 0, simulated_s = 0; ///< means over the repeats
  double error_pct = 0;               ///< simulated against real
  std::optional<double> null_s, null_error_pct;
  std::optional<double> spread_pct;   ///< coefficient of variation of the real repeats
};

/// Means of absolute errors.
struct ScoreSummary {
  double untars_pct = 0;              ///< all untars
  std::optional<double> full_speed_pct, transition_pct, throttled_pct;  ///< before the knee; the two at it; after
  double finish_pct = 0;              ///< finish times
  double untars_end_pct = 0, durable_pct = 0;
  std::optional<double> sync_pct;
  std::optional<double> timeline_pct; ///< |dirty + writeback| difference, mean over the run, in % of the limit
};

struct SimulationScore {
  std::vector<ScoredPart> untars, finishes, phases, totals;
  double cpu_points = 0;              ///< mean |CPU % difference| per untar, in points
  double cpu_s_pct = 0;               ///< error of user + system of all untars
  ScoreSummary simulated;
  std::optional<ScoreSummary> null;   ///< of the null model
  std::string null_missing;           ///< why there is none
  std::size_t real_repeats = 0, simulated_repeats = 0;
};

/// One side of the comparison: the repeats, and the timeline of the first where there is one.
struct Side {
  std::span<const Record* const> records;
  const Timeline* timeline = nullptr;
};

/// Refused with a sentence where the two are not the same experiment, unless forced.
Result<SimulationScore> score_simulation(const Side& real, const Side& simulated, const CompareOptions& options = {});

/// Mean |difference| of dirty + writeback between two timelines over [0, end_s], in percent of the limit (the first side's
/// threshold). Empty when either does not know it.
std::optional<double> timeline_error_pct(const Timeline& real, const Timeline& simulated, double end_s);

/// At most 72 columns.
std::string score_table(const SimulationScore& score);

}  // namespace spillway::analysis
