#pragma once
/// The box that runs a real kernel as an ordinary process in virtual time (User-Mode Linux, time-travel): no root, no
/// noise, the same bytes every time, about ten times faster than the time it shows. Any kernel tree will do; see
/// kernel_store.hpp.
///
/// One processor, whose time does not count: see clock.hpp for what is charged instead. The disk is a loop device on the
/// guest's memory, limited by blk-throttle.

#include "workload/box.hpp"

#include <memory>
#include <string>

namespace spillway::kernel {

/// `name` is what stands behind "kernel:"; empty is the default kernel.
[[nodiscard]] std::unique_ptr<Box> make_kernel_box(const std::string& name);

}  // namespace spillway::kernel
