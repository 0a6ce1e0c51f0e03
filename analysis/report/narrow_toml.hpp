#pragma once
/// An experiment file put into 72 columns without changing what it says, so that it can stand in a mail and be cut out and
/// run: long comments are wrapped, long strings become multi-line strings with line-ending backslashes, long arrays get a
/// line per element where needed, long inline tables become dotted keys.

#include <cstddef>
#include <string>
#include <string_view>

#include "sim/result.hpp"

namespace spillway::analysis {

/// The error names the line that cannot be made narrow (a long key, say).
Result<std::string> narrow_toml(std::string_view source, std::size_t width = 72);

}  // namespace spillway::analysis
