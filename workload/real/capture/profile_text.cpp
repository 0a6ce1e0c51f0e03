#include "workload/real/capture/profile_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "workload/experiment/quantity.hpp"
#include "workload/real/system/text_file.hpp"

namespace spillway::real {
namespace {

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) out += c;
  }
  return out + "\"";
}

std::string entry(const char* key, const std::string& value, const char* source) {
  return fmt::format("{} = {{ value = {}, mark = \"measured\", source = {} }}\n", key, value, in_quotes(source));
}

std::string megabytes(std::int64_t bytes) { return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6); }

/// What a list asks for and the simulator does not take from a profile, a line each.
std::vector<std::string> description(const BoxFacts& facts) {
  std::vector<std::string> lines;
  if (facts.kernel_release) lines.push_back("kernel " + *facts.kernel_release);
  if (!facts.tuned_profile.empty()) lines.push_back("tuned profile " + facts.tuned_profile);
  if (!facts.mount_source.empty()) lines.push_back(fmt::format("{} on {} type {} ({})", facts.mount_source, facts.mount_point, facts.mount_type, facts.mount_options));
  if (facts.xfs) {
    std::string line = fmt::format("XFS: {} groups", facts.xfs->agcount.value_or(0));
    if (facts.xfs->stripe_unit_bytes.value_or(0) > 0) line += fmt::format(", stripe unit {}, width {}", size_text(Bytes{*facts.xfs->stripe_unit_bytes}), size_text(Bytes{facts.xfs->stripe_width_bytes.value_or(0)}));
    if (facts.xfs->log_bytes) line += fmt::format(", {} log of {}", facts.xfs->external_log ? "external" : "internal", megabytes(*facts.xfs->log_bytes));
    for (const auto& [feature, on] : facts.xfs->features) line += fmt::format(", {}={}", feature, on ? 1 : 0);
    lines.push_back(line);
  }
  for (const auto& device : facts.stack) {
    std::string line = fmt::format("device {}", device.name);
    if (!device.type.empty()) line += ", " + device.type;
    if (device.bytes) line += fmt::format(", {:.1f} GB", static_cast<double>(*device.bytes) / 1e9);
    if (!device.model.empty()) line += ", " + device.model;
    if (device.rotational) line += *device.rotational ? ", rotational" : ", not rotational";
    if (!device.scheduler.empty()) line += ", scheduler " + device.scheduler;
    if (device.requests) line += fmt::format(", {} requests", *device.requests);
    lines.push_back(line);
  }
  if (facts.array) lines.push_back(fmt::format("array {}: {} of {} disks, chunk {}", facts.array->name, facts.array->level, facts.array->disks, size_text(Bytes{facts.array->chunk_bytes})));
  std::string queue;
  for (const char* key : {"scheduler", "nr_requests", "max_sectors_kb", "wbt_lat_usec", "read_ahead_kb", "write_cache", "rotational"})
    if (const auto it = facts.queue.find(key); it != facts.queue.end()) queue += fmt::format("{}{} {}", queue.empty() ? "queue: " : ", ", key, it->second);
  if (!queue.empty()) lines.push_back(queue);
  std::string bdi;
  for (const auto& [key, value] : facts.bdi)
    if (key == "min_ratio" || key == "max_ratio" || key == "strict_limit") bdi += fmt::format("{}{} {}", bdi.empty() ? "bdi: " : ", ", key, value);
  if (!bdi.empty()) lines.push_back(bdi);
  if (facts.dirtyable_bytes) lines.push_back(fmt::format("memory that may be dirty when this was taken: {}", megabytes(*facts.dirtyable_bytes)));
  return lines;
}

}  // namespace

std::string profile_text(const BoxFacts& facts, const std::string& name) {
  std::string out = fmt::format("name = {}\nmeaning = \"described by spillway capture; costs are the simulator's until `spillway calibrate` measures them\"\n", in_quotes(name));
  out += "\n# As it was found:\n";
  for (const auto& line : description(facts)) out += "#   " + line + "\n";
  if (!facts.missing.empty()) {
    out += "# Not seen:\n";
    for (const auto& line : facts.missing) out += "#   " + line + "\n";
  }
  out += "\n[box]\n";
  if (facts.kernel) out += entry("kernel", in_quotes(*facts.kernel), "uname");
  if (facts.hz) out += entry("hz", std::to_string(*facts.hz), "CONFIG_HZ, or the resolution of CLOCK_MONOTONIC_COARSE");
  if (facts.cpus) out += entry("cpus", std::to_string(*facts.cpus), "lscpu");
  if (facts.numa_nodes) out += entry("numa_nodes", std::to_string(*facts.numa_nodes), "lscpu");
  out += "\n[memory]\n";
  if (facts.ram_bytes) out += entry("ram", in_quotes(size_text(Bytes{*facts.ram_bytes})), "MemTotal of /proc/meminfo");
  const auto vm = [&](const char* key) -> std::int64_t {
    const auto it = facts.vm.find(key);
    return it != facts.vm.end() ? it->second : 0;
  };
  // Of the two forms of a limit the one that is not 0 is in force.
  for (const auto& [bytes, ratio] : {std::pair{"dirty_bytes", "dirty_ratio"}, std::pair{"dirty_background_bytes", "dirty_background_ratio"}}) {
    if (vm(bytes) > 0) out += entry(bytes, in_quotes(size_text(Bytes{vm(bytes)})), "sysctl");
    else if (facts.vm.contains(ratio)) out += entry(ratio, std::to_string(vm(ratio)), "sysctl");
  }
  for (const auto& [key, profile_key] : {std::pair{"dirty_expire_centisecs", "dirty_expire"}, std::pair{"dirty_writeback_centisecs", "dirty_writeback"}})
    if (facts.vm.contains(key)) out += entry(profile_key, in_quotes(time_text(std::chrono::milliseconds{vm(key) * 10})), "sysctl");
  return out;
}

std::string experiment_text(const BoxFacts& facts, const std::string& name, const std::string& profile_file) {
  std::string out = fmt::format("title = {}\n", in_quotes("Eight untars on the box " + name));
  out += "question = \"When is the page cache of this box full, and what does that cost?\"\n\n";
  const std::int64_t dirtyable = facts.dirtyable_bytes.value_or(facts.ram_bytes.value_or(16'000'000'000));
  const auto percent = facts.vm.contains("dirty_ratio") ? facts.vm.at("dirty_ratio") : 20;
  const std::int64_t limit = facts.vm.contains("dirty_bytes") && facts.vm.at("dirty_bytes") > 0 ? facts.vm.at("dirty_bytes") : dirtyable / 100 * std::max<std::int64_t>(percent, 1);
  // Eight archives of which three fill the limit: the collapse is inside the run.
  const std::int64_t archive = std::max<std::int64_t>(50'000'000, limit / 3 / 10'000'000 * 10'000'000);
  out += fmt::format("[archive]                  # three of these fill the dirty limit\nseed = 1\nfiles = {}\nbytes = {}\nsizes = \"lognormal\"\n\n", std::clamp<std::int64_t>(archive / 120'000, 100, 200'000), in_quotes(size_text(Bytes{archive})));
  out += "[replay]\nuntars = 8\nengine = \"tar\"\nafter = [\"sync\"]\n\n";
  out += fmt::format("[box]\nprofile = {}\n", in_quotes(profile_file));
  if (facts.dirtyable_bytes) out += fmt::format("dirtyable = {}        # when it was captured; not in force with dirty_bytes\n", in_quotes(size_text(Bytes{*facts.dirtyable_bytes})));
  out += "\n[filesystem]\ntype = \"xfs\"\n";
  if (facts.xfs) {
    if (facts.xfs->agcount) out += fmt::format("agcount = {}\n", *facts.xfs->agcount);
    if (const auto su = facts.xfs->stripe_unit_bytes.value_or(0), width = facts.xfs->stripe_width_bytes.value_or(0); su > 0 && width >= su)
      out += fmt::format("su = {}\nsw = {}\n", in_quotes(size_text(Bytes{su})), width / su);
    if (facts.xfs->log_bytes && !facts.xfs->external_log) out += fmt::format("log_size = {}\n", in_quotes(size_text(Bytes{*facts.xfs->log_bytes})));
  }
  std::string options;
  for (std::size_t at = 0; at < facts.mount_options.size();) {
    const std::size_t comma = std::min(facts.mount_options.find(',', at), facts.mount_options.size());
    const std::string option = facts.mount_options.substr(at, comma - at);
    const std::string key = option.substr(0, option.find('='));
    constexpr std::array kTaken = {"allocsize", "logbsize", "logbufs", "swalloc", "largeio", "inode64", "inode32", "noalign", "noatime", "nodiratime"};
    if (facts.mount_type == "xfs" && std::ranges::find(kTaken, key) != kTaken.end()) options += fmt::format("{}{}", options.empty() ? "" : ", ", in_quotes(option));
    at = comma + 1;
  }
  if (!options.empty()) out += fmt::format("mount_options = [{}]\n", options);
  out += "\n[device]\nmodel = \"limit\"\n";
  out += "# The rate was not measured. Put in what the disk writes in sequence, for example from fio; without a rate the\n# simulated box assumes one and says so.\n# rate = \"100MB/s\"\n";
  if (const auto it = facts.queue.find("nr_requests"); it != facts.queue.end())
    if (const auto n = first_number(it->second)) out += fmt::format("nr_requests = {}\n", *n);
  if (facts.array) {
    out += fmt::format("# The device is {} of {} disks; as a device model instead of a limit:\n", facts.array->level, facts.array->disks);
    std::string model = facts.array->level;
    if (model == "raid4") model = "raid5";
    out += fmt::format("# model = {}\n# disks = {}\n# chunk = {}\n", in_quotes(model), facts.array->disks, in_quotes(size_text(Bytes{facts.array->chunk_bytes})));
  }
  return out;
}

}  // namespace spillway::real
