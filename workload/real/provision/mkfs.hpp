#pragma once
/// From [filesystem] to mkfs.xfs arguments and mount options. Pure: nothing is run here.

#include <string>
#include <vector>

#include "sim/result.hpp"
#include "workload/experiment/experiment.hpp"

namespace spillway::real {

/// mkfs.xfs refuses less (xfsprogs 5.19 and later).
inline constexpr Bytes kSmallestXfs{300 * kMiB};

/// Size of the image: [filesystem] size, else 1.6 times the data (journal, metadata, allocation groups that fill
/// unevenly), at least 1 GiB; a multiple of 1 MiB. Refused below kSmallestXfs.
Result<Bytes> image_size(const FilesystemSpec& spec, Bytes data);
/// "mkfs.xfs -f -q -K ..." for this device (no discard: a new image has nothing to discard); `log_device` is empty for an internal log.
std::vector<std::string> mkfs_command(const FilesystemSpec& spec, const std::string& device, const std::string& log_device);
/// For mount -o.
std::string mount_options(const FilesystemSpec& spec, const std::string& log_device);

}  // namespace spillway::real
