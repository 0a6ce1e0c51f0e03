#include "analysis/statistics/repeats.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/statistics/distributions.hpp"
#include "analysis/statistics/summary.hpp"

namespace spillway::analysis {

std::size_t stein_repeats(std::span<const double> pilot, double half_width, double level, std::size_t most) {
  if (pilot.size() < 2 || !(half_width > 0)) return most;
  const double t = student_t_quantile(0.5 + level / 2, static_cast<double>(pilot.size() - 1));
  const double needed = std::ceil(t * t * variance_of(pilot) / (half_width * half_width));
  if (needed >= static_cast<double>(most)) return most;
  return std::max(pilot.size(), static_cast<std::size_t>(needed));
}

std::optional<Interval> stein_interval(std::span<const double> all, std::size_t pilot_size, double level) {
  if (pilot_size < 2 || all.size() < pilot_size) return std::nullopt;
  const double t = student_t_quantile(0.5 + level / 2, static_cast<double>(pilot_size - 1));
  const double half = t * std::sqrt(variance_of(all.first(pilot_size)) / static_cast<double>(all.size()));
  const double mean = mean_of(all);
  return Interval{mean - half, mean + half, level};
}

Look look_at(const ComparePlan& plan, std::span<const double> a, std::span<const double> b, const RatioFunction& ratio) {
  Look look;
  const std::size_t n = std::min(a.size(), b.size());
  const auto next = std::ranges::upper_bound(plan.looks, n);
  look.next = next == plan.looks.end() ? 0 : *next;
  // Data between two looks are used at the next one; only beyond the last look everything there is counts.
  const bool at_look = std::ranges::binary_search(plan.looks, n) || (look.next == 0 && !plan.looks.empty());
  if (!at_look) return look;
  const double alpha = (1.0 - plan.level) / static_cast<double>(plan.looks.size());
  const auto found = ratio(a.first(n), b.first(n), 1.0 - alpha);
  if (!found) return look;
  look.ratio = *found;
  if (plan.margin && equivalence_of(*found, *plan.margin, 1.0 - alpha).unchanged) {
    look.decision = Decision::unchanged;
  } else if (found->differs()) {
    look.decision = Decision::different;
  } else if (look.next == 0) {
    look.decision = Decision::undecided;
  }
  return look;
}

std::optional<std::size_t> more_repeats_to_decide(const Ratio& ratio, std::size_t repeats, std::optional<double> margin,
                                                  double level, bool difference_decides, std::size_t most) {
  const double value = std::abs(std::log(ratio.ratio));
  const double room = margin ? std::log1p(*margin) - value : 0.0;
  const double spread = ratio.log_se * std::sqrt(static_cast<double>(repeats));
  const double df_per_repeat = repeats > 1 ? ratio.df / static_cast<double>(repeats - 1) : 1.0;
  for (std::size_t n = repeats + 1; n <= most; ++n) {
    const double se = spread / std::sqrt(static_cast<double>(n));
    const double df = df_per_repeat * static_cast<double>(n - 1);
    const bool excludes_one = difference_decides && student_t_quantile(0.5 + level / 2, df) * se < value;
    const bool fits_margin = room > 0 && student_t_quantile(level, df) * se < room;
    if (excludes_one || fits_margin) return n - repeats;
  }
  return std::nullopt;
}

std::size_t warm_up(std::span<const double> repeats, const WarmUpRule& rule) {
  std::size_t left_out = 0;
  while (left_out < rule.most && repeats.size() - left_out >= rule.keep + 1) {
    const auto later = repeats.subspan(left_out + 1);
    const auto n = static_cast<double>(later.size());
    const double mean = mean_of(later);
    const double reach =
        student_t_quantile(0.5 + rule.level / 2, n - 1) * std::sqrt(variance_of(later) * (1.0 + 1.0 / n));
    const double distance = std::abs(repeats[left_out] - mean);
    if (distance <= reach || distance <= rule.least_difference * std::abs(mean)) break;
    ++left_out;
  }
  return left_out;
}

}  // namespace spillway::analysis
