#pragma once
/// A limit on bytes and requests per second with a burst, in front of a device or of nothing (an ideal disk of one rate).
///
/// Reads and writes have a budget each. A request waits until the budget of its bytes and that of its count allow it, in
/// order of arrival per direction; after idleness `burst` may go at once. Without a device below, a request is complete
/// when its last byte is allowed.

#include <memory>

#include "sim/device/device_spec.hpp"

namespace spillway::sim::device {

/// `below` may be null.
std::unique_ptr<Device> make_limit(const LimitParams& params, std::unique_ptr<Device> below);

}  // namespace spillway::sim::device
