#include "analysis/statistics/interval.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "analysis/statistics/distributions.hpp"
#include "analysis/statistics/summary.hpp"
#include "sim/random.hpp"

namespace spillway::analysis {
namespace {

std::vector<double> sorted(std::span<const double> values) {
  std::vector<double> copy(values.begin(), values.end());
  std::ranges::sort(copy);
  return copy;
}

/// Coverage of the median by the d-th smallest and d-th largest of n values (d counted from 1).
double pair_coverage(std::size_t n, std::size_t d) {
  return 1.0 - 2.0 * binomial_cdf(static_cast<long>(d) - 1, n, 0.5);
}

/// The largest d whose pair covers at least `level`; 0 when not even the whole range does.
std::size_t deepest_pair(std::size_t n, double level) {
  std::size_t d = 0;
  while (2 * (d + 1) <= n && pair_coverage(n, d + 1) >= level) ++d;
  return d;
}

std::unexpected<Error> too_few(std::size_t n, double level) {
  const double whole = n == 0 ? 0.0 : pair_coverage(n, 1);
  return fail(ErrorKind::bad_input,
              fmt::format("{} repeats cannot give a {:.4g} % interval of the median (their whole range covers {:.4g} %): "
                          "{} are needed.",
                          n, level * 100, whole * 100, least_for_median(level)));
}

}  // namespace

std::optional<Interval> mean_interval(std::span<const double> values, double level) {
  if (values.size() < 2) return std::nullopt;
  const auto n = static_cast<double>(values.size());
  const double half = student_t_quantile(0.5 + level / 2, n - 1) * std::sqrt(variance_of(values) / n);
  const double mean = mean_of(values);
  return Interval{mean - half, mean + half, level};
}

std::size_t least_for_median(double level) {
  std::size_t n = 2;
  while (n < 64 && pair_coverage(n, 1) < level) ++n;
  return n;
}

Result<Interval> median_interval(std::span<const double> values, double level) {
  const std::size_t d = deepest_pair(values.size(), level);
  if (d == 0) return too_few(values.size(), level);
  const std::vector<double> order = sorted(values);
  return Interval{order[d - 1], order[order.size() - d], pair_coverage(values.size(), d)};
}

Result<Interval> median_interval_interpolated(std::span<const double> values, double level) {
  const std::size_t n = values.size();
  const std::size_t d = deepest_pair(n, level);
  if (d == 0) return too_few(n, level);
  const std::vector<double> order = sorted(values);
  const double outer = pair_coverage(n, d);
  if (outer <= level || 2 * (d + 1) > n) return Interval{order[d - 1], order[n - d], outer};
  const double inner = pair_coverage(n, d + 1);
  const double share = (outer - level) / (outer - inner);
  const auto depth = static_cast<double>(d);
  const auto size = static_cast<double>(n);
  const double weight = (size - depth) * share / (depth + (size - 2 * depth) * share);
  return Interval{std::lerp(order[d - 1], order[d], weight), std::lerp(order[n - d], order[n - d - 1], weight), level};
}

Result<Interval> bootstrap_interval(std::span<const double> values, const Statistic& statistic, double level,
                                    std::uint64_t seed, std::size_t resamples) {
  if (values.size() < kBootstrapLeast) {
    return fail(ErrorKind::bad_input,
                fmt::format("A bootstrap of {} values does not cover what it claims: {} are needed; below that use the "
                            "t interval or the order statistics.",
                            values.size(), kBootstrapLeast));
  }
  sim::Random random{seed, "resampling"};
  std::vector<double> draw(values.size());
  std::vector<double> found(resamples);
  for (double& one : found) {
    for (double& value : draw) value = values[random.below(values.size())];
    one = statistic(draw);
  }
  return Interval{quantile_of(found, 0.5 - level / 2), quantile_of(found, 0.5 + level / 2), level};
}

}  // namespace spillway::analysis
