#pragma once
/// Settings that the simulated box takes and does nothing with. They are noted in the record, so that nobody reads "no effect" into
/// a comparison that could not have shown one (analysis/verdict/validity).

#include <string>
#include <vector>

#include "workload/experiment/experiment.hpp"

namespace spillway::simulated {

/// Mount options as written ("logbsize=256k"), keys of [filesystem] that are set and differ from what is modelled.
std::vector<std::string> unmodelled(const Experiment& experiment);

}  // namespace spillway::simulated
