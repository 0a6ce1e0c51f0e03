#pragma once
/// The profiles of workload/simulated/profiles/, put into the program by the build.

#include <array>
#include <span>
#include <string_view>

namespace spillway::simulated {

struct BuiltInProfile {
  std::string_view name;
  std::string_view text;
};
extern const std::span<const BuiltInProfile> kBuiltInProfiles;

}  // namespace spillway::simulated
