#include "workload/real/provision/doctor.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "workload/real/capture/environment.hpp"
#include "workload/real/journal/journal.hpp"
#include "workload/real/provision/limit.hpp"
#include "workload/real/provision/preflight.hpp"
#include "workload/real/system/process.hpp"
#include "workload/real/system/text_file.hpp"

namespace spillway::real {
namespace {

bool kernel_knows(const std::string& type) {
  const auto text = read_text("/proc/filesystems").value_or("");
  for (const auto line : split_lines(text))
    if (const auto words = split_words(line); !words.empty() && words.back() == type) return true;
  return false;
}

Finding program(const std::string& name, const std::string& package, const std::string& serves) {
  const auto path = find_program(name);
  return {"program " + name, path.has_value(), path.value_or("not installed"), serves, path ? "" : "apt-get install " + package};
}

}  // namespace

std::vector<Finding> examine_box() {
  std::vector<Finding> found;
  const bool root = ::geteuid() == 0;
  found.push_back({"privilege", root, root ? "root" : fmt::format("user {}", ::geteuid()), "loop devices, limits, vm.dirty_*, traces", root ? "" : "run as root (sudo)"});
  const bool loop = exists("/dev/loop-control");
  found.push_back({"loop devices", loop, loop ? "/dev/loop-control" : "no /dev/loop-control", "target loop", loop ? "" : "modprobe loop"});
  const bool xfs = kernel_knows("xfs");
  found.push_back({"XFS in the kernel", xfs, xfs ? "known" : "not known", "targets loop and device", xfs ? "" : "modprobe xfs, or a kernel that has it"});
  found.push_back(program("mkfs.xfs", "xfsprogs", "targets loop and device"));
  found.push_back(program("xfs_info", "xfsprogs", "geometry in the record"));
  found.push_back(program("tar", "tar", "engine tar, verification"));
  found.push_back(program("bsdtar", "libarchive-tools", "engine bsdtar"));
  found.push_back(program("fio", "fio", "[[job]]"));
  const auto place = limit_place();
  found.push_back({"device limits", place.has_value(),
                   !place ? "no cgroup v1 blkio and no cgroup v2 with io and memory"
                          : fmt::format("cgroup {} in {}", place->version == LimitPlace::Version::v1 ? "v1" : "v2", place->directory),
                   "device.rate, device.iops", place ? "" : "mount -t cgroup -o blkio none /sys/fs/cgroup/blkio, or boot with the unified hierarchy"});
  const bool bdi = kernel_knows("debugfs");
  found.push_back({"debugfs", bdi, bdi ? "known" : "not known", "the device's share of the dirty limit, inode lists", bdi ? "" : "a kernel with CONFIG_DEBUG_FS"});
  const bool tracefs = kernel_knows("tracefs");
  found.push_back({"tracefs", tracefs, tracefs ? "known" : "not known", "throttle decisions, off-CPU account", tracefs ? "" : "a kernel with CONFIG_TRACING"});
  const auto delays = read_number("/proc/sys/kernel/task_delayacct");
  found.push_back({"delay accounting", delays.has_value(), delays ? "kernel.task_delayacct" : "no such setting", "account of each untar without a trace",
                   delays ? "" : "a kernel with CONFIG_TASK_DELAY_ACCT (5.14 or later has the switch)"});
  const bool pressure = exists("/proc/pressure/io");
  found.push_back({"pressure (PSI)", pressure, pressure ? "/proc/pressure/io" : "absent", "I/O stall totals in the record", pressure ? "" : "boot with psi=1"});
  const auto hz = kernel_hz();
  found.push_back({"tick rate", hz.has_value(), hz ? fmt::format("HZ={}", *hz) : "unknown", "simulation of this box", hz ? "" : "install the kernel's /boot/config, or CONFIG_IKCONFIG_PROC"});
  const bool fuse = exists("/dev/fuse");
  found.push_back({"FUSE", fuse, fuse ? "/dev/fuse" : "absent", "target modeled", fuse ? "" : "modprobe fuse"});
  const auto state = state_directory();
  if (const auto free = free_space(state.string()))
    found.push_back({"space for images", free->value() > 4 * kGB, fmt::format("{:.1f} GB below {}", static_cast<double>(free->value()) / 1e9, state.string()),
                     "1.6 times what the untars write", free->value() > 4 * kGB ? "" : "set target.path or SPILLWAY_STATE_DIR to another disk"});
  const bool left = exists(state / "journal.jsonl");
  found.push_back({"interrupted runs", !left, left ? "changes are left" : "none", "", left ? "spillway restore" : ""});
  return found;
}

std::string doctor_text(const std::vector<Finding>& findings) {
  std::string text;
  for (const auto& finding : findings) {
    text += fmt::format("{:<4} {:<20} {}\n", finding.works ? "ok" : "NO", finding.what, finding.detail);
    if (!finding.works) {
      if (!finding.serves.empty()) text += fmt::format("     {:<20} needed for: {}\n", "", finding.serves);
      if (!finding.remedy.empty()) text += fmt::format("     {:<20} get it: {}\n", "", finding.remedy);
    }
  }
  return text;
}

}  // namespace spillway::real
