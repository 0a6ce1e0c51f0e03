#pragma once
/// What a device model counts, and where its time went.
///
/// Every disk's time from 0 to now is split without rest: data + metadata + redundancy + read_modify_write + alignment
/// + seek + rotation + flush + overhead + idle == now. So a run can say how much of the sequential rate it got and what
/// took the remainder (seeks, read-modify-write, alignment, metadata and log, idleness).

#include <cstdint>
#include <vector>

#include "sim/units.hpp"

namespace spillway::sim::device {

/// The time of one disk, or of several added up. Exclusive parts.
struct TimeSplit {
  Duration data{0};               ///< moving bytes that the host asked for
  Duration metadata{0};           ///< the whole service of metadata and log requests, seeks included
  Duration redundancy{0};         ///< moving full-stripe parity and mirror copies
  Duration read_modify_write{0};  ///< reads for partial rows, their parity, and the positioning of both
  Duration alignment{0};          ///< reading and writing again blocks that a request covered only in part
  Duration seek{0};               ///< arm movement of ordinary requests
  Duration rotation{0};           ///< waiting for the platter, ordinary requests
  Duration flush{0};              ///< emptying a cache because a flush or FUA asked for it (solid state only; a disk's
                                  ///< flush is seeks and transfers)
  Duration overhead{0};           ///< command processing and latency while no byte moves
  Duration idle{0};               ///< nothing to do

  [[nodiscard]] Duration total() const {
    return data + metadata + redundancy + read_modify_write + alignment + seek + rotation + flush + overhead + idle;
  }
  TimeSplit& operator+=(const TimeSplit& o) {
    data += o.data; metadata += o.metadata; redundancy += o.redundancy; read_modify_write += o.read_modify_write;
    alignment += o.alignment; seek += o.seek; rotation += o.rotation; flush += o.flush; overhead += o.overhead;
    idle += o.idle;
    return *this;
  }
};

/// One member disk. Bytes and I/Os are those that reached the medium's queue of that disk, RAID extras included.
struct DiskCounters {
  std::int64_t reads = 0, writes = 0, flushes = 0;
  Bytes read{0}, written{0};
  std::int64_t seeks = 0;           ///< arm movements over more than one track
  Duration seek_time{0};            ///< all arm movement, whatever it was for
  Duration rotation_time{0};        ///< all waiting for the platter
  std::int64_t rmw_reads = 0, rmw_writes = 0;
  Bytes rmw_read{0}, rmw_written{0};
  std::int64_t cache_hits = 0;      ///< reads served from the disk's own buffer
  Duration busy{0};                 ///< something in service
  TimeSplit split;
};

struct Counters {
  // What the host asked for and got (counted at completion).
  std::int64_t reads = 0, writes = 0, flushes = 0;
  Bytes read{0}, written{0};
  // Parity rows, counted per 4 KiB-high row and pass.
  std::int64_t full_rows = 0, rmw_rows = 0, reconstruct_rows = 0;
  std::int64_t bitmap_writes = 0;        ///< write-intent bitmap updates that were waited for
  std::int64_t cache_full_waits = 0;     ///< writes that had to wait for room in a write cache
  Bytes cache_dirty{0};                  ///< in write caches now, not yet on the medium
  Bytes absorbed{0};                     ///< written over while still in a write cache: never reached the medium
  std::vector<DiskCounters> disks;       ///< one per physical disk, in order

  [[nodiscard]] TimeSplit split() const {
    TimeSplit sum;
    for (const auto& disk : disks) sum += disk.split;
    return sum;
  }
};

/// Share of the sequential rate that the host's written and read bytes amount to over `elapsed`: 0.065 for the founding
/// mail. `elapsed` must be positive.
[[nodiscard]] inline double efficiency(const Counters& counters, Duration elapsed, BytesPerSec sequential_rate) {
  return static_cast<double>((counters.read + counters.written).value()) /
         (to_seconds(elapsed) * static_cast<double>(sequential_rate.value()));
}

}  // namespace spillway::sim::device
