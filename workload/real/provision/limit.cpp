#include "workload/real/provision/limit.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "workload/real/system/mounts.hpp"
#include "workload/real/system/text_file.hpp"

namespace spillway::real {
namespace {

/// The line of a throttle file that speaks of this device, as it could be written back; "" if none.
std::string rule_for(const std::string& file, const std::string& device_number) {
  const auto text = read_text(file);
  if (!text) return {};
  for (const auto line : split_lines(*text))
    if (line.starts_with(device_number + " ")) return std::string{line};
  return {};
}

Status set_v1(Journal& journal, const std::string& file, const std::string& device_number, std::int64_t value) {
  const ThrottleRule rule{file, device_number + " 0", rule_for(file, device_number)};
  return journal.change(rule, [&] { return write_text(file, fmt::format("{} {}", device_number, value)); });
}

}  // namespace

std::optional<LimitPlace> limit_place() {
  for (const auto& mount : mount_points()) {
    if (mount.type == "cgroup" && exists(mount.point + "/blkio.throttle.write_bps_device"))
      return LimitPlace{LimitPlace::Version::v1, mount.point};
  }
  for (const auto& mount : mount_points()) {
    if (mount.type != "cgroup2") continue;
    const auto controllers = read_line(mount.point + "/cgroup.controllers");
    if (!controllers) continue;
    bool io = false, memory = false;
    for (const auto word : split_words(*controllers)) {
      io = io || word == "io";
      memory = memory || word == "memory";
    }
    if (io && memory) return LimitPlace{LimitPlace::Version::v2, mount.point};
  }
  return std::nullopt;
}

Status set_limit(Journal& journal, const LimitPlace& place, const std::string& device_number, const LimitSpec& limit,
                 std::string* group) {
  if (place.version == LimitPlace::Version::v1) {
    const std::string base = place.directory + "/blkio.throttle.";
    if (limit.write.value() > 0) SPILLWAY_TRY(set_v1(journal, base + "write_bps_device", device_number, limit.write.value()));
    if (limit.read.value() > 0) SPILLWAY_TRY(set_v1(journal, base + "read_bps_device", device_number, limit.read.value()));
    if (limit.write_iops > 0) SPILLWAY_TRY(set_v1(journal, base + "write_iops_device", device_number, limit.write_iops));
    return {};
  }
  const std::string control = place.directory + "/cgroup.subtree_control";
  const auto enabled = read_line(control);
  for (const std::string controller : {"io", "memory"}) {
    if (enabled && (" " + *enabled + " ").contains(" " + controller + " ")) continue;
    // Read back the file is "io memory", so it cannot be put back as a knob: the rule's `lifted` turns it off again.
    SPILLWAY_TRY(journal.change(ThrottleRule{control, "-" + controller, ""}, [&] { return write_text(control, "+" + controller); }));
  }
  const std::string folder = fmt::format("{}/spillway-{}", place.directory, ::getpid());
  SPILLWAY_TRY(journal.change(TraceInstance{folder}, [&]() -> Status {  // undone by rmdir, like a trace instance
    if (::mkdir(folder.c_str(), 0755) != 0)
      return fail(ErrorKind::refused, fmt::format("cannot make the cgroup {}: {}", folder, std::strerror(errno)), errno);
    return {};
  }));
  std::string rule = device_number;
  if (limit.write.value() > 0) rule += fmt::format(" wbps={}", limit.write.value());
  if (limit.read.value() > 0) rule += fmt::format(" rbps={}", limit.read.value());
  if (limit.write_iops > 0) rule += fmt::format(" wiops={}", limit.write_iops);
  const std::string file = folder + "/io.max";
  SPILLWAY_TRY(journal.change(ThrottleRule{file, device_number + " rbps=max wbps=max riops=max wiops=max", ""},
                              [&] { return write_text(file, rule); }));
  if (group) *group = folder;
  return {};
}

}  // namespace spillway::real
