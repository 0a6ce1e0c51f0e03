#include "analysis/statistics/equivalence.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/statistics/distributions.hpp"

namespace spillway::analysis {

Equivalence equivalence_of(const Ratio& ratio, double margin, double level) {
  const double edge = std::log1p(margin);
  const double value = std::log(ratio.ratio);
  Equivalence result;
  if (ratio.log_se == 0) {
    result.p = std::abs(value) < edge ? 0.0 : 1.0;
    result.interval = {ratio.ratio, ratio.ratio, 2 * level - 1};
  } else {
    const double too_low = student_t_cdf(-(value + edge) / ratio.log_se, ratio.df);
    const double too_high = student_t_cdf((value - edge) / ratio.log_se, ratio.df);
    const double half = student_t_quantile(level, ratio.df) * ratio.log_se;
    result.p = std::max(too_low, too_high);
    result.interval = {std::exp(value - half), std::exp(value + half), 2 * level - 1};
  }
  result.unchanged = result.p <= 1.0 - level;
  return result;
}

Result<Equivalence> equivalence_of(std::span<const double> a, std::span<const double> b, double margin, double level) {
  SPILLWAY_ASSIGN(const Ratio ratio, ratio_of(a, b, level));
  return equivalence_of(ratio, margin, level);
}

}  // namespace spillway::analysis
