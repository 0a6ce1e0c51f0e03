#pragma once
/// A request on its way through the block layer: one or several bios (or parts of them) that lie one behind the other.

#include <cstdint>
#include <vector>

#include "sim/device/device.hpp"

namespace spillway::sim::block {

struct QueuedRequest {
  device::Request request;            ///< start, length and flags of the whole; `id` is the block layer's business
  std::vector<std::uint64_t> bios;    ///< ids of the bios that (partly) ride in it; a split bio rides in several
};

/// May the two become one request? Same direction and kind, one behind the other, no flush or FUA, not above the limit.
inline bool mergeable(const device::Request& first, const device::Request& second, Sectors max_sectors) {
  return first.end() == second.start && first.write == second.write && first.meta == second.meta &&
         first.sync == second.sync && first.background == second.background && !first.flush && !second.flush &&
         !first.fua && !second.fua && first.length + second.length <= max_sectors;
}

}  // namespace spillway::sim::block
