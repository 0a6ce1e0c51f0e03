#pragma once
/// The two lines above every figure: what it shows, and on which box, kernel and device.

#include "workload/record/record.hpp"

#include <string>

namespace spillway::plots {

/// "Measured on the real box, Linux 6.18.44, loop: 40 MB/s" or "Predicted by the simulated box, ...". The case's swept
/// keys follow; `repeats` above 1 is said.
std::string subtitle_of(const Record& record, std::size_t repeats = 1);

}  // namespace spillway::plots
