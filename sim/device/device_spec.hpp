#pragma once
/// A block device written down: which model, with which parameters, over which members. Plain data; make_device()
/// turns it into a running model. Specs compose: a write cache over a RAID over disks is three of them, nested.
///
/// Every parameter says where its default comes from: `cited` (spec sheet or kernel source), `measured` (which run),
/// or `assumed`. Ready-made specs with their sources are in presets.hpp.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/device/device.hpp"
#include "sim/result.hpp"
#include "sim/units.hpp"

namespace spillway::sim::device {

/// How a disk chooses among what is queued.
enum class Scheduling : std::uint8_t {
  fifo,           ///< in order of arrival
  cscan,          ///< next higher address, then from the lowest again
  shortest_access ///< least seek plus rotation from where head and platter are now; ageing keeps it fair
};

enum class Rotation : std::uint8_t {
  computed,  ///< from the angle of platter and sector at that moment
  drawn,     ///< uniform over a revolution, unless the request goes on where the last one ended
};

/// A rotating disk. Tracks are grouped in zones of equal track count whose sectors per track fall linearly from outside
/// to inside; a track's first sector is skewed against the track before, so that a sequential stream goes on without a
/// lost revolution. Not modelled: heads within a cylinder, defects, recalibration, several read-ahead segments.
struct HddParams {
  Bytes capacity{4'000 * kGB};
  /// cited: 7200 rpm, Ultrastar 7K4000 specification.
  double revolutions_per_minute = 7200;
  /// Sustained sequential rate on the outermost and innermost track. assumed: typical of the class.
  BytesPerSec outer_rate{170 * kMB}, inner_rate{80 * kMB};
  /// Seek over a third of the stroke. cited: 8.2 ms typical, Ultrastar 7K4000 specification.
  Duration read_seek_average = std::chrono::microseconds{8200}, write_seek_average = std::chrono::microseconds{8200};
  /// Seek to the next track. assumed: the 2.5" Constellation manual's 0.5 / 0.7 ms.
  Duration read_seek_track = std::chrono::microseconds{500}, write_seek_track = std::chrono::microseconds{700};
  /// Seek over the whole stroke. assumed: the 2.5" Constellation manual's 17.4 / 17.8 ms.
  Duration read_seek_full = std::chrono::microseconds{17400}, write_seek_full = std::chrono::microseconds{17800};
  /// From a command's arrival until the arm can move for it; overlaps with the command before. assumed: 0.1 to 0.3 ms.
  Duration command_overhead = std::chrono::microseconds{200};
  /// Rate between host and the disk's buffer. assumed: SATA 6 Gb/s.
  BytesPerSec interface_rate{550 * kMB};
  /// Commands that the disk sees at once; more wait in order of arrival. cited: SATA NCQ, 32.
  int queue_depth = 32;
  Scheduling scheduling = Scheduling::shortest_access;
  /// A command older than this is served before all others. assumed.
  Duration starvation_limit = std::chrono::milliseconds{500};
  Rotation rotation = Rotation::computed;
  /// Volatile write cache: size, and in how many separate runs it can hold data. With 0 bytes the cache is off and a
  /// write is complete when it is on the platter. assumed: 64 MiB; runs chosen so that cached random writes gain 1.5 to 3
  /// times over uncached ones.
  Bytes write_cache{64 * kMiB};
  int write_cache_runs = 24;
  /// Destaging competes with queued reads only above this share of the cache. assumed.
  double destage_over_reads_above = 0.75;
  /// Longest single destage, so that reads get in between. assumed.
  Bytes destage_unit{kMiB};
  /// How far the disk reads on by itself after a read, as long as nothing else is to do. assumed.
  Bytes read_ahead{4 * kMiB};
  /// A write that covers such a block in part costs a revolution more. cited: 4096 on "512e" disks.
  Bytes physical_block{4096};
  /// Disks of one kind do not turn in step: each one's speed is off by up to this share. assumed.
  double spindle_tolerance = 0.001;
  int zones = 16;  ///< assumed.
};

/// A solid-state disk: a pipe of so many bytes per second, reached after a latency that does not occupy the pipe.
struct SsdParams {
  Bytes capacity{960 * kGB};
  BytesPerSec read_rate{540 * kMB}, write_rate{500 * kMB};
  Duration read_latency = std::chrono::microseconds{90}, write_latency = std::chrono::microseconds{40};
  /// Most commands per second, whatever their size (0: no such limit).
  double read_iops = 0, write_iops = 0;
  /// Commands inside at once; more wait. Also what queue_depth() says.
  int queue_depth = 32;
  /// Bytes on flash per byte written, for writes that go on from none of the last `write_streams` ones. 1 on a fresh
  /// or trimmed drive; in the steady state of full-span random writes sequential rate / (random IOPS * 4 KiB).
  double random_write_amplification = 1;
  int write_streams = 64;
  /// Writes that cover such a unit in part read and write it whole.
  Bytes indirection_unit{4096};
  /// The first `fast_cache` bytes go at `fast_write_rate`; it empties at `fast_drain_rate` while the drive is idle.
  Bytes fast_cache{0};
  BytesPerSec fast_write_rate{0}, fast_drain_rate{0};
  /// Cost of a cache flush, and of FUA, during which nothing else is served. 0 with power-loss protection.
  Duration flush_latency{0};
  bool volatile_cache = false;
};

/// A limit in front of a device, or alone (an ideal device behind a limit): bytes and requests per second, with a burst
/// after idleness. The "loop limit". The kernel's own blk-throttle with its slices is not this.
struct LimitParams {
  BytesPerSec rate{40 * kMiB};  ///< reads and writes each have their own budget
  double iops = 0;              ///< 0: no limit
  Bytes burst{kMiB};            ///< may be moved at once after idleness
  Bytes capacity{20 * kGB};     ///< only when it stands alone
  int queue_depth = 128;        ///< cited: loop driver, hw_queue_depth = 128
};

enum class RaidLevel : std::uint8_t { linear, raid0, raid10, raid5, raid6 };

struct RaidParams {
  RaidLevel level = RaidLevel::raid0;
  Bytes chunk{512 * kKiB};  ///< cited: mdadm's default (512 KiB); dm-stripe has none
  int copies = 2;           ///< RAID 10, "near" layout; any disk count that is not smaller

  // Parity levels.
  /// 4 KiB-high rows that the stripe cache holds. cited: drivers/md/raid5.c, NR_STRIPES = 256 (1 MiB per member).
  std::int64_t stripe_cache_rows = 256;
  /// A partial row waits this long for its missing parts, as until the submitter unplugs. assumed.
  Duration partial_row_delay = std::chrono::microseconds{100};
  /// Is read-modify-write allowed (else always reconstruct)? cited: RAID 5 yes; RAID 6 with an XOR-syndrome routine.
  bool read_modify_write = true;
  /// Serial CPU time of handling one 4 KiB-high row once, and threads that do so. 0 for a controller. cited: raid5d is one
  /// thread unless group_thread_cnt > 0; the time is to be fitted.
  Duration row_cpu{0};
  int row_threads = 1;

  // Write-intent bitmap (parity levels).
  Bytes bitmap_chunk{0};  ///< 0: none. Bytes of the array that one bit stands for.
  /// A bit goes out again when nothing was written there for so long. assumed: longer than the published runs.
  Duration bitmap_clear_after = std::chrono::seconds{60};
};

/// A controller's battery-backed write cache in front of a device. Flush and FUA cost nothing, because it survives.
struct WriteCacheParams {
  Bytes size{512 * kMiB};       ///< assumed: 512 MiB to 8 GiB
  /// assumed: 50 to 200 us.
  Duration ack_latency = std::chrono::microseconds{100};
  BytesPerSec interface_rate{2 * kGB};  ///< assumed: host to controller
  int destage_depth = 32;       ///< destages at once; assumed
  /// Longest destage; rounded to whole rows of the device below. assumed.
  Bytes destage_unit{4 * kMiB};
  /// Below this share it waits for more to coalesce, unless idle for `idle_destage`. assumed.
  double destage_above = 0.25;
  Duration idle_destage = std::chrono::milliseconds{500};
  int queue_depth = 256;        ///< assumed: 254 to 1024
  bool rotational = true;       ///< what it tells the host; assumed: 1 unless told otherwise
};

enum class Model : std::uint8_t { hdd, ssd, limit, raid, write_cache };

struct DeviceSpec {
  Model model = Model::ssd;
  std::string name = "ssd";      ///< for reports; no meaning
  HddParams hdd{};
  SsdParams ssd{};
  LimitParams limit{};
  RaidParams raid{};
  WriteCacheParams cache{};
  /// RAID: one spec per member, or a single one for `disks` equal members. Write cache: exactly one. Limit: none or one.
  std::vector<DeviceSpec> members{};
  int disks = 0;                 ///< number of equal members; 0: members.size()
};

/// The running model, or what is wrong with the spec. Random phases and draws come from the streams (seed, disk name).
[[nodiscard]] Result<std::unique_ptr<Device>> make_device(const DeviceSpec& spec, std::uint64_t seed);

}  // namespace spillway::sim::device
