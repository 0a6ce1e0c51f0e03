#include "cli/version.hpp"

namespace spillway::cli {

std::string version() { return SPILLWAY_VERSION " (" SPILLWAY_BUILD_TYPE ")"; }

}  // namespace spillway::cli
