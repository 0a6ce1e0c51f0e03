#pragma once
/// A controller's battery-backed write cache in front of any device.
///
/// A write is complete as soon as it is in the cache. The controller destages in ascending order of address, several at
/// once, cutting at whole rows of the array below, so that what arrived in pieces goes out as full rows where it can;
/// below a fill level it waits for more to coalesce unless the host is idle. When the cache is full the host sees the
/// destage rate. Flush and FUA are free.

#include <memory>

#include "sim/device/device_spec.hpp"

namespace spillway::sim::device {

std::unique_ptr<Device> make_write_cache(const WriteCacheParams& params, std::unique_ptr<Device> below);

}  // namespace spillway::sim::device
