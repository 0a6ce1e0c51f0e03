#include <fmt/format.h>

#include <algorithm>

#include "sim/device/device_spec.hpp"
#include "sim/device/hdd.hpp"
#include "sim/device/limit.hpp"
#include "sim/device/parity.hpp"
#include "sim/device/ssd.hpp"
#include "sim/device/striped.hpp"
#include "sim/device/write_cache.hpp"

namespace spillway::sim::device {

namespace {

using Made = Result<std::unique_ptr<Device>>;

std::unexpected<Error> wrong(const DeviceSpec& spec, std::string_view problem) {
  return fail(ErrorKind::bad_input, fmt::format("Device \"{}\": {}.", spec.name, problem));
}

bool whole_sectors(Bytes b) { return b.value() % kSectorSize.value() == 0; }

Status check(const DeviceSpec& spec, const HddParams& p) {
  if (p.capacity < Bytes{16 * kMiB} || !whole_sectors(p.capacity)) {
    return wrong(spec, "a disk's capacity must be at least 16 MiB, in whole 512-byte sectors");
  }
  if (!(p.revolutions_per_minute >= 1000 && p.revolutions_per_minute <= 60'000)) {
    return wrong(spec, "revolutions per minute must lie between 1000 and 60000");
  }
  if (p.inner_rate.value() < kMB || p.outer_rate < p.inner_rate || p.interface_rate.value() < kMB) {
    return wrong(spec, "rates must be at least 1 MB/s, and the outer not below the inner");
  }
  const Duration rev{static_cast<std::int64_t>(60e9 / p.revolutions_per_minute)};
  const auto ordered = [&](Duration track, Duration average, Duration full) {
    return track > Duration{0} && track <= average && average <= full && track < rev;
  };
  if (!ordered(p.read_seek_track, p.read_seek_average, p.read_seek_full) ||
      !ordered(p.write_seek_track, p.write_seek_average, p.write_seek_full)) {
    return wrong(spec, "seek times must be positive and rise from track to average to full stroke");
  }
  if (p.queue_depth < 1 || p.zones < 1 || p.write_cache_runs < 1) {
    return wrong(spec, "queue depth, zones and write-cache runs must be at least 1");
  }
  if (p.write_cache < Bytes{0} || p.read_ahead < Bytes{0} || p.destage_unit < Bytes{4096} ||
      p.command_overhead < Duration{0} || !(p.spindle_tolerance >= 0 && p.spindle_tolerance < 0.1)) {
    return wrong(spec, "a size, time or tolerance is negative or out of range");
  }
  if (p.physical_block < kSectorSize || !whole_sectors(p.physical_block)) {
    return wrong(spec, "the physical block must be whole sectors");
  }
  return {};
}

Status check(const DeviceSpec& spec, const SsdParams& p) {
  if (p.capacity < Bytes{kMiB} || !whole_sectors(p.capacity)) {
    return wrong(spec, "an SSD's capacity must be at least 1 MiB, in whole 512-byte sectors");
  }
  if (p.read_rate.value() <= 0 || p.write_rate.value() <= 0) return wrong(spec, "rates must be positive");
  if (p.read_latency < Duration{0} || p.write_latency < Duration{0} || p.flush_latency < Duration{0} ||
      p.read_iops < 0 || p.write_iops < 0) {
    return wrong(spec, "latencies and command limits must not be negative");
  }
  if (p.queue_depth < 1 || p.write_streams < 1) return wrong(spec, "queue depth and streams must be at least 1");
  if (!(p.random_write_amplification >= 1)) return wrong(spec, "write amplification is at least 1");
  if (p.indirection_unit < kSectorSize || !whole_sectors(p.indirection_unit)) {
    return wrong(spec, "the indirection unit must be whole sectors");
  }
  if (p.fast_cache.value() < 0 ||
      (p.fast_cache.value() > 0 && (p.fast_write_rate.value() <= 0 || p.fast_drain_rate.value() < 0))) {
    return wrong(spec, "a fast cache needs a positive write rate and a drain rate");
  }
  return {};
}

Status check(const DeviceSpec& spec, const LimitParams& p) {
  if (p.rate.value() <= 0 || p.iops < 0 || p.burst.value() < 0 || p.queue_depth < 1 || p.capacity < Bytes{kMiB}) {
    return wrong(spec, "a limit needs a positive rate, and no negative figure");
  }
  return {};
}

Status check(const DeviceSpec& spec, const RaidParams& p, std::size_t disks) {
  if (p.level != RaidLevel::linear && (p.chunk < Bytes{4096} || p.chunk.value() % 4096 != 0)) {
    return wrong(spec, "the chunk must be whole 4096-byte blocks");
  }
  const auto at_least = [&](std::size_t n) -> Status {
    if (disks >= n) return {};
    return wrong(spec, fmt::format("this RAID level needs at least {} disks, and there are {}", n, disks));
  };
  switch (p.level) {
    case RaidLevel::linear:
    case RaidLevel::raid0: SPILLWAY_TRY(at_least(1)); break;
    case RaidLevel::raid10:
      if (p.copies < 2) return wrong(spec, "RAID 10 needs at least 2 copies");
      SPILLWAY_TRY(at_least(static_cast<std::size_t>(p.copies)));
      break;
    case RaidLevel::raid5: SPILLWAY_TRY(at_least(3)); break;
    case RaidLevel::raid6: SPILLWAY_TRY(at_least(4)); break;
  }
  if (p.stripe_cache_rows < 1 || p.row_threads < 1 || p.row_cpu < Duration{0} || p.partial_row_delay < Duration{0} ||
      p.bitmap_chunk < Bytes{0} || !whole_sectors(p.bitmap_chunk)) {
    return wrong(spec, "a stripe-cache, thread or bitmap figure is out of range");
  }
  return {};
}

Status check(const DeviceSpec& spec, const WriteCacheParams& p) {
  if (p.size < Bytes{kMiB} || p.interface_rate.value() <= 0 || p.destage_depth < 1 || p.destage_unit < Bytes{4096} ||
      p.queue_depth < 1 || p.ack_latency < Duration{0} || p.idle_destage < Duration{0} ||
      !(p.destage_above >= 0 && p.destage_above < 1)) {
    return wrong(spec, "a write-cache figure is out of range (size from 1 MiB, fill level in [0, 1))");
  }
  return {};
}

/// `path` names the disk within the tree, so that every disk has random numbers of its own.
Made make(const DeviceSpec& spec, std::uint64_t seed, const std::string& path) {
  std::vector<std::unique_ptr<Device>> below;
  const std::size_t count = spec.disks > 0 ? static_cast<std::size_t>(spec.disks) : spec.members.size();
  if (spec.disks > 0 && spec.members.size() != 1) {
    return wrong(spec, "a number of disks goes with exactly one member, of which they are copies");
  }
  for (std::size_t i = 0; i < count; ++i) {
    auto member = make(spec.members[spec.disks > 0 ? 0 : i], seed, fmt::format("{}.{}", path, i));
    if (!member) return member;
    below.push_back(std::move(*member));
  }
  switch (spec.model) {
    case Model::hdd:
      if (!below.empty()) return wrong(spec, "a disk has no members");
      SPILLWAY_TRY(check(spec, spec.hdd));
      return make_hdd(spec.hdd, seed, path);
    case Model::ssd:
      if (!below.empty()) return wrong(spec, "an SSD has no members");
      SPILLWAY_TRY(check(spec, spec.ssd));
      return make_ssd(spec.ssd);
    case Model::limit:
      if (below.size() > 1) return wrong(spec, "a limit has one member or none");
      SPILLWAY_TRY(check(spec, spec.limit));
      return make_limit(spec.limit, below.empty() ? nullptr : std::move(below.front()));
    case Model::write_cache:
      if (below.size() != 1) return wrong(spec, "a write cache has exactly one member");
      SPILLWAY_TRY(check(spec, spec.cache));
      return make_write_cache(spec.cache, std::move(below.front()));
    case Model::raid: break;
  }
  SPILLWAY_TRY(check(spec, spec.raid, below.size()));
  const bool parity = spec.raid.level == RaidLevel::raid5 || spec.raid.level == RaidLevel::raid6;
  std::unique_ptr<Device> device =
      parity ? make_parity(spec.raid, std::move(below)) : make_striped(spec.raid, std::move(below));
  if (device->capacity().value() <= 0) return wrong(spec, "the members are smaller than one chunk");
  return device;
}

}  // namespace

Result<std::unique_ptr<Device>> make_device(const DeviceSpec& spec, std::uint64_t seed) {
  return make(spec, seed, "device");
}

}  // namespace spillway::sim::device
