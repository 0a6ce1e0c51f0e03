#include "workload/device/device_model.hpp"

#include "sim/device/presets.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace spillway {
namespace {

using sim::device::DeviceSpec;
using sim::device::RaidLevel;

DeviceSpec hdd(const DeviceSpecText& text) {
  auto spec = sim::device::hdd_7200_4tb();
  auto& p = spec.hdd;
  p.revolutions_per_minute = text.rpm;
  // The given average replaces the model's; track and full-stroke seeks keep their ratio to it.
  const double ratio = static_cast<double>(text.average_seek.count()) / static_cast<double>(p.read_seek_average.count());
  const auto scaled = [ratio](Duration time) { return Duration{static_cast<std::int64_t>(static_cast<double>(time.count()) * ratio)}; };
  for (auto* time : {&p.read_seek_average, &p.write_seek_average, &p.read_seek_full, &p.write_seek_full, &p.read_seek_track, &p.write_seek_track}) {
    *time = scaled(*time);
  }
  if (text.rate.value() > 0) {
    p.inner_rate = BytesPerSec{text.rate.value() * p.inner_rate.value() / p.outer_rate.value()};
    p.outer_rate = text.rate;
  }
  if (text.capacity.value() > 0) p.capacity = text.capacity;
  if (!text.volatile_cache) p.write_cache = Bytes{0};
  return spec;
}

DeviceSpec ssd(const DeviceSpecText& text, DeviceSpec spec) {
  auto& p = spec.ssd;
  if (text.rate.value() > 0) p.write_rate = text.rate;
  if (text.read_rate.value() > 0) p.read_rate = text.read_rate;
  if (text.iops > 0) p.write_iops = text.iops;
  if (text.capacity.value() > 0) p.capacity = text.capacity;
  return spec;
}

Result<DeviceSpec> disk(const DeviceSpecText& text, const std::string& model, Bytes size) {
  if (model == "hdd") return hdd(text);
  if (model == "nvme") return ssd(text, sim::device::nvme_pm9a3());
  if (model == "ssd" || model == "sata_ssd") return ssd(text, sim::device::ssd_sata_dc());
  if (text.rate.value() <= 0) return fail(ErrorKind::bad_input, "device.model = \"limit\" stands for a rate and needs device.rate.");
  auto spec = sim::device::limited(text.rate, text.capacity.value() > 0 ? text.capacity : size);
  spec.limit.iops = text.iops;
  return spec;
}

std::optional<RaidLevel> level_of(const std::string& model) {
  if (model == "raid0") return RaidLevel::raid0;
  if (model == "raid10") return RaidLevel::raid10;
  if (model == "raid5") return RaidLevel::raid5;
  if (model == "raid6") return RaidLevel::raid6;
  if (model == "jbod") return RaidLevel::linear;
  return std::nullopt;
}

}  // namespace

Result<DeviceSpec> device_spec_of(const DeviceSpecText& text, Bytes size) {
  const auto level = level_of(text.model);
  SPILLWAY_ASSIGN(auto spec, disk(text, level ? text.member : text.model, level ? Bytes{size.value() / std::max(1, text.disks) + kGiB} : size));
  if (level) {
    spec = sim::device::raid(*level, text.disks, text.chunk, std::move(spec));
    // The software's stripe cache is one row of 4 KiB of every member an entry.
    if (text.stripe_cache.value() > 0) spec.raid.stripe_cache_rows = std::max<std::int64_t>(1, text.stripe_cache.value() / 4096 / text.disks);
  }
  if (text.write_cache.value() > 0) spec = sim::device::behind_write_cache(text.write_cache, std::move(spec));
  return spec;
}

std::string device_sentence(const DeviceSpecText& text) {
  std::string line = text.model;
  if (level_of(text.model)) line += fmt::format(" of {} x {}, chunk {} KiB", text.disks, text.member, text.chunk.value() / kKiB);
  if (text.rate.value() > 0) line += fmt::format(", {} B/s", text.rate.value());
  if (text.iops > 0) line += fmt::format(", {} write I/Os a second", text.iops);
  if (text.write_cache.value() > 0) line += fmt::format(", controller cache {} MiB", text.write_cache.value() / kMiB);
  return line;
}

}  // namespace spillway
