#pragma once
/// Drives a device model as a host with a fixed number of outstanding requests would, and measures.

#include <catch2/catch.hpp>

#include <functional>
#include <vector>

#include "sim/check.hpp"
#include "sim/device/device_spec.hpp"
#include "sim/random.hpp"

namespace spillway::sim::device {

inline std::unique_ptr<Device> made(const DeviceSpec& spec, std::uint64_t seed = 1) {
  auto device = make_device(spec, seed);
  if (!device) FAIL(device.error().what);
  return std::move(*device);
}

struct Driven {
  std::int64_t requests = 0;
  Bytes bytes{0};
  Duration elapsed{0};
  Duration latency_sum{0};
  std::int64_t events = 0;
  [[nodiscard]] double iops() const { return static_cast<double>(requests) / to_seconds(elapsed); }
  [[nodiscard]] double mb_per_s() const { return to_mb(bytes) / to_seconds(elapsed); }
  [[nodiscard]] double latency_ms() const { return to_seconds(latency_sum) * 1e3 / static_cast<double>(requests); }
};

/// Makes the request with this index; the driver sets the id.
using Generator = std::function<Request(std::int64_t)>;

/// Keeps `depth` requests outstanding until `count` are done. Time starts at `start`; statistics leave out the first
/// `warm_up` completions.
inline Driven drive(Device& device, int depth, std::int64_t count, const Generator& generator,
                    SimTime start = SimTime{}, std::int64_t warm_up = 0) {
  Driven out;
  std::vector<Completion> done;
  SimTime now = start, measured_from = start;
  std::int64_t next = 0, completed = 0;
  std::vector<Bytes> length_of(static_cast<std::size_t>(count));
  const auto submit = [&] {
    Request r = generator(next);
    r.id = static_cast<std::uint64_t>(next);
    length_of[static_cast<std::size_t>(next)] = to_bytes(r.length);
    ++next;
    device.submit(now, r);
  };
  while (next < count && next < depth) submit();
  while (completed < count) {
    const auto event = device.next_event();
    SPILLWAY_CHECK(event.has_value(), "the device has requests and no event");
    SPILLWAY_CHECK(*event >= now, "an event lies in the past");
    now = *event;
    ++out.events;
    done.clear();
    device.advance(now, done);
    for (const Completion& c : done) {
      if (++completed == warm_up) measured_from = now;
      if (completed > warm_up) {
        ++out.requests;
        out.bytes += length_of[c.id];
        out.latency_sum += c.at - c.submitted;
      }
      if (next < count) submit();
    }
  }
  out.elapsed = now - measured_from;
  return out;
}

inline Request sectors(std::int64_t start, Bytes length, bool write) {
  return Request{.start = Sectors{start}, .length = Sectors{length.value() / 512}, .write = write};
}

/// Requests one behind the other from `first` on, wrapping before the end.
inline Generator sequential(Bytes size, bool write, Bytes first = Bytes{0}) {
  return [=](std::int64_t i) { return sectors((first.value() + i * size.value()) / 512, size, write); };
}

/// Uniform over the first `span` bytes, aligned to the request size.
inline Generator uniform(Bytes size, bool write, Bytes span, std::uint64_t seed = 9) {
  auto random = std::make_shared<Random>(seed, "addresses");
  const auto places = static_cast<std::uint64_t>(span / size);
  return [=](std::int64_t) {
    return sectors(static_cast<std::int64_t>(random->below(places)) * size.value() / 512, size, write);
  };
}

}  // namespace spillway::sim::device
