#pragma once
/// Burning a stated amount of CPU time in the calling thread. Measured with the thread's own CPU clock, so that being
/// pushed off the core does not count.

#include "sim/units.hpp"

namespace spillway::real {

/// CPU time of the calling thread, nanoseconds.
std::int64_t thread_cpu_ns();

/// Returns once the thread has used `amount` more CPU time; a microsecond or so too late, for the clock is a system call.
void burn(Duration amount);

}  // namespace spillway::real
