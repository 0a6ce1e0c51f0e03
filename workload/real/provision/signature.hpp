#pragma once
/// What a block device bears, so that nothing of value is formatted.

#include <optional>
#include <string>

#include "sim/result.hpp"

namespace spillway::real {

/// "an ext4 file system", "a gpt partition table": what libblkid sees; nullopt for a device without a signature.
Result<std::optional<std::string>> signature_of(const std::string& device);

/// Whether this device may be formatted: a block device, not in use, and without a signature unless `destroy` repeats
/// its name exactly. The error says which of them fails and what to do.
Status may_format(const std::string& device, const std::string& destroy);

}  // namespace spillway::real
