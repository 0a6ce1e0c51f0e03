#pragma once
/// The device as the file system and the flusher see it: give it a bio, perhaps wait until it is accepted, hear later that
/// it is done.

#include "sim/block/bio.hpp"
#include "sim/cpu/cpu_set.hpp"
#include "sim/engine/task.hpp"

namespace spillway::sim {

struct BlockCounters {
  std::int64_t writes = 0, reads = 0, flushes = 0;  ///< requests, at completion
  Bytes written{0}, read{0}, metadata_written{0};
  std::int64_t in_flight = 0;                       ///< inside the device proper, not parked in a throttle
  std::int64_t parked = 0;                          ///< bios waiting in a throttle
  Duration busy{};                                  ///< time the device proper was serving something
};

class BlockDevice {
 public:
  virtual ~BlockDevice() = default;
  /// Takes the bio at once, or not at all: false when the queue is full.
  virtual bool try_submit(Bio& bio) = 0;
  /// Takes the bio, after waiting for room if it must; the wait is charged to the thread's account (device).
  virtual Task<> submit(Thread& thread, Bio& bio) = 0;
  [[nodiscard]] virtual BlockCounters counters() const = 0;
  /// Must durability be asked for with flushes?
  [[nodiscard]] virtual bool volatile_cache() const = 0;
};

}  // namespace spillway::sim
