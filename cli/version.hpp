#pragma once
/// Which program this is: "0.1.0 (release)".

#include <string>

namespace spillway::cli {
std::string version();
}  // namespace spillway::cli
