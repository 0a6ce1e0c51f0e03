#pragma once
/// The kernel's command line as a list may read it: only words that bear on memory, CPUs, scheduling or block devices. What
/// else stands there (root device, serial numbers, addresses, keys for a provisioning service) is nobody's business, and is counted.

#include <string>
#include <string_view>

namespace spillway::analysis {

/// "mitigations=off nr_cpus=4 (9 other words left out)".
std::string public_command_line(std::string_view command_line);

}  // namespace spillway::analysis
