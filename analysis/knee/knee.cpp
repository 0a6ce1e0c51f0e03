#include "analysis/knee/knee.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/statistics/summary.hpp"
#include "sim/random.hpp"

namespace spillway::analysis {
namespace {

/// The series to fit and the standard error of each of its values (logarithms).
struct Noisy {
  std::vector<double> values;
  std::vector<double> errors;  ///< empty: not known, take the residuals of the fit
};

std::optional<Noisy> mean_series(std::span<const std::vector<double>> repeats) {
  if (repeats.empty()) return std::nullopt;
  std::vector<std::vector<double>> logs;
  for (const auto& repeat : repeats) {
    if (repeat.size() != repeats.front().size()) continue;
    const auto one = logarithms(repeat);
    if (!one) return std::nullopt;
    logs.push_back(*one);
  }
  Noisy noisy{.values = logs.front(), .errors = {}};
  if (logs.size() == 1) return noisy;
  for (std::size_t i = 0; i < noisy.values.size(); ++i) {
    std::vector<double> column;
    for (const auto& one : logs) column.push_back(one[i]);
    noisy.values[i] = mean_of(column);
    noisy.errors.push_back(std::sqrt(variance_of(column) / static_cast<double>(column.size())));
  }
  return noisy;
}

std::optional<KneeFinding> find_in(const Noisy& noisy, const KneeOptions& options) {
  if (noisy.values.size() < kKneeLeast) return std::nullopt;
  const StepFit fit = fit_falling_steps(noisy.values, options.steps);
  if (fit.steps.size() < 2) return std::nullopt;

  KneeFinding finding;
  for (std::size_t k = 1; k < fit.steps.size(); ++k) {
    finding.knees.push_back({fit.steps[k].first, std::exp(fit.steps[k - 1].level - fit.steps[k].level)});
  }
  finding.before = std::exp(fit.steps.front().level);
  finding.after = std::exp(fit.steps.back().level);

  sim::Random random{options.seed, "knee"};
  std::vector<double> places;
  std::vector<double> draw(noisy.values.size());
  for (std::size_t round = 0; round < options.resamples; ++round) {
    for (std::size_t i = 0; i < draw.size(); ++i) {
      const double error =
          noisy.errors.empty() ? fit.residual_sd : std::max(options.steps.noise_floor, noisy.errors[i]);
      draw[i] = noisy.values[i] + error * random.normal(0, 1);
    }
    const StepFit again = fit_falling_steps(draw, options.steps);
    if (again.steps.size() > 1) places.push_back(static_cast<double>(again.steps[1].first));
  }
  const auto here = static_cast<double>(finding.first().at);
  finding.interval = {here, here, options.level};
  if (!places.empty()) {
    // Whole places: outward to the next one, and never without the place that was found.
    finding.interval.low = std::min(here, std::floor(quantile_of(places, 0.5 - options.level / 2)));
    finding.interval.high = std::max(here, std::ceil(quantile_of(places, 0.5 + options.level / 2)));
  }
  finding.found_share =
      options.resamples == 0 ? 1.0 : static_cast<double>(places.size()) / static_cast<double>(options.resamples);
  return finding;
}

}  // namespace

std::optional<KneeFinding> find_knee(std::span<const double> series, const KneeOptions& options) {
  const auto logs = logarithms(series);
  if (!logs) return std::nullopt;
  return find_in(Noisy{.values = *logs, .errors = {}}, options);
}

std::optional<KneeFinding> find_knee(std::span<const std::vector<double>> repeats, const KneeOptions& options) {
  const auto noisy = mean_series(repeats);
  if (!noisy) return std::nullopt;
  return find_in(*noisy, options);
}

}  // namespace spillway::analysis
