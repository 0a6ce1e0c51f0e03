#include "workload/record/box_differences.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/core.h>

namespace spillway {

namespace {

using Json = nlohmann::ordered_json;

std::string shown(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

/// Names that a run makes up anew: device numbers and the paths of its own images and mounts.
bool is_of_the_run(std::string_view key) {
  static constexpr std::array<std::string_view, 9> kKeys = {"name", "backing_file", "source", "memory", "not_readable", "command_line", "version", "bytes", "xfs_info"};
  return std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end();
}

void walk(const Json& before, const Json& now, const std::string& path, std::vector<std::string>& out) {
  if (before.is_object() && now.is_object()) {
    for (const auto& [key, value] : before.items()) {
      if (is_of_the_run(key)) continue;
      const std::string here = path.empty() ? key : path + "." + key;
      if (!now.contains(key)) out.push_back(fmt::format("{} was {}, and is not known here", here, shown(value)));
      else walk(value, now[key], here, out);
    }
    for (const auto& [key, value] : now.items())
      if (!is_of_the_run(key) && !before.contains(key)) out.push_back(fmt::format("{} is {}, and was not known there", path.empty() ? key : path + "." + key, shown(value)));
    return;
  }
  if (before.is_array() && now.is_array()) {
    if (before.size() != now.size()) out.push_back(fmt::format("{} had {} entries, has {}", path, before.size(), now.size()));
    for (std::size_t i = 0; i < std::min(before.size(), now.size()); ++i) walk(before[i], now[i], fmt::format("{}[{}]", path, i + 1), out);
    return;
  }
  if (before != now) out.push_back(fmt::format("{} was {}, is {}", path, shown(before), shown(now)));
}

}  // namespace

std::vector<std::string> box_differences(const BoxInfo& before, const BoxInfo& now) {
  std::vector<std::string> out;
  const auto differs = [&out](const char* what, const auto& a, const auto& b) {
    if (a != b) out.push_back(fmt::format("{} was {}, is {}", what, a, b));
  };
  differs("the kind of box", before.kind, now.kind);
  differs("the kernel", before.kernel, now.kernel);
  differs("HZ", before.hz, now.hz);
  differs("the number of CPUs", before.cpus, now.cpus);
  differs("the number of NUMA nodes", before.numa_nodes, now.numa_nodes);
  differs("the target", before.target, now.target);
  if (std::abs(static_cast<double>(before.ram_bytes - now.ram_bytes)) > 0.01 * static_cast<double>(before.ram_bytes))
    out.push_back(fmt::format("RAM was {:.2f} GB, is {:.2f} GB", static_cast<double>(before.ram_bytes) / 1e9, static_cast<double>(now.ram_bytes) / 1e9));
  if (before.environment.is_object() && now.environment.is_object()) walk(before.environment, now.environment, "", out);
  return out;
}

}  // namespace spillway
