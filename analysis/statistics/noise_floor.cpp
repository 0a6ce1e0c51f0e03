#include "analysis/statistics/noise_floor.hpp"

#include <cmath>
#include <vector>

#include "analysis/statistics/blocks.hpp"
#include "analysis/statistics/distributions.hpp"
#include "analysis/statistics/summary.hpp"

namespace spillway::analysis {

Result<NoiseFloor> noise_floor(std::span<const double> first, std::span<const double> second, std::size_t group,
                               double level) {
  if (group < 2) return fail(ErrorKind::bad_input, "A comparison needs two repeats a side at least.");
  SPILLWAY_ASSIGN(const Ratio all, paired_ratio(first, second, level));
  NoiseFloor floor{.pairs = first.size(), .mean_ratio = all.ratio, .mean_interval = all.interval};
  std::vector<double> distance;
  for (std::size_t i = 0; i < first.size(); ++i) distance.push_back(std::abs(second[i] / first[i] - 1.0));
  floor.single_pair = quantile_of(distance, 0.95);
  for (std::size_t at = 0; at + group <= first.size(); at += group) {
    SPILLWAY_ASSIGN(const Ratio one, ratio_of(first.subspan(at, group), second.subspan(at, group), level));
    ++floor.comparisons;
    if (one.differs()) ++floor.false_differences;
  }
  floor.allowed = binomial_quantile(0.99, floor.comparisons, 1.0 - level);
  // Spread of one run: that of a difference of two, over sqrt(2). Then the usual power formula with t quantiles.
  const double spread = all.log_se * std::sqrt(static_cast<double>(first.size()) / 2.0);
  const double df = 2.0 * static_cast<double>(group - 1);
  const double se = spread * std::sqrt(2.0 / static_cast<double>(group));
  floor.smallest_effect = std::expm1((student_t_quantile(0.5 + level / 2, df) + student_t_quantile(0.9, df)) * se);
  return floor;
}

}  // namespace spillway::analysis
