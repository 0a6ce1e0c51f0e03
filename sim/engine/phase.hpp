#pragma once
/// The named order of things that happen in the same nanosecond. Completions come before those who wait for them, so a
/// task that asks "is it done?" at the instant of completion is told yes; the sampler comes last and sees the instant
/// whole.

#include <cstdint>

namespace spillway::sim {

enum class Phase : std::uint8_t {
  device_done,  ///< a device or the block layer finished a request
  log_done,     ///< the file system's log finished a write
  timer,        ///< timer wheel: delayed work, completion period
  flusher,      ///< kernel workers: flusher, completion, log push
  task,         ///< everything that runs on behalf of a program
  sample,       ///< the 10 Hz sampler: sees the instant after everything else
};

}  // namespace spillway::sim
