#pragma once
/// Everything the simulated box is told: plain values, no behaviour. Whoever has an experiment translates it into this.
///
/// Defaults describe the box on which the reference runs were made only where a comment says so; elsewhere they are the
/// kernel's own. Nothing here is read from a measurement that the prediction is then compared with: the state fields
/// describe the moment *before* the run.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/device/device_spec.hpp"
#include "sim/cpu/costs.hpp"
#include "sim/cpu/cpu_set.hpp"
#include "sim/job/job.hpp"
#include "sim/kernel_version.hpp"
#include "sim/memory/ablation.hpp"
#include "sim/memory/thresholds.hpp"
#include "sim/units.hpp"

namespace spillway::sim {

/// One archive, as far as a file system sees it: its directories and the sizes of its files, in archive order.
struct FileCatalogue {
  struct File {
    Bytes size{0};
    std::int32_t directory = 0;  ///< index below `directories`
  };
  std::int32_t directories = 1;
  std::vector<File> files;
  [[nodiscard]] Bytes bytes() const {
    Bytes sum{0};
    for (const auto& f : files) sum += f.size;
    return sum;
  }
};

/// How a program unpacks an archive: the costs are those of BoxInputs::costs plus these.
struct EngineInputs {
  std::string name = "tar";
  /// Bytes per write(2). cited: GNU tar works in records of 20 blocks of 512 bytes.
  Bytes write_size{10240};
  /// CPU time per 4 KiB page over what CpuCosts says, user and kernel (reading the archive, small writes).
  Duration user_per_page{};
  Duration system_per_page{};
  /// Writer threads inside one untar, each taking the next file.
  int writers = 1;
  /// One O_DIRECT write per file instead of the page cache.
  bool direct = false;
  /// sync each file before the next: none of these is the default.
  bool fsync_each = false;
};

/// The untars. Each unpacks the catalogue into a folder of its own.
struct ReplayInputs {
  std::shared_ptr<const FileCatalogue> catalogue;
  int untars = 8;
  int at_once = 1;
  EngineInputs engine;
  /// Between the end of one untar and the start of the next in the same lane (the harness' fork and wait). measured: 2 ms
  /// in the reference runs.
  Duration gap = std::chrono::milliseconds{2};
  /// Timed phases before the first untar and after the last.
  bool remove_before = false;    ///< old trees of the same catalogue removed, one remover per untar, at once
  bool skeleton_before = false;  ///< directories and empty files made first; the untars then open and fill them
  bool sync_after = true;        ///< syncfs of the file system, timed
  /// The archive is not in the cache at the start: the untars read it, from a disk of its own at `archive_rate`, as far as
  /// the cache does not have it by then. Otherwise it is cached and stays so.
  bool archive_cold = false;
  BytesPerSec archive_rate{500 * kMB};
};

/// Who writes back; what the kinds mean is in sim/flusher/flushers.hpp.
struct FlusherInputs {
  enum class Kind : std::uint8_t { kernel, contexts, cgroup, user, per_writer };
  enum class Affinity : std::uint8_t { inode, allocation_group };
  Kind kind = Kind::kernel;
  int count = 1;                        ///< of contexts, cgroups or helpers
  Affinity affinity = Affinity::inode;  ///< contexts only
  Bytes cgroup_limit{0};                ///< memory.max of each cgroup; 0: none
  [[nodiscard]] int contexts() const { return kind == Kind::contexts || kind == Kind::cgroup ? count : 1; }
};

struct MemoryInputs {
  /// vm.dirty_*: see sim/memory/thresholds.hpp.
  DirtySettings dirty;
  Duration dirty_expire = std::chrono::seconds{30};
  Duration writeback_interval = std::chrono::seconds{5};
  /// Total RAM: bounds the page cache.
  Bytes ram{24 * kGiB};
  /// What may be dirty at the start (free + file pages - reserves). 0: nine tenths of RAM.
  Bytes dirtyable{0};
};

/// The kernel's writeback state before the run. Defaults: a new device on a box that has been idle.
struct StateBefore {
  /// Completed pages that the device's and the global halving counters hold. share = device / global.
  std::int64_t device_completions = 0;
  std::int64_t global_completions = 0;
  /// How long until the counters are halved next, at most 3 s; negative: the period timer is not running.
  Duration next_halving{-1};
  /// cited: mm/backing-dev.c wb_init, INIT_BW = 100 MiB/s.
  BytesPerSec write_bandwidth{100 * kMiB};
  BytesPerSec avg_write_bandwidth{100 * kMiB};
  BytesPerSec dirty_ratelimit{100 * kMiB};
  BytesPerSec balanced_dirty_ratelimit{100 * kMiB};
  /// The sliding limit (1.4); 0: equal to the threshold.
  Bytes dirty_limit{0};
  /// How long ago the device's bandwidth was last updated. Long: as on a new device.
  Duration bandwidth_stamp_age = std::chrono::hours{1};
  /// Dirty pages of other file systems, counted by the global limits, constant through the run.
  Bytes foreign_dirty{0};
  /// Pages per second that other devices complete through the run: they take completion share away.
  double foreign_completions_per_s = 0;
  /// Cores that other programs keep busy through the run: they compete with the untars for their turns.
  double foreign_cpus = 0;
  /// Where in its tick the box is at time 0, in [0, 1/HZ).
  Duration tick_phase{0};
};

struct FilesystemInputs {
  /// Which XFS: `full` (sim/xfs/xfs.hpp: free space, log space, work queues) or `thin` (simple_xfs.hpp: contiguous files, a
  /// log that is a counter; fewer events).
  enum class Model : std::uint8_t { full, thin };
  Model model = Model::thin;
  Bytes size{20 * kGiB};
  /// 0: as many as mkfs makes.
  int allocation_groups = 0;
  Bytes log_size{64 * kMiB};
  Bytes log_buffer{32 * kKiB};
  int log_buffers = 8;
  std::optional<Bytes> stripe_unit, stripe_width;
  bool swalloc = false, largeio = false, inode64 = true;
  std::optional<Bytes> allocsize;
  bool external_log = false;         ///< the log on a device of its own, as fast as DeviceInputs::base_rate
  Bytes inode_size{512};
  bool finobt = true, reflink = true, rmapbt = false;  ///< cited: mkfs.xfs 6.1
  /// Share of the file system that is full, its free space as years of creating and deleting left it. 0: new.
  double filled = 0;
};

/// The disk as the block layer sees it.
struct DeviceInputs {
  enum class Kind : std::uint8_t {
    throttled,  ///< fast device behind a blk-throttle byte limit on the file system's own device: unlimited queue
    stacked,    ///< the same limit one loop below: the file system's device has `queue_depth` tags and wbt
    fixed,      ///< a device that serves one request after another at a fixed rate, bounded queue
    model,      ///< a sim/device/ model (`model` below), bounded queue; rates and latency here do not matter then
  };
  Kind kind = Kind::throttled;
  /// The limit (throttled, stacked) or the device's sequential write rate (fixed). Must be positive.
  BytesPerSec write_rate{40 * kMiB};
  BytesPerSec read_rate{500 * kMB};
  /// The device under a throttle. measured: 1.9 GB/s sequential (`test-box.md`).
  BytesPerSec base_rate{1900 * kMB};
  Duration latency = std::chrono::microseconds{100};
  /// Write I/Os per second that the throttle lets through; 0: no limit.
  std::int64_t write_iops = 0;
  /// A slice of the throttle begins with the run (state before): the last write before it was at that instant.
  bool slice_begun = false;
  /// Tags (nr_requests). cited: loop 128.
  int queue_depth = 128;
  /// Largest request. cited: loop 1280 KiB.
  Bytes max_request{1280 * kKiB};
  /// Is there a volatile cache to flush, and what a flush costs.
  bool volatile_cache = true;
  Duration flush_time = std::chrono::milliseconds{1};
  bool wbt = true;
  /// What its kernel workers are called after; a loop device has a worker of its own.
  std::string name = "dm-0";
  int major = 254, minor = 0;
  bool loop = false;
  /// read_ahead_kb. cited: 128 KiB, the block layer's default.
  Bytes read_ahead{128 * kKiB};
  /// Kind::model: the device. It must hold the file system.
  std::optional<device::DeviceSpec> model;
};

struct BoxInputs {
  std::uint64_t seed = 1;
  bool shuffle_ties = false;
  KernelVersion kernel = kernel_versions().back();
  int hz = 250;
  CpuParams cpu;
  CpuCosts costs;
  MemoryInputs memory;
  StateBefore before;
  FilesystemInputs filesystem;
  DeviceInputs device;
  ReplayInputs replay;
  FlusherInputs flushers;
  /// A sleeper wakes up to this much after its tick, drawn from the seed. Several writers that are alike would otherwise
  /// take every decision at the same nanosecond, which no machine does: who looks first after a tick sees fewer dirty pages
  /// and sleeps less, and that decides the split among them. 0 (one writer): no draw.
  Duration wake_jitter{0};
  /// Run beside the untars.
  std::vector<JobInputs> jobs;
  /// 0: no timeline.
  Duration sample_every = std::chrono::milliseconds{100};
  /// Keep every balance_dirty_pages decision (BoxOutputs::throttle_trace).
  bool trace_throttling = false;
  Ablation ablation;
};

/// Ranges and relations, once, at the door: a rate of 0, an empty catalogue, HZ out of {100, 250, 300, 1000} and the
/// like are refused with a sentence.
[[nodiscard]] Status validate(const BoxInputs& inputs);

}  // namespace spillway::sim
