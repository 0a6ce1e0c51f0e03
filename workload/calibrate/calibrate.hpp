#pragma once
/// Measures this box: CPU costs of the paths that the simulated box charges, memory bandwidth, the target's device. On a
/// loop target of its own without a limit, through the real box's journal: everything is put back.

#include "workload/calibrate/measurements.hpp"
#include "sim/result.hpp"

#include <functional>

namespace spillway::calibrate {

/// Where the target's image lies: target.path of an experiment; empty: the state folder. `tell` gets one short line for
/// each step. Needs root (77 without). Takes about half a minute.
Result<Measurements> measure_this_box(const std::string& image_folder, const std::function<void(const std::string&)>& tell);

}  // namespace spillway::calibrate
