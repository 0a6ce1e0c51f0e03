#include "sim/device/presets.hpp"

#include <algorithm>

namespace spillway::sim::device {

using std::chrono::microseconds;
using std::chrono::milliseconds;

namespace {

DeviceSpec hdd(std::string name, const HddParams& params) {
  DeviceSpec spec;
  spec.model = Model::hdd;
  spec.name = std::move(name);
  spec.hdd = params;
  return spec;
}

DeviceSpec ssd(std::string name, const SsdParams& params) {
  DeviceSpec spec;
  spec.model = Model::ssd;
  spec.name = std::move(name);
  spec.ssd = params;
  return spec;
}

}  // namespace

// cited: specification (revolution, average seek). assumed: rates 170 to 80 MB/s; track and full-stroke times.
DeviceSpec hdd_7200_4tb() { return hdd("7200 rpm 4 TB (Ultrastar 7K4000)", HddParams{}); }

// cited: specification (seeks 7.4 / 8.2 ms, track 0.23 / 0.32 ms). assumed: rates 255 to 120 MB/s; full stroke.
DeviceSpec hdd_7200_6tb() {
  HddParams p;
  p.capacity = Bytes{6'000 * kGB};
  p.outer_rate = BytesPerSec{255 * kMB};
  p.inner_rate = BytesPerSec{120 * kMB};
  p.read_seek_average = microseconds{7400};
  p.write_seek_average = microseconds{8200};
  p.read_seek_track = microseconds{230};
  p.write_seek_track = microseconds{320};
  p.read_seek_full = microseconds{16'500};
  p.write_seek_full = microseconds{17'500};
  p.write_cache = Bytes{128 * kMiB};
  return hdd("7200 rpm 6 TB (Ultrastar DC HC310)", p);
}

// cited: product manual (all seeks; rates 142 to 75 MB/s, the manual's internal ones).
DeviceSpec hdd_7200_500gb() {
  HddParams p;
  p.capacity = Bytes{500 * kGB};
  p.outer_rate = BytesPerSec{142 * kMB};
  p.inner_rate = BytesPerSec{75 * kMB};
  p.read_seek_average = microseconds{8000};
  p.write_seek_average = microseconds{8400};
  p.read_seek_track = microseconds{500};
  p.write_seek_track = microseconds{700};
  p.read_seek_full = microseconds{17'400};
  p.write_seek_full = microseconds{17'800};
  return hdd("7200 rpm 500 GB (Constellation)", p);
}

// assumed, all of it: the middle of what the class has.
DeviceSpec hdd_10k_sas() {
  HddParams p;
  p.capacity = Bytes{900 * kGB};
  p.revolutions_per_minute = 10'000;
  p.outer_rate = BytesPerSec{210 * kMB};
  p.inner_rate = BytesPerSec{120 * kMB};
  p.read_seek_average = microseconds{3900};
  p.write_seek_average = microseconds{4400};
  p.read_seek_track = microseconds{250};
  p.write_seek_track = microseconds{350};
  p.read_seek_full = microseconds{8300};
  p.write_seek_full = microseconds{8800};
  p.queue_depth = 64;
  p.physical_block = Bytes{512};
  p.interface_rate = BytesPerSec{600 * kMB};
  return hdd("10000 rpm 900 GB SAS", p);
}

// cited: product manual (revolution, average seeks). assumed: rates 160 to 90 MB/s, track and full-stroke times.
DeviceSpec hdd_15k_450gb() {
  HddParams p;
  p.capacity = Bytes{450 * kGB};
  p.revolutions_per_minute = 15'000;
  p.outer_rate = BytesPerSec{160 * kMB};
  p.inner_rate = BytesPerSec{90 * kMB};
  p.read_seek_average = microseconds{3300};
  p.write_seek_average = microseconds{3800};
  p.read_seek_track = microseconds{250};
  p.write_seek_track = microseconds{350};
  p.read_seek_full = microseconds{7200};
  p.write_seek_full = microseconds{7700};
  p.queue_depth = 64;
  p.write_cache = Bytes{16 * kMiB};
  p.physical_block = Bytes{512};
  p.interface_rate = BytesPerSec{300 * kMB};
  return hdd("15000 rpm 450 GB (Ultrastar 15K450)", p);
}

// cited: specification (revolution, average seeks). assumed: rates 250 to 150 MB/s, track and full-stroke times.
DeviceSpec hdd_15k_600gb() {
  HddParams p = hdd_15k_450gb().hdd;
  p.capacity = Bytes{600 * kGB};
  p.outer_rate = BytesPerSec{250 * kMB};
  p.inner_rate = BytesPerSec{150 * kMB};
  p.read_seek_average = microseconds{2900};
  p.write_seek_average = microseconds{3100};
  p.read_seek_full = microseconds{6500};
  p.write_seek_full = microseconds{7000};
  p.write_cache = Bytes{64 * kMiB};
  p.interface_rate = BytesPerSec{1'100 * kMB};
  return hdd("15000 rpm 600 GB (Ultrastar C15K600)", p);
}

// assumed: the middle of the class (450 to 530 MB/s, 20 to 90 kIOPS, 30 to 60 us; NCQ 32).
DeviceSpec ssd_sata_dc() {
  SsdParams p;
  p.capacity = Bytes{960 * kGB};
  p.read_rate = BytesPerSec{540 * kMB};
  p.write_rate = BytesPerSec{490 * kMB};
  p.read_latency = microseconds{90};
  p.write_latency = microseconds{27};  // and 18 us in the pipe: 45 us, the middle of 30 to 60
  p.read_iops = 95'000;
  p.write_iops = 90'000;
  p.queue_depth = 32;
  p.random_write_amplification = 490e6 / (55'000 * 4096.0);  // 55 kIOPS in the steady state
  return ssd("SATA TLC, data centre", p);
}

// cited: vendor's table (3.5 GB/s, 200 kIOPS of 4 KiB random writes in the steady state). assumed: latencies, reads.
DeviceSpec nvme_pm9a3() {
  SsdParams p;
  p.capacity = Bytes{1'920 * kGB};
  p.read_rate = BytesPerSec{6'500 * kMB};
  p.write_rate = BytesPerSec{3'500 * kMB};
  p.read_latency = microseconds{80};
  p.write_latency = microseconds{12};
  p.read_iops = 1'000'000;
  p.write_iops = 850'000;
  p.queue_depth = 1023;
  p.random_write_amplification = 3.5e9 / (200'000 * 4096.0);
  return ssd("NVMe PM9A3 U.2", p);
}

// assumed, all of it: the middle of the class.
DeviceSpec nvme_consumer() {
  SsdParams p;
  p.capacity = Bytes{2'000 * kGB};
  p.read_rate = BytesPerSec{6'500 * kMB};
  p.write_rate = BytesPerSec{1'500 * kMB};
  p.read_latency = microseconds{60};
  p.write_latency = microseconds{15};
  p.read_iops = 900'000;
  p.write_iops = 700'000;
  p.queue_depth = 1023;
  p.random_write_amplification = 1.5e9 / (120'000 * 4096.0);
  p.fast_cache = Bytes{50 * kGB};
  p.fast_write_rate = BytesPerSec{6'000 * kMB};
  p.fast_drain_rate = BytesPerSec{1'000 * kMB};
  p.flush_latency = milliseconds{2};
  p.volatile_cache = true;
  return ssd("NVMe TLC, consumer", p);
}

// assumed: the middle of the class (1.5 to 3 GB/s, 10 to 50 kIOPS at the indirection unit).
DeviceSpec nvme_qlc_dc() {
  SsdParams p;
  p.capacity = Bytes{7'680 * kGB};
  p.read_rate = BytesPerSec{6'500 * kMB};
  p.write_rate = BytesPerSec{2'200 * kMB};
  p.read_latency = microseconds{110};
  p.write_latency = microseconds{30};
  p.read_iops = 800'000;
  p.write_iops = 500'000;
  p.queue_depth = 1023;
  p.random_write_amplification = 2.2e9 / (30'000 * 16384.0);
  p.indirection_unit = Bytes{16'384};
  return ssd("NVMe QLC, data centre", p);
}

DeviceSpec fixed_rate(BytesPerSec rate, Bytes capacity) {
  SsdParams p;
  p.capacity = capacity;
  p.read_rate = p.write_rate = rate;
  p.read_latency = p.write_latency = Duration{0};
  return ssd("fixed rate", p);
}

DeviceSpec raid(RaidLevel level, int disks, Bytes chunk, DeviceSpec member) {
  DeviceSpec spec;
  spec.model = Model::raid;
  spec.raid.level = level;
  spec.raid.chunk = chunk;
  spec.disks = disks;
  static constexpr std::string_view kNames[] = {"linear", "RAID 0", "RAID 10", "RAID 5", "RAID 6"};
  spec.name = std::string(kNames[static_cast<std::size_t>(level)]) + " of " + std::to_string(disks) + " x " + member.name;
  spec.members.push_back(std::move(member));
  return spec;
}

DeviceSpec behind_write_cache(Bytes size, DeviceSpec below) {
  DeviceSpec spec;
  spec.model = Model::write_cache;
  spec.name = "write cache over " + below.name;
  spec.cache.size = size;
  spec.members.push_back(std::move(below));
  return spec;
}

DeviceSpec limited(BytesPerSec rate, Bytes capacity) {
  DeviceSpec spec;
  spec.model = Model::limit;
  spec.name = "limit";
  spec.limit.rate = rate;
  spec.limit.capacity = capacity;
  return spec;
}

DeviceSpec limited(BytesPerSec rate, DeviceSpec below) {
  DeviceSpec spec;
  spec.model = Model::limit;
  spec.name = "limit over " + below.name;
  spec.limit.rate = rate;
  spec.members.push_back(std::move(below));
  return spec;
}

DeviceSpec scaled_to(DeviceSpec spec, Bytes size) {
  constexpr std::int64_t kSmallest = 16 * kMiB;
  const Bytes whole{std::max(kSmallest, (size.value() + 4095) / 4096 * 4096)};
  spec.hdd.capacity = spec.ssd.capacity = spec.limit.capacity = whole;
  const int count = spec.disks > 0 ? spec.disks : static_cast<int>(spec.members.size());
  if (count == 0) return spec;
  std::int64_t share = whole.value();
  if (spec.model == Model::raid) {
    int data = count;
    if (spec.raid.level == RaidLevel::raid5) data = count - 1;
    if (spec.raid.level == RaidLevel::raid6) data = count - 2;
    share = share / std::max(1, data) + 1;
    if (spec.raid.level == RaidLevel::raid10) share *= spec.raid.copies;
    share = (share / spec.raid.chunk.value() + 2) * spec.raid.chunk.value();  // whole chunks, and one for rounding
  }
  for (DeviceSpec& member : spec.members) member = scaled_to(std::move(member), Bytes{share});
  return spec;
}

std::vector<Preset> presets() {
  return {{"hdd-7200-4tb", hdd_7200_4tb},   {"hdd-7200-6tb", hdd_7200_6tb}, {"hdd-7200-500gb", hdd_7200_500gb},
          {"hdd-10k", hdd_10k_sas},         {"hdd-15k-450gb", hdd_15k_450gb}, {"hdd-15k-600gb", hdd_15k_600gb},
          {"ssd-sata", ssd_sata_dc},        {"nvme-pm9a3", nvme_pm9a3},     {"nvme-consumer", nvme_consumer},
          {"nvme-qlc", nvme_qlc_dc}};
}

}  // namespace spillway::sim::device
