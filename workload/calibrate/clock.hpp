#pragma once
/// The clocks of the measurements.

#include <sys/resource.h>
#include <time.h>

#include <cstdint>

namespace spillway::calibrate {

inline std::int64_t clock_ns(clockid_t clock) {
  timespec t{};
  ::clock_gettime(clock, &t);
  return t.tv_sec * 1'000'000'000 + t.tv_nsec;
}
/// CPU time of this thread, user and system.
inline std::int64_t cpu_ns() { return clock_ns(CLOCK_THREAD_CPUTIME_ID); }
inline std::int64_t wall_ns() { return clock_ns(CLOCK_MONOTONIC); }

}  // namespace spillway::calibrate
