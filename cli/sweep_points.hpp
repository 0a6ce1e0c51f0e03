#pragma once
/// Records of a sweep as the points of a figure: a metric against one swept key, or two.

#include "plots/sweep.hpp"
#include "sim/result.hpp"
#include "workload/record/record.hpp"

#include <string>
#include <vector>

namespace spillway::cli {

struct SweepFigures {
  std::vector<plots::Figure> figures;  ///< curves, and with a second key a heat map
};

/// Of repeats of a case the mean, with least and greatest. `by` may be empty. A key that was not swept: `bad_input` with
/// those that were; so is a third key that varies, since a mean over it would mean nothing.
Result<SweepFigures> sweep_figures(const std::vector<Record>& records, const std::string& metric, const std::string& against, const std::string& by);

/// Leaves only records whose swept keys have these values ("device.rate=40MB/s"). None left: `bad_input`.
Status keep_where(std::vector<Record>& records, const std::vector<std::string>& wanted);

}  // namespace spillway::cli
