#include "sim/device/presets.hpp"
#include "workload/simulated/translate.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <fmt/format.h>

namespace spillway::simulated {

namespace {

namespace dev = sim::device;

/// One disk of that name: a kind with ordinary parameters, or a preset.
Result<dev::DeviceSpec> disk(const std::string& model, const DeviceSpecText& d) {
  dev::DeviceSpec spec;
  std::vector<std::string> names = {"limit", "hdd", "ssd", "sata_ssd", "nvme"};
  if (model == "limit") {
    spec = dev::limited(d.rate.value() > 0 ? d.rate : BytesPerSec{1900 * kMB}, d.capacity.value() > 0 ? d.capacity : Bytes{20 * kGB});
    spec.limit.iops = d.iops;
    spec.limit.queue_depth = d.nr_requests;
    return spec;
  }
  if (model == "hdd") {
    spec = dev::hdd_7200_4tb();
  } else if (model == "sata_ssd" || model == "ssd") {
    spec = dev::ssd_sata_dc();
  } else if (model == "nvme") {
    spec = dev::nvme_pm9a3();
  } else {
    bool found = false;
    for (const dev::Preset& preset : dev::presets()) {
      names.emplace_back(preset.name);
      if (preset.name == model) {
        spec = preset.make();
        found = true;
      }
    }
    if (!found) return fail(ErrorKind::bad_input, fmt::format("there is no disk model \"{}\"; there are {}", model, fmt::join(names, ", ")));
  }
  if (spec.model == dev::Model::hdd) {
    if (model == "hdd") {
      spec.hdd.revolutions_per_minute = d.rpm;
      spec.hdd.read_seek_average = spec.hdd.write_seek_average = d.average_seek;
    }
    if (d.rate.value() > 0) {
      // The innermost tracks of a disk are about half as fast as the outermost.
      spec.hdd.outer_rate = d.rate;
      spec.hdd.inner_rate = d.rate / 2;
    }
    if (!d.volatile_cache) spec.hdd.write_cache = Bytes{0};
    if (d.capacity.value() > 0) spec.hdd.capacity = d.capacity;
  } else if (spec.model == dev::Model::ssd) {
    if (d.rate.value() > 0) spec.ssd.write_rate = d.rate;
    if (d.read_rate.value() > 0) spec.ssd.read_rate = d.read_rate;
    if (d.iops > 0) spec.ssd.write_iops = d.iops;
    if (d.capacity.value() > 0) spec.ssd.capacity = d.capacity;
  }
  return spec;
}

}  // namespace

Result<sim::device::DeviceSpec> device_model(const DeviceSpecText& d) {
  static const std::vector<std::pair<std::string, dev::RaidLevel>> levels = {
      {"raid0", dev::RaidLevel::raid0}, {"raid5", dev::RaidLevel::raid5}, {"raid6", dev::RaidLevel::raid6}, {"raid10", dev::RaidLevel::raid10}, {"jbod", dev::RaidLevel::linear}};
  const auto level = std::find_if(levels.begin(), levels.end(), [&d](const auto& l) { return l.first == d.model; });
  dev::DeviceSpec spec;
  if (level == levels.end()) {
    SPILLWAY_ASSIGN(spec, disk(d.model, d));
  } else {
    SPILLWAY_ASSIGN(const dev::DeviceSpec member, disk(d.member, d));
    spec = dev::raid(level->second, d.disks, d.chunk, member);
    if (d.stripe_cache.value() > 0) spec.raid.stripe_cache_rows = std::max<std::int64_t>(1, d.stripe_cache.value() / (4096LL * d.disks));
  }
  if (d.write_cache.value() > 0) spec = dev::behind_write_cache(d.write_cache, spec);
  return spec;
}

}  // namespace spillway::simulated
