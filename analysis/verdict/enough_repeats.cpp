#include "analysis/verdict/enough_repeats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "analysis/metrics/metric_value.hpp"
#include "analysis/statistics/repeats.hpp"
#include "analysis/statistics/summary.hpp"

namespace spillway::analysis {

Result<RepeatState> enough_repeats(std::span<const Record> repeats, const RepeatAim& aim) {
  SPILLWAY_ASSIGN(const MetricName metric, parse_metric(aim.metric));
  std::vector<double> values;
  for (const Record& record : repeats) {
    SPILLWAY_ASSIGN(const double value, metric_value(record, metric));
    values.push_back(value);
  }
  const auto logs = logarithms(values);
  if (!logs) return fail(ErrorKind::bad_input, fmt::format("{} is not above zero in every repeat; its precision cannot be a share of it.", aim.metric));
  RepeatState state;
  const std::size_t pilot = std::max<std::size_t>(2, aim.pilot);
  if (logs->size() < pilot) return state;
  const std::span<const double> all{*logs};
  state.needed = stein_repeats(all.first(pilot), std::log1p(aim.half_width), aim.level, std::max(pilot, aim.most));
  state.enough = logs->size() >= state.needed;
  if (!state.enough) return state;
  const auto interval = stein_interval(all, pilot, aim.level);
  if (interval) state.interval = Interval{std::exp(interval->low), std::exp(interval->high), aim.level};
  return state;
}

}  // namespace spillway::analysis
