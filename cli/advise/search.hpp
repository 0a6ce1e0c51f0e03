#pragma once
/// The search: every candidate in the simulated box, then combinations of the best; for the best few the range over what is unknown.
///
/// It is a coarse grid and one round of combinations, not an optimiser: the model is not exact enough to follow a gradient, and an
/// answer that stands between two grid points would not be believed anyway.

#include "cli/advise/candidates.hpp"
#include "cli/boxes.hpp"
#include "workload/experiment/parse.hpp"

#include <optional>
#include <string>
#include <vector>

namespace spillway::cli {

struct SearchQuestion {
  std::string file;
  std::vector<std::string> set;        ///< --set of the user, below every candidate
  std::vector<std::string> aims;       ///< metrics; the first decides, the next break ties within 2 %
  std::size_t best = 3;
  BoxChoice box;
};

/// What one unknown input makes of an advice.
struct Variation {
  std::string what;
  double ratio = 1;                    ///< of the first aim, advised by base, both under this input
};

struct Advice {
  Settings settings;
  Record record;                       ///< predicted, with the settings
  double ratio = 1;                    ///< of the first aim, by the base
  double low = 1, high = 1;            ///< over the unknown inputs
  std::vector<Variation> variations;
};

struct SearchResult {
  ExperimentFile file;
  Record base;
  std::vector<Advice> advice;          ///< best first; empty: nothing helps
  std::size_t simulated = 0;
  std::vector<std::string> not_judged; ///< candidates that the box cannot run or does nothing with, and why: sentences
};

/// true: a smaller value of this metric is better. By the table of metrics.
bool smaller_is_better(const std::string& metric);

Result<SearchResult> search_settings(const SearchQuestion& question);

}  // namespace spillway::cli
