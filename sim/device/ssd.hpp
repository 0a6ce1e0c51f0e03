#pragma once
/// A solid-state disk: commands go one after another through a pipe of so many bytes per second and then take a fixed
/// latency that does not occupy it. So one command at a time is bound by latency, many by bandwidth or by the command
/// limit. Writes that go on from no earlier one carry write amplification (steady state), and a fast cache in front of
/// the flash may run full (the cliff of consumer drives). Reads and writes share the pipe, as they share the flash.
/// Not modelled: garbage-collection pauses one by one, tail latency, thermal limits, trim.

#include <memory>
#include <string_view>

#include "sim/device/device_spec.hpp"

namespace spillway::sim::device {

std::unique_ptr<Device> make_ssd(const SsdParams& params);

}  // namespace spillway::sim::device
