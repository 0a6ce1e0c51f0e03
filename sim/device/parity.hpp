#pragma once
/// RAID 5 and 6: rotating parity, full rows against partial ones, and the stripe cache between.
///
/// A write is cut into whole chunk rows, which go out with fresh parity and no read, and partial rows at its ends. A
/// partial row waits for the rest of itself: until its submitter unplugs (at once when somebody waits for it,
/// `partial_row_delay` otherwise) and until no earlier batch of partial rows is still reading; then it is read and
/// written as parity_plan.hpp says. The stripe cache bounds what is under way and remembers what passed through, so the
/// second half of a row written a moment later needs no read. A write-intent bitmap makes the first write to a region wait
/// for a forced write on every member.
///
/// Not modelled: rebuild, degraded mode, journal; rows of one chunk row are handled together.

#include <memory>
#include <vector>

#include "sim/device/device_spec.hpp"

namespace spillway::sim::device {

std::unique_ptr<Device> make_parity(const RaidParams& params, std::vector<std::unique_ptr<Device>> members);

}  // namespace spillway::sim::device
