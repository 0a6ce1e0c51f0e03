#pragma once
/// `[device]` of an experiment as a device model of sim/device/: one translation for every box that has the model under
/// it (simulated, modeled disk, kernel in virtual time), so that they mean the same disk.

#include "sim/device/device_spec.hpp"
#include "sim/result.hpp"
#include "workload/experiment/experiment.hpp"

#include <string>

namespace spillway {

/// For model = "limit" with an array's or disk's cache in front or not; `size` is what a limit that stands alone holds.
/// Rates given replace the model's own; zero leaves them. Errors: a limit without a rate.
Result<sim::device::DeviceSpec> device_spec_of(const DeviceSpecText& text, Bytes size);

/// One line for a record: "raid6 of 12 x hdd, chunk 65536, controller cache 512 MiB".
std::string device_sentence(const DeviceSpecText& text);

}  // namespace spillway
