#include "analysis/statistics/two_samples.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "analysis/statistics/distributions.hpp"
#include "analysis/statistics/summary.hpp"

namespace spillway::analysis {
namespace {

constexpr std::size_t kExactMost = 60;

/// Welch's difference b - a with its standard error and degrees of freedom (Welch and Satterthwaite).
struct Difference {
  double value, se, df;
};
Difference difference_of(std::span<const double> a, std::span<const double> b) {
  const double va = variance_of(a) / static_cast<double>(a.size());
  const double vb = variance_of(b) / static_cast<double>(b.size());
  const double se2 = va + vb;
  const double bottom =
      va * va / static_cast<double>(a.size() - 1) + vb * vb / static_cast<double>(b.size() - 1);
  const double df = bottom > 0 ? se2 * se2 / bottom : static_cast<double>(a.size() + b.size() - 2);
  return {mean_of(b) - mean_of(a), std::sqrt(se2), df};
}

double two_sided_p(double value, double se, double df) {
  if (se == 0.0) return value == 0.0 ? 1.0 : 0.0;
  return 2.0 * student_t_cdf(-std::abs(value / se), df);
}

/// Twice the mid-ranks (whole numbers even with ties) of all values, and the sum of t^3 - t over groups of ties.
struct Ranks {
  std::vector<int> doubled;  ///< in the order a then b
  double tie_term = 0;
};
Ranks doubled_ranks(std::span<const double> a, std::span<const double> b) {
  std::vector<double> all(a.begin(), a.end());
  all.insert(all.end(), b.begin(), b.end());
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return all[i]; });
  Ranks ranks{std::vector<int>(all.size()), 0.0};
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    while (last + 1 < order.size() && all[order[last + 1]] == all[order[first]]) ++last;
    for (std::size_t i = first; i <= last; ++i) ranks.doubled[order[i]] = static_cast<int>(first + last + 2);
    const auto ties = static_cast<double>(last - first + 1);
    ranks.tie_term += ties * ties * ties - ties;
    first = last + 1;
  }
  return ranks;
}

/// How many of the subsets of `size` of the ranks have each doubled sum. As doubles: C(60, 30) is 1e17 and only
/// quotients are used.
std::vector<double> subset_sums(const std::vector<int>& ranks, std::size_t size) {
  const int most = std::accumulate(ranks.begin(), ranks.end(), 0);
  const auto width = static_cast<std::size_t>(most) + 1;
  std::vector<std::vector<double>> ways(size + 1, std::vector<double>(width, 0.0));
  ways[0][0] = 1.0;
  for (const int rank : ranks) {
    const auto step = static_cast<std::size_t>(rank);
    for (std::size_t k = size; k-- > 0;) {
      for (std::size_t sum = width; sum-- > step;) ways[k + 1][sum] += ways[k][sum - step];
    }
  }
  return ways[size];
}

/// P(U <= u) for samples without ties: cumulative distribution indexed by u.
std::vector<double> u_distribution(std::size_t n, std::size_t m) {
  std::vector<int> ranks(n + m);
  for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i] = static_cast<int>(i) + 1;
  const std::vector<double> ways = subset_sums(ranks, n);
  const std::size_t least = n * (n + 1) / 2;
  const double total = std::accumulate(ways.begin(), ways.end(), 0.0);
  std::vector<double> cumulative(n * m + 1);
  double sum = 0;
  for (std::size_t u = 0; u < cumulative.size(); ++u) cumulative[u] = (sum += ways[u + least]) / total;
  return cumulative;
}

}  // namespace

std::optional<TestResult> welch_t(std::span<const double> a, std::span<const double> b) {
  if (a.size() < 2 || b.size() < 2) return std::nullopt;
  const Difference d = difference_of(a, b);
  const double t = d.se > 0 ? d.value / d.se
                            : (d.value == 0 ? 0.0 : std::copysign(std::numeric_limits<double>::infinity(), d.value));
  return TestResult{t, d.df, two_sided_p(d.value, d.se, d.df), false};
}

std::optional<TestResult> mann_whitney(std::span<const double> a, std::span<const double> b) {
  if (a.empty() || b.empty()) return std::nullopt;
  const auto n = static_cast<double>(a.size());
  const auto m = static_cast<double>(b.size());
  const Ranks ranks = doubled_ranks(a, b);
  const auto doubled_sum =
      std::accumulate(ranks.doubled.begin(), ranks.doubled.begin() + static_cast<std::ptrdiff_t>(a.size()), 0);
  const double u = doubled_sum / 2.0 - n * (n + 1) / 2;
  const double total = n + m;
  if (a.size() + b.size() <= kExactMost) {
    const std::vector<double> ways = subset_sums(ranks.doubled, a.size());
    const double centre = n * (total + 1);  // doubled mean of the rank sum
    const double distance = std::abs(doubled_sum - centre);
    double extreme = 0;
    double all = 0;
    for (std::size_t sum = 0; sum < ways.size(); ++sum) {
      all += ways[sum];
      if (std::abs(static_cast<double>(sum) - centre) >= distance) extreme += ways[sum];
    }
    return TestResult{u, 0, std::min(1.0, extreme / all), true};
  }
  const double variance = n * m / 12 * (total + 1 - ranks.tie_term / (total * (total - 1)));
  if (variance <= 0) return TestResult{u, 0, 1.0, false};
  const double distance = std::max(0.0, std::abs(u - n * m / 2) - 0.5);
  return TestResult{u, 0, 2.0 * normal_cdf(-distance / std::sqrt(variance)), false};
}

std::optional<Shift> hodges_lehmann(std::span<const double> a, std::span<const double> b, double level) {
  if (a.empty() || b.empty()) return std::nullopt;
  std::vector<double> differences;
  differences.reserve(a.size() * b.size());
  for (const double x : a) {
    for (const double y : b) differences.push_back(y - x);
  }
  std::ranges::sort(differences);
  Shift shift{.shift = median_of(differences), .interval = std::nullopt};
  const double tail = (1.0 - level) / 2;
  std::size_t k = 0;  // how many differences may be left out on each side
  double left_out = 0;
  if (a.size() + b.size() <= kExactMost) {
    const std::vector<double> cumulative = u_distribution(a.size(), b.size());
    while (2 * (k + 1) <= differences.size() && cumulative[k] <= tail) left_out = cumulative[k++];
  } else {
    const auto n = static_cast<double>(a.size());
    const auto m = static_cast<double>(b.size());
    const double spread = std::sqrt(n * m * (n + m + 1) / 12);
    const double reach = n * m / 2 + normal_quantile(tail) * spread;
    k = reach > 0 ? static_cast<std::size_t>(reach) : 0;
    left_out = tail;
  }
  if (k > 0) shift.interval = Interval{differences[k - 1], differences[differences.size() - k], 1.0 - 2.0 * left_out};
  return shift;
}

Result<Ratio> ratio_of(std::span<const double> a, std::span<const double> b, double level) {
  if (a.size() < 2 || b.size() < 2) {
    return fail(ErrorKind::bad_input, fmt::format("A ratio with an interval needs two repeats of each side; there are {} "
                                                  "and {}.",
                                                  a.size(), b.size()));
  }
  const auto log_a = logarithms(a);
  const auto log_b = logarithms(b);
  if (!log_a || !log_b) return fail(ErrorKind::bad_input, "A ratio needs values above zero on both sides.");
  const Difference d = difference_of(*log_a, *log_b);
  const double half = d.se == 0 ? 0.0 : student_t_quantile(0.5 + level / 2, d.df) * d.se;
  return Ratio{.ratio = std::exp(d.value),
               .interval = {std::exp(d.value - half), std::exp(d.value + half), level},
               .p = two_sided_p(d.value, d.se, d.df),
               .log_se = d.se,
               .df = d.df};
}

std::optional<double> effect_size(std::span<const double> a, std::span<const double> b) {
  if (a.size() < 2 || b.size() < 2) return std::nullopt;
  const auto n = static_cast<double>(a.size());
  const auto m = static_cast<double>(b.size());
  const double pooled = ((n - 1) * variance_of(a) + (m - 1) * variance_of(b)) / (n + m - 2);
  if (pooled <= 0) return std::nullopt;
  const double correction = 1.0 - 3.0 / (4.0 * (n + m) - 9.0);
  return correction * (mean_of(b) - mean_of(a)) / std::sqrt(pooled);
}

}  // namespace spillway::analysis
