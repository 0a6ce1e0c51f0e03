#include "cli/advise/candidates.hpp"

#include "workload/experiment/quantity.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace spillway::cli {

namespace {

/// No limit below this: the kernel polls every 32 pages, and a few MB hold no whole file. assumed.
constexpr double kSmallestLimit = 16e6;
/// The part of memory that a limit may take: beyond it programs lose their cache. assumed.
constexpr double kLargestShare = 0.6;

/// Two significant digits, as a person would write it: "240MB".
std::string round_size(double bytes) {
  const double unit = std::pow(10.0, std::floor(std::log10(bytes)) - 1);
  return size_text(Bytes{static_cast<std::int64_t>(std::llround(std::round(bytes / unit) * unit))});
}

std::string option_list(const std::vector<std::string>& options) { return nlohmann::ordered_json(options).dump(); }

/// The mount options with one of them replaced: "allocsize=1m" for any allocsize; "swalloc" added; "-swalloc" taken out.
std::vector<std::string> with_option(std::vector<std::string> options, const std::string& option) {
  const bool remove = option.starts_with('-');
  const std::string name = option.substr(remove ? 1 : 0, option.find('=') - (remove ? 1 : 0));
  std::erase_if(options, [&](const std::string& one) { return one.substr(0, one.find('=')) == name; });
  if (!remove) options.push_back(option);
  return options;
}

}  // namespace

std::vector<Settings> memory_candidates(const Experiment& e, const Record& base) {
  double data = 0;
  for (const UntarResult& untar : base.untars) data += static_cast<double>(untar.bytes);
  if (data <= 0) return {};
  const double ram = base.box.ram_bytes > 0 ? static_cast<double>(base.box.ram_bytes) : 4 * data;
  std::vector<double> limits;
  for (const double share : {0.25, 0.5, 1.0, 2.0, 4.0}) limits.push_back(share * data);
  if (base.durable_s > 0 && base.device.write_bytes > 0) limits.push_back(5.0 * static_cast<double>(base.device.write_bytes) / base.durable_s);
  for (const auto& set : {e.memory.dirty_bytes}) {
    if (set) limits.push_back(static_cast<double>(set->value()));
  }
  for (double& limit : limits) limit = std::clamp(limit, kSmallestLimit, std::max(kSmallestLimit, kLargestShare * ram));
  std::ranges::sort(limits);
  std::vector<Settings> out;
  for (const double limit : limits) {
    for (const double share : {0.02, 0.1, 0.25, 0.5}) {
      Settings one{{"memory.dirty_bytes", round_size(limit)}, {"memory.dirty_background_bytes", round_size(std::max(2e6, share * limit))}};
      if (std::ranges::find(out, one) == out.end()) out.push_back(std::move(one));
    }
  }
  return out;
}

std::vector<Settings> other_candidates(const Experiment& e) {
  std::vector<Settings> out;
  const auto add = [&](Settings one) { out.push_back(std::move(one)); };
  add({{"memory.dirty_expire", "5s"}, {"memory.dirty_writeback", "1s"}});
  add({{"memory.dirty_writeback", "1s"}});
  const bool own = e.replay.engine == "posix" || e.replay.engine == "uring";
  const std::string engine = own ? e.replay.engine : "posix";
  const auto with_engine = [&](Settings one) {
    if (!own) one.insert(one.begin(), {"replay.engine", engine});
    add(std::move(one));
  };
  if (!own) add({{"replay.engine", engine}});
  if (e.replay.direct == "false") with_engine({{"replay.direct", "true"}});
  for (const int writers : {2, 4, 8}) {
    if (writers != e.replay.writers) with_engine({{"replay.writers", std::to_string(writers)}});
  }
  if (!e.replay.drop_behind) with_engine({{"replay.drop_behind", "true"}});
  for (const char* flushers : {"kernel", "user:2", "user:4"}) {
    if (e.replay.flushers != flushers) add({{"replay.flushers", flushers}});
  }
  std::vector<std::string> options{"allocsize=64k", "allocsize=1m", "logbsize=256k", "noatime"};
  const bool swalloc = std::ranges::find(e.filesystem.mount_options, "swalloc") != e.filesystem.mount_options.end();
  if (e.filesystem.su || swalloc) options.emplace_back(swalloc ? "-swalloc" : "swalloc");
  for (const std::string& option : options) {
    const auto changed = with_option(e.filesystem.mount_options, option);
    if (changed != e.filesystem.mount_options) add({{"filesystem.mount_options", option_list(changed)}});
  }
  return out;
}

std::vector<Unknown> unknown_inputs(const Experiment& e, const Record& base, bool like) {
  std::vector<Unknown> out;
  const auto rate = e.device.rate.value();
  if (rate > 0) {
    out.push_back({"a device 20 % slower", {{"device.rate", rate_text(BytesPerSec{rate / 5 * 4})}}});
    out.push_back({"a device 20 % faster", {{"device.rate", rate_text(BytesPerSec{rate / 5 * 6})}}});
  }
  // CPU costs are a profile's; half and twice is how far machines of one decade lie apart. assumed.
  const auto costs = base.box.profile.find("costs");
  if (costs != base.box.profile.end() && costs->is_object()) {
    for (const auto& [factor, what] : {std::pair{0.5, "a CPU twice as fast"}, std::pair{2.0, "a CPU half as fast"}}) {
      Settings scaled;
      for (const char* name : {"write_page", "create_file", "user_per_file", "io_call", "tar_user_per_page", "tar_system_per_page"}) {
        if (!costs->contains(name) || !(*costs)[name].contains("value") || !(*costs)[name]["value"].is_string()) continue;
        const auto time = read_time((*costs)[name]["value"].get<std::string>());
        if (time) scaled.emplace_back(fmt::format("box.costs.{}_us", name), fmt::format("{:.6g}", factor * to_seconds(*time) * 1e6));
      }
      if (!scaled.empty()) out.push_back({what, std::move(scaled)});
    }
  }
  if (!like) {
    if (!e.box.completion_share) {
      out.push_back({"a device that has done none of the recent writing", {{"box.completion_share", "0"}}});
      out.push_back({"a device that has done all of the recent writing", {{"box.completion_share", "1"}}});
    }
    if (!e.box.foreign_dirty) out.push_back({"64 MB of other disks' dirty pages", {{"box.foreign_dirty", "64MB"}}});
    if (!e.box.dirtyable && base.box.ram_bytes > 0) {
      out.push_back({"three quarters of the memory dirtyable", {{"box.dirtyable", size_text(Bytes{base.box.ram_bytes / 4 * 3})}}});
    }
  }
  out.push_back({"another seed", {{"seed", std::to_string(base.seed + 1)}}});
  return out;
}

}  // namespace spillway::cli
