#include "cli/sweep_points.hpp"

#include "analysis/metrics/metric_value.hpp"
#include "plots/heading.hpp"
#include "workload/experiment/quantity.hpp"
#include "workload/record/metric.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/core.h>
#include <map>
#include <optional>

namespace spillway::cli {

namespace {

/// A swept value as a number for an axis, and its unit: MB, MB/s, s, or none.
struct AxisValue {
  double number = 0;
  const char* unit = "";
};

std::optional<AxisValue> axis_value(const std::string& text) {
  if (const auto rate = read_rate(text)) return AxisValue{static_cast<double>(rate->value()) * 1e-6, "MB/s"};
  if (const auto size = read_size(text)) return AxisValue{to_mb(*size), "MB"};
  if (const auto time = read_time(text)) return AxisValue{to_seconds(*time), "s"};
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (end != text.c_str() && *end == '\0') return AxisValue{number, ""};
  return std::nullopt;
}

Result<std::string> value_of(const Record& record, const std::string& key) {
  std::string swept;
  for (const auto& [name, value] : record.case_keys) {
    if (name == key) return value;
    swept += (swept.empty() ? "" : ", ") + name;
  }
  return fail(ErrorKind::bad_input, fmt::format("{} was not swept; these keys were: {}", key, swept.empty() ? "none" : swept));
}

}  // namespace

Result<SweepFigures> sweep_figures(const std::vector<Record>& records, const std::string& metric, const std::string& against, const std::string& by) {
  SPILLWAY_ASSIGN(const MetricName name, parse_metric(metric));
  for (const auto& [key, value] : records.front().case_keys) {
    if (key == against || key == by) continue;
    for (const Record& record : records) {
      SPILLWAY_ASSIGN(const std::string other, value_of(record, key));
      if (other != value) {
        return fail(ErrorKind::bad_input, fmt::format("{} varies too ({}, {}); choose one with --where {}={}", key, value, other, key, value));
      }
    }
  }
  std::vector<plots::SweepPoint> points;
  std::map<std::pair<std::string, std::string>, std::size_t> place;
  std::map<std::string, double> words;
  std::vector<std::size_t> counts;
  const char* unit = "";
  for (const Record& record : records) {
    plots::SweepPoint point;
    SPILLWAY_ASSIGN(point.x_text, value_of(record, against));
    if (!by.empty()) {
      SPILLWAY_ASSIGN(point.series, value_of(record, by));
    }
    SPILLWAY_ASSIGN(point.y, analysis::metric_value(record, name));
    const auto axis = axis_value(point.x_text);
    // Words ("tar", "uring") stand side by side in the order of their appearance.
    point.x = axis ? axis->number : words.try_emplace(point.x_text, static_cast<double>(words.size())).first->second;
    if (axis) unit = axis->unit;
    point.low = point.high = point.y;
    const auto [found, is_new] = place.try_emplace({point.x_text, point.series}, points.size());
    if (is_new) {
      points.push_back(point);
      counts.push_back(1);
      continue;
    }
    plots::SweepPoint& known = points[found->second];
    const auto n = static_cast<double>(counts[found->second]++);
    known.y = (known.y * n + point.y) / (n + 1);
    known.low = std::min(*known.low, point.y);
    known.high = std::max(*known.high, point.y);
  }
  std::stable_sort(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.x < b.x; });
  Record heading = records.front();
  heading.case_keys.clear();
  plots::SweepLabels labels;
  labels.title = heading.experiment_title.empty() ? metric : heading.experiment_title;
  labels.subtitle = plots::subtitle_of(heading);
  labels.x = *unit == '\0' ? against : fmt::format("{} ({})", against, unit);
  labels.y = fmt::format("{} ({})", metric, name.info != nullptr ? name.info->unit : "");
  labels.series = by;
  SweepFigures result;
  result.figures.push_back(plots::sweep_figure(points, labels));
  if (!by.empty()) result.figures.push_back(plots::heat_figure(points, labels));
  return result;
}

Status keep_where(std::vector<Record>& records, const std::vector<std::string>& wanted) {
  for (const std::string& pair : wanted) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos) return fail(ErrorKind::bad_input, fmt::format("--where {}: expected KEY=VALUE", pair));
    std::erase_if(records, [&](const Record& record) {
      const auto value = value_of(record, pair.substr(0, equals));
      return !value || *value != pair.substr(equals + 1);
    });
    if (records.empty()) return fail(ErrorKind::bad_input, fmt::format("--where {}: no record has this value", pair));
  }
  return {};
}

}  // namespace spillway::cli
