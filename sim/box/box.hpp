#pragma once
/// The simulated box, assembled: cores, dirty memory, one flusher, the file system and its device, and the programs that
/// write. One call runs one repeat; a process may make any number of calls, from any threads, at once.

#include "sim/box/inputs.hpp"
#include "sim/box/outputs.hpp"
#include "sim/result.hpp"

namespace spillway::sim {

/// Runs the whole replay. Deterministic: equal inputs give equal outputs. Errors: inputs out of range (bad_input), or a
/// run that stopped making progress (internal, with every part's state in the message).
[[nodiscard]] Result<BoxOutputs> simulate(const BoxInputs& inputs);

}  // namespace spillway::sim
