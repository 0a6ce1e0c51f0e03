#include "analysis/knee/falling_steps.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "sim/check.hpp"

namespace spillway::analysis {
namespace {

constexpr int kMostSegments = 4;

/// Sums for the mean and squared error of any stretch in constant time. Values are centred first, so that the
/// difference of squares does not lose digits.
class Stretches {
 public:
  explicit Stretches(std::span<const double> values) : sum_(values.size() + 1), square_(values.size() + 1) {
    for (const double value : values) centre_ += value / static_cast<double>(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double x = values[i] - centre_;
      sum_[i + 1] = sum_[i] + x;
      square_[i + 1] = square_[i] + x * x;
    }
  }
  [[nodiscard]] double mean(std::size_t from, std::size_t to) const {
    return centre_ + (sum_[to] - sum_[from]) / static_cast<double>(to - from);
  }
  [[nodiscard]] double error(std::size_t from, std::size_t to) const {
    const double sum = sum_[to] - sum_[from];
    return std::max(0.0, square_[to] - square_[from] - sum * sum / static_cast<double>(to - from));
  }

 private:
  double centre_ = 0;
  std::vector<double> sum_;
  std::vector<double> square_;
};

class Search {
 public:
  Search(std::span<const double> values, const StepOptions& options)
      : stretches_(values), n_(values.size()), options_(options), drop_(std::log(options.least_ratio)) {}

  StepFit best() {
    best_error_.fill(std::numeric_limits<double>::infinity());
    const int most = std::clamp(options_.most_segments, 1, kMostSegments);
    for (int segments = 1; segments <= most; ++segments) place(segments, 0, 0, 0.0);
    int chosen = 0;
    double least_cost = std::numeric_limits<double>::infinity();
    const auto n = static_cast<double>(n_);
    const double floor = options_.noise_floor * options_.noise_floor;
    const double price = options_.price * (1.0 + 3.0 / n) * std::log(n);
    for (int k = 0; k < most; ++k) {
      const auto at = static_cast<std::size_t>(k);
      if (!std::isfinite(best_error_[at])) continue;
      const double cost = n * std::log(std::max(best_error_[at] / n, floor)) + price * k;
      if (cost < least_cost) {
        least_cost = cost;
        chosen = k;
      }
    }
    StepFit fit;
    const auto pick = static_cast<std::size_t>(chosen);
    for (std::size_t k = 0; k <= pick; ++k) {
      const std::size_t from = best_first_[pick][k];
      const std::size_t to = k == pick ? n_ : best_first_[pick][k + 1];
      fit.steps.push_back({from, stretches_.mean(from, to)});
    }
    fit.residual_sd = std::max(options_.noise_floor, std::sqrt(best_error_[pick] / n));
    return fit;
  }

 private:
  /// Place segment number `at` of `segments` from index `from` on, with `error` spent so far.
  void place(int segments, int at, std::size_t from, double error) {
    const auto slot = static_cast<std::size_t>(segments - 1);
    first_[static_cast<std::size_t>(at)] = from;
    if (at == segments - 1) {
      const double total = error + stretches_.error(from, n_);
      if (total < best_error_[slot] && falls_enough(at, from, n_)) {
        best_error_[slot] = total;
        best_first_[slot] = first_;
      }
      return;
    }
    const auto still_to_place = static_cast<std::size_t>(segments - 1 - at);
    for (std::size_t to = from + 1; to + still_to_place <= n_; ++to) {
      const double spent = error + stretches_.error(from, to);
      if (spent >= best_error_[slot]) continue;
      if (!falls_enough(at, from, to)) continue;
      level_[static_cast<std::size_t>(at)] = stretches_.mean(from, to);
      place(segments, at + 1, to, spent);
    }
  }

  [[nodiscard]] bool falls_enough(int at, std::size_t from, std::size_t to) const {
    return at == 0 || level_[static_cast<std::size_t>(at) - 1] - stretches_.mean(from, to) >= drop_;
  }

  Stretches stretches_;
  std::size_t n_;
  StepOptions options_;
  double drop_;
  std::array<std::size_t, kMostSegments> first_{};
  std::array<double, kMostSegments> level_{};
  std::array<double, kMostSegments> best_error_{};
  std::array<std::array<std::size_t, kMostSegments>, kMostSegments> best_first_{};
};

}  // namespace

StepFit fit_falling_steps(std::span<const double> values, const StepOptions& options) {
  SPILLWAY_CHECK(!values.empty(), "a fit of nothing");
  SPILLWAY_CHECK(values.size() <= 240, "the step search is cubic: bin the series first");
  return Search{values, options}.best();
}

}  // namespace spillway::analysis
