#pragma once
/// What `advise` may change: settings that a user has in hand on a box as it is. Not the box, not the device, not the archive, nor how
/// many untars there are: those are the question, not the answer.

#include "analysis/advice/prediction.hpp"
#include "workload/experiment/experiment.hpp"
#include "workload/record/record.hpp"

#include <string>
#include <vector>

namespace spillway::cli {

using analysis::Settings;

/// Pairs of dirty limit and background threshold, in bytes. Limits: a quarter to four times the data that the untars write, and 5 s of
/// what the device wrote, at most 60 % of memory; thresholds: 2, 10, 25 and 50 % of the limit. `base`: the run as it is.
std::vector<Settings> memory_candidates(const Experiment& experiment, const Record& base);

/// Everything else, one at a time: expiry and interval, the engine with O_DIRECT, writers and drop-behind, flushers, mount options.
/// What the box does not model it refuses or notes, and is left out then.
std::vector<Settings> other_candidates(const Experiment& experiment);

/// Inputs of a simulation that nobody knows exactly, each as a change of the experiment. `like`: the state before the run is known.
struct Unknown {
  std::string what;   ///< "a device 20 % slower"
  Settings settings;
};
std::vector<Unknown> unknown_inputs(const Experiment& experiment, const Record& base, bool like);

}  // namespace spillway::cli
