#include "workload/real/capture/environment.hpp"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "workload/real/system/mounts.hpp"
#include "workload/real/system/process.hpp"
#include "workload/real/system/text_file.hpp"

namespace spillway::real {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  if (DIR* open = ::opendir(directory.c_str())) {
    while (const dirent* entry = ::readdir(open))
      if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
    ::closedir(open);
  }
  std::ranges::sort(names);
  return names;
}

Json queue_of_device(const std::string& device) {
  Json queue = Json::object();
  const std::string folder = fmt::format("/sys/block/{}/queue", device);
  for (const char* name : {"scheduler", "nr_requests", "max_sectors_kb", "max_hw_sectors_kb", "rotational", "wbt_lat_usec", "write_cache",
                           "read_ahead_kb", "logical_block_size", "physical_block_size", "minimum_io_size", "optimal_io_size", "fua", "nomerges", "rq_affinity"})
    if (const auto value = read_line(fmt::format("{}/{}", folder, name))) queue[name] = *value;
  return queue;
}

/// A block device and what it stands on: loop file, dm or md members, with the stripe geometry where sysfs has it.
Json stack_of(const std::string& device, int depth = 0) {
  Json node{{"name", device}};
  const std::string folder = "/sys/block/" + device;
  if (const auto sectors = read_number(folder + "/size")) node["bytes"] = *sectors * 512;
  if (const auto model = read_line(folder + "/device/model")) node["model"] = *model;
  if (const auto file = read_line(folder + "/loop/backing_file")) {
    node["backing_file"] = *file;
    if (const auto direct = read_number(folder + "/loop/dio")) node["direct_io"] = *direct == 1;
    if (file->starts_with("/dev/") && depth < 8) node["on"] = Json::array({stack_of(file->substr(5), depth + 1)});
  }
  if (const auto name = read_line(folder + "/dm/name")) node["dm_name"] = *name;
  if (const auto level = read_line(folder + "/md/level")) {
    node["md_level"] = *level;
    if (const auto chunk = read_number(folder + "/md/chunk_size")) node["chunk_bytes"] = *chunk;
    if (const auto disks = read_number(folder + "/md/raid_disks")) node["disks"] = *disks;
    if (const auto cache = read_number(folder + "/md/stripe_cache_size")) node["stripe_cache_pages"] = *cache;
  }
  node["queue"] = queue_of_device(device);
  const auto members = names_in(folder + "/slaves");
  if (!members.empty() && depth < 8) {
    node["on"] = Json::array();
    for (const auto& member : members) node["on"].push_back(stack_of(member, depth + 1));
  }
  return node;
}

}  // namespace

std::optional<int> kernel_hz() {
  // The coarse clock moves once a tick, so its resolution is the tick (kernel/time/posix-timers.c, KTIME_LOW_RES).
  timespec tick{};
  if (::clock_getres(CLOCK_MONOTONIC_COARSE, &tick) != 0 || tick.tv_sec != 0 || tick.tv_nsec <= 0) return std::nullopt;
  return static_cast<int>(std::lround(1e9 / static_cast<double>(tick.tv_nsec)));
}

std::string kernel_version() {
  utsname name{};
  ::uname(&name);
  const std::string_view release = name.release;
  return std::string{release.substr(0, std::min(release.find_first_not_of("0123456789."), release.size()))};
}

std::int64_t memory_bytes() {
  return table_number(read_text("/proc/meminfo").value_or(""), "MemTotal").value_or(0) * 1024;
}

int cpu_count() { return static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)); }

int numa_nodes() {
  const auto names = names_in("/sys/devices/system/node");
  const auto count = std::ranges::count_if(names, [](const std::string& n) { return n.starts_with("node") && n.size() > 4 && n[4] >= '0' && n[4] <= '9'; });
  return std::max(1, static_cast<int>(count));
}

nlohmann::ordered_json capture_environment(const std::string& device_name, const std::string& mount_point) {
  Json all = Json::object();
  Json not_readable = Json::array();
  const auto line = [&](Json& into, const char* key, const std::string& path) {
    if (const auto value = read_line(path)) into[key] = *value;
    else not_readable.push_back(path);
  };
  utsname name{};
  ::uname(&name);
  all["kernel"] = {{"release", name.release}, {"version", name.version}, {"machine", name.machine}};
  line(all["kernel"], "command_line", "/proc/cmdline");
  const auto hz = kernel_hz();
  if (hz) all["kernel"]["hz"] = *hz;
  Json cpu{{"online", cpu_count()}, {"numa_nodes", numa_nodes()}};
  const std::string cpuinfo = read_text("/proc/cpuinfo").value_or("");
  for (const auto text : split_lines(cpuinfo))
    if (text.starts_with("model name") && text.contains(": ")) {
      cpu["model"] = std::string{text.substr(text.find(": ") + 2)};
      break;
    }
  if (const auto governor = read_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")) cpu["governor"] = *governor;
  all["cpu"] = std::move(cpu);
  Json memory = Json::object();
  const std::string meminfo = read_text("/proc/meminfo").value_or("");
  for (const char* key : {"MemTotal", "MemFree", "MemAvailable", "Cached", "Dirty", "Writeback", "AnonPages", "Slab", "SwapTotal"})
    if (const auto kb = table_number(meminfo, key)) memory[key] = fmt::format("{} kB", *kb);
  all["memory"] = std::move(memory);
  Json vm = Json::object();
  for (const char* key : {"dirty_background_bytes", "dirty_background_ratio", "dirty_bytes", "dirty_ratio", "dirty_expire_centisecs",
                          "dirty_writeback_centisecs", "dirtytime_expire_seconds", "swappiness", "vfs_cache_pressure", "min_free_kbytes"})
    line(vm, key, fmt::format("/proc/sys/vm/{}", key));
  all["vm"] = std::move(vm);
  if (const auto profile = read_line("/etc/tuned/active_profile")) all["tuned_profile"] = *profile;
  if (!device_name.empty()) all["device"] = stack_of(device_name);
  if (!mount_point.empty()) {
    if (const auto mount = mounted_at(mount_point)) {
      all["mount"] = {{"source", mount->source}, {"type", mount->type}, {"options", mount->options + "," + mount->super_options}};
      if (mount->type == "xfs") {
        const auto info = run_command({"xfs_info", mount_point});
        if (info && info->exit_code == 0) {
          all["xfs_info"] = Json::array();
          for (const auto text : split_lines(info->out)) all["xfs_info"].push_back(std::string{text});
        } else {
          not_readable.push_back("xfs_info (xfsprogs)");
        }
      }
      const std::string bdi = fmt::format("/sys/class/bdi/{}", mount->device_number);
      Json settings = Json::object();
      for (const char* key : {"min_ratio", "max_ratio", "strict_limit", "read_ahead_kb"})
        if (const auto value = read_line(fmt::format("{}/{}", bdi, key))) settings[key] = *value;
      all["bdi"] = std::move(settings);
    }
  }
  // What the XFS FAQ asks for besides.
  if (const auto version = run_command({"mkfs.xfs", "-V"}); version && version->exit_code == 0) {
    const auto lines = split_lines(version->out);
    if (!lines.empty()) all["xfsprogs"] = std::string{lines.front()};
  }
  if (const auto text = read_text("/proc/partitions"); text && !text->empty()) all["partitions"] = *text;
  if (const auto text = read_text("/proc/mdstat"); text && text->contains(" : active")) all["mdstat"] = *text;
  if (!not_readable.empty()) all["not_readable"] = std::move(not_readable);
  return all;
}

}  // namespace spillway::real
