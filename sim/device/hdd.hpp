#pragma once
/// A rotating disk: one arm, one platter, a command queue, a read-ahead buffer and a volatile write cache.
///
/// What carries the behaviour: a sequential stream goes on without a revolution lost as long as the next command is
/// there in time; everything else pays seek and the wait for its sector, which is computed from the angle of the platter;
/// of what is queued (and of what is dirty in the cache) the one with the shortest access goes first; a flush empties
/// the cache and lets nothing else start meanwhile.

#include <memory>
#include <string_view>

#include "sim/device/device_spec.hpp"

namespace spillway::sim::device {

/// `params` must be valid (make_device checks). The disk's phase, speed and draws come from the stream (seed, name).
std::unique_ptr<Device> make_hdd(const HddParams& params, std::uint64_t seed, std::string_view name);

}  // namespace spillway::sim::device
