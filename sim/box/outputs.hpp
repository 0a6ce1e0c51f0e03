#pragma once
/// What the simulated box found: plain values. Times count from the moment the first phase begins.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/device/counters.hpp"
#include "sim/cpu/account.hpp"
#include "sim/job/job.hpp"
#include "sim/units.hpp"

namespace spillway::sim {

struct UntarOutputs {
  int index = 0;                  ///< from 1, in order of starting
  Duration start{}, elapsed{};
  TimeAccount account;            ///< of its process; the writers' threads added up where there are several
  std::uint64_t voluntary_switches = 0, involuntary_switches = 0;
  std::int64_t throttle_decisions = 0;  ///< passes of balance_dirty_pages beyond freerun
  std::int64_t pauses = 0;              ///< of those, with a sleep
  Duration pause_asked{};               ///< sum of the pauses asked for; the real sleeps are account.throttled
  [[nodiscard]] double cpu_percent() const {
    return elapsed.count() > 0 ? 100.0 * to_seconds(account.cpu()) / to_seconds(elapsed) : 0.0;
  }
};

struct PhaseOutputs {
  std::string name;               ///< remove, skeleton, sync
  Duration start{}, elapsed{};
  TimeAccount account;
};

/// One row every BoxInputs::sample_every. Pages of 4 KiB.
struct TimelineRow {
  Duration at{};
  std::int64_t nr_dirty = 0, nr_writeback = 0;             ///< global, foreign pages included
  std::int64_t threshold = 0, background_threshold = 0, freerun = 0, dirty_limit = 0;
  std::int64_t device_reclaimable = 0, device_writeback = 0;
  std::int64_t device_share = 0;                           ///< wb_thresh
  std::int64_t device_dirtied = 0, device_written = 0;     ///< cumulative
  std::int64_t write_bandwidth = 0, avg_write_bandwidth = 0, dirty_ratelimit = 0;  ///< pages/s
  std::int64_t b_dirty = 0, b_io = 0, b_more_io = 0;       ///< inodes
  std::int64_t device_writes = 0;                          ///< cumulative, at completion
  Bytes device_written_bytes{0};
  std::int64_t in_flight = 0;                              ///< requests inside the device (0 while bios wait in a throttle)
  Duration flusher_cpu{};                                  ///< cumulative
};

/// One decision of balance_dirty_pages, in the columns of the reference `bdp` files and those that they lack.
struct ThrottleTraceRow {
  Duration at{};
  std::string task;
  int untar = 0;
  std::int64_t dirty = 0, setpoint = 0, limit = 0;         ///< pages
  std::int64_t dirty_ratelimit = 0, task_ratelimit = 0;    ///< pages/s
  std::int64_t dirtied = 0, dirtied_pause = 0;             ///< pages
  std::int64_t paused_ms = 0, pause_ms = 0, period_ms = 0, think_ms = 0;
  std::int64_t wb_dirty = 0, wb_thresh = 0, avg_write_bandwidth = 0, pos_ratio = 0;
};

struct RateLimitTraceRow {
  Duration at{};
  std::int64_t write_bandwidth = 0, avg_write_bandwidth = 0, dirty_rate = 0, dirty_ratelimit = 0, task_ratelimit = 0,
               balanced_dirty_ratelimit = 0;               ///< pages/s
};

/// A kernel worker or thread, by the name its work gives it.
struct WorkerOutputs {
  std::string name;               ///< "flush", "xfs-conv", "xfs-cil", "xfsaild", ...
  Duration cpu{};
  std::uint64_t runs = 0;
  int count = 1;                  ///< workers that ever ran its work
  int core = -1;                  ///< the last one's; -1: unbound, or a thread
  bool high_priority = false;
  int number = 0;                 ///< a worker's number in its pool
  std::string shown;              ///< as `ps` shows it on that kernel (sim/xfs/worker_names.hpp); empty: not worked out
};

/// One flush context.
struct FlusherOutputs {
  std::int64_t pages_written = 0;
  std::uint64_t passes = 0;
  TimeAccount account;            ///< device: asleep on tags or write-back throttling; lock: groups and inodes; log: its space
};

struct DeviceOutputs {
  std::int64_t writes = 0, reads = 0, flushes = 0;
  Bytes written{0}, read{0};
  Bytes metadata_written{0};      ///< log and metadata, part of `written`
  Duration busy{};
  /// Kind::model: every disk's counters and where its time went, to the end of the run and to the start of the first
  /// untar, and the sequential rate as the yardstick.
  std::optional<device::Counters> model, model_before;
  BytesPerSec sequential_rate{0};
};

struct FilesystemOutputs {
  std::int64_t files = 0, extents = 0;
  std::int64_t transactions = 0, checkpoints = 0;
  Bytes log_written{0}, inode_written{0};
  // The full file system only:
  std::int64_t files_with_extents = 0;       ///< there at the end; `extents` counts theirs
  std::int64_t log_writes = 0, log_forces = 0, ail_pushes = 0;
  Duration log_space_wait{};                 ///< of all tasks
  std::int64_t groups_passed_over = 0;       ///< allocations that went on to another group because an AGF was locked
  std::int64_t free_blocks = 0;
  std::vector<std::int64_t> free_extents;    ///< free extents of at least 2^i and less than 2^(i+1) blocks
};

struct BoxOutputs {
  std::vector<UntarOutputs> untars;
  std::vector<PhaseOutputs> phases;
  std::vector<JobOutputs> jobs;
  CacheOutputs cache;
  Bytes archive_from_device{0}, archive_from_cache{0};  ///< cold archives only
  std::vector<TimelineRow> timeline;
  std::vector<ThrottleTraceRow> throttle_trace;
  std::vector<RateLimitTraceRow> ratelimit_trace;
  std::vector<WorkerOutputs> workers;
  std::vector<FlusherOutputs> flushers;      ///< by context
  TimeAccount helpers;                       ///< of user-space flushers, together
  DeviceOutputs device;
  FilesystemOutputs filesystem;
  Duration untars_end{};          ///< end of the last untar
  Duration durable{};             ///< end of the last phase
  Duration throttle_began{};      ///< first pause of any task; 0 when there was none
  std::int64_t pages_dirtied = 0, pages_written = 0, pages_cancelled = 0;
  std::uint64_t events = 0;       ///< the engine's, the unit of simulation cost
};

}  // namespace spillway::sim
