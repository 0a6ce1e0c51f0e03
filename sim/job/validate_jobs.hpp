#pragma once
/// What a set of jobs must fulfil, once, at the door.

#include "sim/box/inputs.hpp"
#include "sim/result.hpp"

namespace spillway::sim {

/// Sizes, times, order, and whether the box has the memory: bad_input with one sentence otherwise.
[[nodiscard]] Status validate_jobs(const BoxInputs& inputs);

}  // namespace spillway::sim
