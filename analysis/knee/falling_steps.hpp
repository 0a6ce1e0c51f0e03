#pragma once
/// The best fit of a few falling steps to a series on a logarithmic scale: the declared shape of a collapse. Throughput
/// is level, drops to a lower level, perhaps drops again; it never rises. Each further step has a price, so that noise
/// does not buy one. All placements of up to three drops are tried: no starting guess, no local optimum.

#include <cstddef>
#include <span>
#include <vector>

namespace spillway::analysis {

struct StepOptions {
  /// Standard deviation of the logarithm below which differences mean nothing: a series without any noise is not
  /// evidence of infinitely sharp steps. measured: CV of steady untars 0.3 to 4 %, of untars at full CPU 6 to 8 %
  /// (five repeats of the baseline on a real kernel); 3 % lies between.
  double noise_floor = 0.03;
  /// A drop of less than this factor is not one. assumed: 1.3, what a person would call a collapse begins there.
  double least_ratio = 1.3;
  /// 1 to 4.
  int most_segments = 4;
  /// Price of a step. The criterion is n ln(residual variance) + price x (1 + 3 / n) x ln(n) x (segments - 1); the second
  /// factor because a step costs a place and a level, which is much of what five values have to give. measured: with 4,
  /// series of 5 to 60 values without a knee and with 3 to 30 % noise show a false one at most 5 times of 100
  /// (knee_test). The textbook's 2 ln(n) (Schwarz's criterion) is far too cheap here.
  double price = 4.0;
};

struct Step {
  std::size_t first = 0;  ///< index of the first value of the segment
  double level = 0;       ///< mean of the values in it
};

struct StepFit {
  std::vector<Step> steps;  ///< at least one
  double residual_sd = 0;   ///< of the values about their levels, never below the noise floor
};

/// `values` are logarithms. Must not be empty; at most 240 values (the search is cubic: bin longer series first).
StepFit fit_falling_steps(std::span<const double> values, const StepOptions& options = {});

}  // namespace spillway::analysis
