#pragma once
/// Settings of the kernel, changed for a run: the six vm.dirty_* and any file that [knobs] names. Each is journalled,
/// set and read back; a value that the kernel silently changes is an error.

#include <string>
#include <utility>
#include <vector>

#include "sim/result.hpp"
#include "workload/experiment/experiment.hpp"
#include "workload/real/journal/journal.hpp"

namespace spillway::real {

/// One setting as it is to be.
struct Setting {
  std::string path, value;
  std::string other_form;  ///< the file that writing `path` zeroes (dirty_ratio for dirty_bytes); empty: none
};

/// What [memory] asks of vm.dirty_*. Unset members change nothing.
std::vector<Setting> memory_settings(const MemorySpec& memory);
/// [knobs], with {dev} replaced by the block device's name and {bdi} by its MAJ:MIN. A name without a slash is a sysctl.
std::vector<Setting> knob_settings(const std::vector<std::pair<std::string, std::string>>& knobs, const std::string& device_name,
                                   const std::string& device_number);
/// "vm.dirty_expire_centisecs" for a file below /proc/sys, else the path: what a person calls it.
std::string setting_name(const std::string& path);

/// Journals the old value (and which form was in force), writes the new one and reads it back.
Status apply(Journal& journal, const Setting& setting);

}  // namespace spillway::real
