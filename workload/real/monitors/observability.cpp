#include "workload/real/monitors/observability.hpp"

#include <fmt/format.h>

#include "workload/real/provision/settings.hpp"
#include "workload/real/system/mounts.hpp"
#include "workload/real/system/text_file.hpp"

namespace spillway::real {
namespace {

std::string mounted_or_made(Journal& journal, const std::string& type, const std::string& point, std::vector<std::string>& missing,
                            const std::string& what) {
  if (auto there = mount_point_of(type); !there.empty()) return there;
  if (!exists(point)) {
    missing.push_back(fmt::format("{}: this kernel has no {}", what, type));
    return {};
  }
  const auto made = journal.change(MountMade{type, point, type, false}, [&] { return mount_file_system(type, point, type, ""); });
  if (made) return point;
  missing.push_back(fmt::format("{}: {} (needs root)", what, made.error().what));
  return {};
}

}  // namespace

std::string mount_point_of(const std::string& type) {
  for (const auto& mount : mount_points())
    if (mount.type == type) return mount.point;
  return {};
}

Observability make_observable(Journal& journal) {
  Observability seen;
  seen.debugfs = mounted_or_made(journal, "debugfs", "/sys/kernel/debug", seen.missing, "the device's share of the dirty limit");
  seen.tracefs = mounted_or_made(journal, "tracefs", "/sys/kernel/tracing", seen.missing, "throttle decisions");
  const std::string knob = "/proc/sys/kernel/task_delayacct";
  if (const auto now = read_number(knob)) {
    seen.delay_accounting = *now == 1 || apply(journal, {knob, "1", ""}).has_value();
    if (!seen.delay_accounting) seen.missing.push_back("delay accounting: kernel.task_delayacct cannot be set (needs root)");
  } else {
    // Before 5.14 there is no switch: it is on, unless booted with nodelayacct.
    seen.delay_accounting = exists("/proc/self/schedstat");
  }
  return seen;
}

}  // namespace spillway::real
