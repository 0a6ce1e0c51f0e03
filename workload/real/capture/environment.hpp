#pragma once
/// What a list would ask about the box: kernel, CPUs, memory, vm.*, the device and its queue, file system geometry,
/// mounts. Reads only, changes nothing; works for an ordinary user as far as the kernel allows, and says what could not
/// be read under "not_readable".

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace spillway::real {

/// The kernel's tick rate, from the resolution of CLOCK_MONOTONIC_COARSE, which is one tick.
std::optional<int> kernel_hz();
/// "6.18.44": the release without the distributor's suffix.
std::string kernel_version();
std::int64_t memory_bytes();
int cpu_count();
int numa_nodes();

/// `device_name` ("loop65") and `mount_point` may be empty.
nlohmann::ordered_json capture_environment(const std::string& device_name, const std::string& mount_point);

}  // namespace spillway::real
