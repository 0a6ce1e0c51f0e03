#include "analysis/statistics/blocks.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include "analysis/statistics/distributions.hpp"
#include "analysis/statistics/summary.hpp"

namespace spillway::analysis {
namespace {

std::optional<std::vector<double>> log_ratios(std::span<const double> a, std::span<const double> b) {
  const auto log_a = logarithms(a);
  const auto log_b = logarithms(b);
  if (!log_a || !log_b || log_a->size() != log_b->size()) return std::nullopt;
  std::vector<double> ratios(log_a->size());
  for (std::size_t i = 0; i < ratios.size(); ++i) ratios[i] = (*log_b)[i] - (*log_a)[i];
  return ratios;
}

}  // namespace

Result<Ratio> paired_ratio(std::span<const double> a, std::span<const double> b, double level) {
  if (a.size() != b.size()) {
    return fail(ErrorKind::bad_input,
                fmt::format("Pairs need one value of each side per block; there are {} and {}.", a.size(), b.size()));
  }
  if (a.size() < 2) return fail(ErrorKind::bad_input, "A paired ratio with an interval needs two blocks at least.");
  const auto ratios = log_ratios(a, b);
  if (!ratios) return fail(ErrorKind::bad_input, "A ratio needs values above zero on both sides.");
  const auto n = static_cast<double>(ratios->size());
  const double mean = mean_of(*ratios);
  const double se = std::sqrt(variance_of(*ratios) / n);
  const double half = se == 0 ? 0.0 : student_t_quantile(0.5 + level / 2, n - 1) * se;
  const double p = se == 0 ? (mean == 0 ? 1.0 : 0.0) : 2.0 * student_t_cdf(-std::abs(mean / se), n - 1);
  return Ratio{.ratio = std::exp(mean),
               .interval = {std::exp(mean - half), std::exp(mean + half), level},
               .p = p,
               .log_se = se,
               .df = n - 1};
}

std::optional<double> sign_flip_p(std::span<const double> a, std::span<const double> b) {
  const auto ratios = log_ratios(a, b);
  if (!ratios || ratios->empty() || ratios->size() > 20) return std::nullopt;
  const double observed = std::abs(std::accumulate(ratios->begin(), ratios->end(), 0.0));
  const double slack = 1e-12 * (1.0 + observed);
  const std::size_t patterns = std::size_t{1} << ratios->size();
  std::size_t extreme = 0;
  for (std::size_t pattern = 0; pattern < patterns; ++pattern) {
    double sum = 0;
    for (std::size_t i = 0; i < ratios->size(); ++i) sum += ((pattern >> i) & 1U) != 0 ? -(*ratios)[i] : (*ratios)[i];
    if (std::abs(sum) >= observed - slack) ++extreme;
  }
  return static_cast<double>(extreme) / static_cast<double>(patterns);
}

}  // namespace spillway::analysis
