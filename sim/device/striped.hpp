#pragma once
/// Arrays without parity: disks one after another (linear), RAID 0 and dm-stripe, RAID 10 (near copies; two disks and two
/// copies are RAID 1). A request becomes one run per member. A read goes to the copy whose disk has least to do.

#include <memory>
#include <vector>

#include "sim/device/device_spec.hpp"

namespace spillway::sim::device {

std::unique_ptr<Device> make_striped(const RaidParams& params, std::vector<std::unique_ptr<Device>> members);

}  // namespace spillway::sim::device
