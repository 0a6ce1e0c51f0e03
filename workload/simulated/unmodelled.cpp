#include "workload/simulated/unmodelled.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace spillway::simulated {

namespace {

/// Mount options that change what the model does. What is not here has no effect: one that is forgotten is refused a verdict,
/// which is better than a wrong one.
constexpr std::array<std::string_view, 9> kModelled{"swalloc", "noalign", "sunit", "swidth", "allocsize", "logbsize", "logbufs", "inode32", "largeio"};

/// What kernels do anyway, or what says only where to mount: nobody compares these.
constexpr std::array<std::string_view, 8> kDefaults{"rw", "attr2", "noquota", "inode64", "defaults", "nodiscard", "loop", "relatime"};

}  // namespace

std::vector<std::string> unmodelled(const Experiment& e) {
  std::vector<std::string> out;
  for (const std::string& option : e.filesystem.mount_options) {
    const std::string name = option.substr(0, option.find('='));
    if (std::ranges::find(kModelled, name) == kModelled.end() && std::ranges::find(kDefaults, name) == kDefaults.end()) out.push_back(option);
  }
  if (e.filesystem.rmapbt) out.emplace_back("filesystem.rmapbt");
  if (e.filesystem.reflink) out.emplace_back("filesystem.reflink");
  return out;
}

}  // namespace spillway::simulated
