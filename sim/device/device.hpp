#pragma once
/// What a model of a block device is: a pure state machine on explicit time.
///
/// Nobody tells it to sleep and it knows no clock. Whoever drives it (the discrete-event box, or the daemon that serves
/// a modeled disk in real time) submits requests with the present time, asks when something will happen next, and
/// advances it to that time or any later one. Everything that falls before that time is then worked off in order, so a
/// driver that is late (real time) gets completions that carry the moment at which they were due.
///
///   device->submit(now, request);
///   while (auto t = device->next_event()) { device->advance(*t, done); ... }
///
/// Rules for the driver: time never goes back; before submit(now) it has advanced past every event earlier than `now`;
/// ids in flight are distinct; a request lies inside capacity(). Breaking one is a program error (SPILLWAY_CHECK).
/// A model accepts any number of requests; queue_depth() says how many a host would have outstanding, and more than
/// that wait inside in order of arrival. Cost is per request and per run on a member disk, never per page.

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/device/counters.hpp"
#include "sim/units.hpp"

namespace spillway::sim::device {

/// Why a member disk gets a request; the host's own are `host`.
enum class Reason : std::uint8_t {
  host,        ///< asked for by the host (or its mirror copy or full-stripe parity)
  rmw_read,    ///< a read that only a partial write of a parity row, or of a block, made necessary
  rmw_write,   ///< the write that follows such a read: data and parity of a partial row
};

struct Request {
  std::uint64_t id = 0;      ///< the driver's own number; comes back in the Completion
  Sectors start{0};          ///< first 512-byte sector
  Sectors length{0};         ///< 0 only together with `flush`: a cache flush without data
  bool write = false;        ///< else a read
  bool flush = false;        ///< preflush: everything completed earlier is on stable storage before this one starts
  bool fua = false;          ///< complete only when this data is on stable storage
  bool sync = false;         ///< somebody waits (fsync, direct I/O, log); a hint
  bool meta = false;         ///< file-system metadata or log; counted apart, served alike
  bool background = false;   ///< the flusher's own work; a hint
  Reason reason = Reason::host;  ///< set by composite devices for their members
  Sectors redundant{0};      ///< of `length`, how much is parity or a further copy; set by composite devices

  [[nodiscard]] Sectors end() const { return start + length; }
};

struct Completion {
  std::uint64_t id = 0;
  SimTime submitted{};
  SimTime at{};  ///< when it was done; not later than the time advanced to, and not before `submitted`
};

class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  virtual void submit(SimTime now, const Request& request) = 0;
  /// When the state changes next by itself, or nothing if only a new request can change it.
  [[nodiscard]] virtual std::optional<SimTime> next_event() const = 0;
  /// Work off everything up to and including `now`; appends completions in order of time.
  virtual void advance(SimTime now, std::vector<Completion>& done) = 0;

  /// Totals since the start at time 0; `now` is the time until which idleness is counted.
  [[nodiscard]] virtual Counters counters(SimTime now) const = 0;
  /// Requests submitted and not yet completed.
  [[nodiscard]] virtual std::int64_t in_flight() const = 0;

  /// Requests that a host keeps outstanding at most (NCQ 32, NVMe 1024, ...).
  [[nodiscard]] virtual int queue_depth() const = 0;
  [[nodiscard]] virtual Sectors capacity() const = 0;
  [[nodiscard]] virtual Bytes logical_block() const { return Bytes{512}; }
  /// Smallest write without a read-modify-write inside the device.
  [[nodiscard]] virtual Bytes physical_block() const { return Bytes{4096}; }
  /// Preferred unit and full width, as /sys/block/X/queue/minimum_io_size and optimal_io_size; 0 when there is none.
  [[nodiscard]] virtual Bytes stripe_unit() const { return Bytes{0}; }
  [[nodiscard]] virtual Bytes stripe_width() const { return Bytes{0}; }
  /// Does it report a volatile write cache (so that the host must send flushes)?
  [[nodiscard]] virtual bool volatile_cache() const { return false; }
  [[nodiscard]] virtual bool rotational() const { return false; }
  /// What one endless sequential write gets at the start of the device: the yardstick of `efficiency`.
  [[nodiscard]] virtual BytesPerSec sequential_write_rate() const = 0;
};

}  // namespace spillway::sim::device
