#include "workload/real/capture/box_texts.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>

#include "workload/real/capture/environment.hpp"
#include "workload/real/system/mounts.hpp"
#include "workload/real/system/process.hpp"
#include "workload/real/system/text_file.hpp"

namespace spillway::real {
namespace {

namespace fs = std::filesystem;

/// "path:value" lines of the small files below a folder, as `grep . FOLDER/*` prints them.
std::string grep_folder(const fs::path& folder) {
  std::string text;
  std::error_code error;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator{folder, error})
    if (entry.is_regular_file(error)) files.push_back(entry.path());
  std::ranges::sort(files);
  for (const auto& file : files)
    if (const auto value = read_line(file); value && !value->empty() && !value->contains('\n')) text += fmt::format("{}:{}\n", file.string(), *value);
  return text;
}

/// What a program prints, or "".
std::string printed(const std::vector<std::string>& argv) {
  if (!find_program(argv[0])) return {};
  const auto output = run_command(argv);
  return output && output->exit_code == 0 ? output->out : std::string{};
}

}  // namespace

const std::vector<TextSource>& text_sources() {
  static const std::vector<TextSource> kSources = {
      {"uname", "uname -a", "the kernel's version"},
      {"config", "cat /boot/config-$(uname -r)", "HZ"},
      {"meminfo", "cat /proc/meminfo", "RAM"},
      {"zoneinfo", "cat /proc/zoneinfo", "memory that may be dirty"},
      {"lscpu", "lscpu", "CPUs and NUMA nodes"},
      {"sysctl", "sysctl -a 2>/dev/null | grep ^vm", "the dirty limits"},
      {"mount", "mount", "mount options"},
      {"xfs_info", "xfs_info MOUNTPOINT", "file system geometry"},
      {"lsblk", "lsblk -t (or lsblk -J -b -O)", "the device stack"},
      {"queue", "grep . /sys/block/DEVICE/queue/*", "queue depth, scheduler, request size"},
      {"bdi", "grep . /sys/class/bdi/MAJ:MIN/*", "the device's share of the limit"},
      {"mdstat", "cat /proc/mdstat", "md arrays: level, disks, chunk"},
      {"dmtable", "dmsetup table", "dm stripes"},
      {"tuned", "tuned-adm active", "the tuned profile"},
  };
  return kSources;
}

BoxTexts read_box_texts(const std::string& mount_point) {
  BoxTexts texts;
  const auto keep = [&](const char* name, std::string text, const char* hint) {
    if (!text.empty()) texts.by_name[name] = std::move(text);
    else if (hint[0] != '\0') texts.not_seen.push_back(fmt::format("{}: {}", name, hint));
  };
  utsname name{};
  ::uname(&name);
  keep("uname", fmt::format("{} {} {} {} {}\n", name.sysname, "host", name.release, name.version, name.machine), "");
  if (const auto hz = kernel_hz()) texts.by_name["config"] = fmt::format("CONFIG_HZ={}\n", *hz);
  keep("meminfo", read_text("/proc/meminfo").value_or(""), "/proc/meminfo cannot be read");
  keep("zoneinfo", read_text("/proc/zoneinfo").value_or(""), "/proc/zoneinfo cannot be read (root only on some kernels): dirtyable memory is not known");
  keep("lscpu", printed({"lscpu"}), "the program lscpu is missing (util-linux)");
  std::string sysctl;
  for (const char* key : {"dirty_background_bytes", "dirty_background_ratio", "dirty_bytes", "dirty_ratio", "dirty_expire_centisecs", "dirty_writeback_centisecs"})
    if (const auto value = read_line(fmt::format("/proc/sys/vm/{}", key))) sysctl += fmt::format("vm.{} = {}\n", key, *value);
  keep("sysctl", sysctl, "/proc/sys/vm cannot be read");
  // Of the mounts, the one asked about first; the parser takes the first that fits.
  const auto mounts = mount_points();
  const MountPoint* asked = nullptr;
  for (const auto& mount : mounts)
    if (mount_point.empty() ? asked == nullptr && mount.type == "xfs" : mount.point == mount_point) asked = &mount;
  std::optional<MountPoint> around;
  if (asked == nullptr) {
    around = mount_of(mount_point.empty() ? "/" : mount_point);
    if (around) asked = &*around;
  }
  if (asked != nullptr) {
    texts.by_name["mount"] = fmt::format("{} on {} type {} ({},{})\n", asked->source, asked->point, asked->type, asked->options, asked->super_options);
    if (asked->type == "xfs") keep("xfs_info", printed({"xfs_info", asked->point}), "xfs_info (xfsprogs) gave nothing for this file system");
    std::error_code error;
    const fs::path link = fs::canonical(fmt::format("/sys/dev/block/{}", asked->device_number), error);
    const fs::path disk = !error && fs::exists(link / "partition", error) ? link.parent_path() : link;
    if (!disk.empty()) keep("queue", grep_folder(disk / "queue"), "the device's queue settings cannot be read");
    keep("bdi", grep_folder(fmt::format("/sys/class/bdi/{}", asked->device_number)), "");
    if (!asked->source.empty() && asked->source[0] == '/')
      keep("lsblk", printed({"lsblk", "-J", "-b", "-s", "-o", "NAME,MAJ:MIN,TYPE,SIZE,ROTA,SCHED,RQ-SIZE,RA,MIN-IO,OPT-IO,MODEL", asked->source}), "lsblk (util-linux) shows nothing of the device");
  }
  if (const auto md = read_text("/proc/mdstat"); md && md->contains(": active")) texts.by_name["mdstat"] = *md;
  if (const auto lsblk = texts.by_name.find("lsblk"); lsblk != texts.by_name.end() && (lsblk->second.contains("\"lvm\"") || lsblk->second.contains("\"dm\"")))
    keep("dmtable", printed({"dmsetup", "table"}), "dmsetup table (needs root) gave nothing: stripes of dm are not known");
  if (const auto profile = read_line("/etc/tuned/active_profile")) texts.by_name["tuned"] = *profile + "\n";
  return texts;
}

Result<BoxTexts> read_pasted_texts(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) return fail(ErrorKind::bad_input, fmt::format("--from {}: there is no such folder", folder.string()));
  BoxTexts texts;
  std::string names;
  for (const auto& source : text_sources()) names += fmt::format("{}{}", names.empty() ? "" : ", ", source.name);
  for (const auto& entry : fs::directory_iterator{folder, error}) {
    const std::string stem = entry.path().stem().string();
    const auto known = std::ranges::find_if(text_sources(), [&](const TextSource& source) { return stem == source.name; });
    // Some call it by the file that it came from.
    const std::string name = known != text_sources().end() ? known->name : stem == "cpuinfo" ? "lscpu" : stem == "mounts" ? "mount" : stem == "version" ? "uname" : "";
    if (name.empty()) {
      texts.not_seen.push_back(fmt::format("{}: not used; the names are {}", entry.path().filename().string(), names));
      continue;
    }
    const auto text = read_text(entry.path());
    if (!text) return std::unexpected(text.error());
    texts.by_name[name] = *text;
  }
  if (texts.by_name.empty()) return fail(ErrorKind::bad_input, fmt::format("--from {}: none of the files that can be used is there; their names are {}", folder.string(), names));
  return texts;
}

}  // namespace spillway::real
