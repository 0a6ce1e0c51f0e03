#include "analysis/statistics/summary.hpp"

#include <algorithm>
#include <cmath>

#include "sim/check.hpp"

namespace spillway::analysis {
namespace {

std::vector<double> sorted(std::span<const double> values) {
  std::vector<double> copy(values.begin(), values.end());
  std::ranges::sort(copy);
  return copy;
}

}  // namespace

double Summary::cv() const { return mean == 0.0 ? 0.0 : stddev / std::abs(mean); }

double mean_of(std::span<const double> values) {
  SPILLWAY_CHECK(!values.empty(), "the mean of nothing");
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double variance_of(std::span<const double> values) {
  if (values.size() < 2) return 0.0;
  const double mean = mean_of(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return squares / static_cast<double>(values.size() - 1);
}

double median_of(std::span<const double> values) { return quantile_of(values, 0.5); }

double quantile_of(std::span<const double> values, double q) {
  SPILLWAY_CHECK(!values.empty(), "a quantile of nothing");
  const std::vector<double> order = sorted(values);
  const double position = std::clamp(q, 0.0, 1.0) * static_cast<double>(order.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, order.size() - 1);
  return std::lerp(order[below], order[above], position - static_cast<double>(below));
}

std::optional<Summary> summarise(std::span<const double> values) {
  if (values.empty()) return std::nullopt;
  const auto [least, most] = std::ranges::minmax(values);
  return Summary{.n = values.size(),
                 .mean = mean_of(values),
                 .median = median_of(values),
                 .stddev = std::sqrt(variance_of(values)),
                 .min = least,
                 .max = most};
}

std::optional<std::vector<double>> logarithms(std::span<const double> values) {
  std::vector<double> logs;
  logs.reserve(values.size());
  for (const double value : values) {
    if (!(value > 0.0) || !std::isfinite(value)) return std::nullopt;
    logs.push_back(std::log(value));
  }
  return logs;
}

}  // namespace spillway::analysis
