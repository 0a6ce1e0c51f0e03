#pragma once
/// The record of one repeat: what was asked, on what box, and what came out. Every box writes this same structure and
/// analysis/ never knows which box a record came from (except through `box.kind`, which decides the word: a simulated
/// box *predicts*, a real one *measures*).
///
/// On disk: OUT/<experiment>/<case>/r<N>/record.json beside timeline.csv, traces and figures. Schema name and version
/// are inside. Fields that depend on the host's wall clock or name live in `host` only, so that everything else can be
/// compared byte for byte.

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace spillway {

inline constexpr const char* kRecordSchema = "spillway.record/1";

/// Where a task's elapsed time went, in seconds. The same keys in every box; the parts add up to elapsed.
struct Account {
  double user_s = 0;       ///< running in user mode
  double system_s = 0;     ///< running in the kernel
  double runqueue_s = 0;   ///< runnable, waiting for a core
  double throttled_s = 0;  ///< asleep in balance_dirty_pages
  double device_s = 0;     ///< blocked on reads or writes of a device
  double lock_s = 0;       ///< blocked on a lock
  double log_s = 0;        ///< blocked on log space or a log force
  double unknown_s = 0;    ///< elapsed less all of the above: what no source explained
  [[nodiscard]] double total_s() const {
    return user_s + system_s + runqueue_s + throttled_s + device_s + lock_s + log_s + unknown_s;
  }
};

/// One untar (or one other task of the replay), as `time` would report it.
struct UntarResult {
  int number = 0;        ///< 1-based, in start order
  double start_s = 0;    ///< since the start of the first untar
  double elapsed_s = 0;  ///< until the last write was accepted (apparent)
  double user_s = 0, system_s = 0;
  std::int64_t bytes = 0;  ///< file data extracted
  std::int64_t files = 0;
  std::int64_t max_rss_bytes = 0;
  std::int64_t voluntary_switches = 0, involuntary_switches = 0;
  int exit_status = 0;
  Account account;
  /// Source of each part of the account, for example {"throttled", "taskstats blkio_delay_total"}.
  std::map<std::string, std::string> account_sources;
  std::int64_t pauses = 0;         ///< balance_dirty_pages sleeps
  double longest_pause_s = 0;      ///< longest single stall
  [[nodiscard]] double cpu_pct() const { return elapsed_s > 0 ? 100.0 * (user_s + system_s) / elapsed_s : 0.0; }
};

/// A timed phase before or after the untars: remove, skeleton, sync, ...
struct PhaseResult {
  std::string name;
  double start_s = 0;  ///< since the start of the first untar; negative for phases before
  double elapsed_s = 0;
  double user_s = 0, system_s = 0;
  double device_busy_s = 0;  ///< how long the device stayed busy in or after the phase
};

/// One [[job]].
struct JobResult {
  std::string name;
  double start_s = 0, elapsed_s = 0;
  double user_s = 0, system_s = 0;
  std::int64_t read_bytes = 0, write_bytes = 0, operations = 0;
  double mb_per_s = 0, iops = 0;
  double lat_ms_mean = 0, lat_ms_p50 = 0, lat_ms_p99 = 0, lat_ms_max = 0;
  Account account;
};

/// One stage of a [pipeline], or one of its threads.
struct StageResult {
  std::string name;
  int threads = 0;
  double cpu_pct = 0;          ///< of one core, summed over its threads
  double cpu_pct_max = 0;      ///< the busiest thread
  std::int64_t requests = 0;
  double lock_wait_s = 0, lock_held_pct = 0;
  double wakeup_delay_us_mean = 0, wakeup_delay_us_p99 = 0, wakeup_delay_us_max = 0;
  std::int64_t context_switches = 0;
};

/// A kernel worker (or kernel thread) seen during the run, by work queue.
struct KworkerResult {
  std::string queue;      ///< "writeback", "xfs-conv", "xfs-cil", "loop", ... (without the device)
  std::string name;       ///< as `ps` shows it on that kernel, for example "kworker/u8:2+flush-7:0"
  int count = 0;          ///< how many workers of that queue were seen
  double cpu_s = 0;
  double cpu_pct = 0;     ///< of the time from the first untar to durable
  std::string busiest_state;  ///< state and wait channel seen most often, for example "D rq_qos_wait"
};

struct FlusherResult {
  int count = 0;          ///< flush contexts that wrote
  double cpu_s = 0, cpu_pct = 0;
  double blocked_s = 0;   ///< asleep on tags, wbt, log, locks
  std::int64_t pages_written = 0;
};

/// Device totals over the run (first untar to durable), and where the sequential rate went.
struct DeviceResult {
  std::int64_t write_bytes = 0, read_bytes = 0, write_ios = 0, read_ios = 0;
  std::int64_t seeks = 0, rmw_reads = 0, flushes = 0;
  double busy_s = 0, busy_pct = 0;
  double sequential_mb_per_s = 0;  ///< what it would do at best; 0 where unknown
  double efficiency_pct = 0;       ///< data bytes / (sequential rate x time), in %
  /// Shares of the run's device time, in %: transfer, seek, rotation, rmw, alignment, metadata, log, idle.
  std::map<std::string, double> split_pct;
  std::vector<std::map<std::string, double>> members;  ///< per disk: busy_s, seeks, write_mb, read_mb, rmw_reads
};

struct LogResult {
  std::int64_t transactions = 0, log_writes = 0, log_bytes = 0, forces = 0, ail_pushes = 0;
  double space_wait_s = 0;
};

/// The kernel's writeback state before the run. The only thing that a simulation may take from a real record of the
/// run that it predicts.
struct BoxState {
  std::optional<double> completion_share;         ///< 0..1, this device's share of recent completions
  std::optional<double> completion_phase_s;       ///< time since the last 3 s halving; none with known counters: the timer rests
  /// The halving counters themselves, pages, as the kernel holds them (fprop_local_percpu, fprop_global).
  std::optional<std::int64_t> device_completions_pages, global_completions_pages;
  std::optional<std::int64_t> dirty_ratelimit_pages_per_s;
  std::optional<std::int64_t> avg_write_bandwidth_pages_per_s;
  std::optional<std::int64_t> write_bandwidth_pages_per_s;
  std::optional<std::int64_t> balanced_dirty_ratelimit_pages_per_s;
  std::optional<double> bandwidth_stamp_age_s;    ///< since the bandwidth estimate's last update
  std::optional<std::int64_t> dirty_limit_pages;  ///< the sliding hard limit
  std::optional<std::int64_t> dirtyable_pages;
  std::optional<std::int64_t> foreign_dirty_pages;
  /// What others did in the second before the run: pages that other devices completed, and cores that were busy.
  std::optional<double> foreign_completions_pages_per_s, foreign_cpus;
  std::optional<std::int64_t> free_pages, file_pages;
  std::optional<double> uptime_s;                 ///< the kernel's clock at time 0: where in its tick the run began
  std::optional<double> throttle_slice_age_s;     ///< since the write limit's slice began
  bool cold = false;                              ///< a device number that has never written
};

/// The box as far as it decides the outcome.
struct BoxInfo {
  std::string kind;            ///< "real", "simulated", "kernel", "vm"
  std::string name;            ///< for kernel[:NAME]
  std::string kernel;          ///< "6.18.44", or the modelled version
  int hz = 0, cpus = 0, numa_nodes = 1;
  std::int64_t ram_bytes = 0;
  std::string device;          ///< one line: what the disk is
  std::string target;          ///< "loop", "modeled", "mount", "device", "simulated"
  nlohmann::ordered_json profile;      ///< the complete effective profile with marks cited/measured/assumed
  nlohmann::ordered_json environment;  ///< what a list asks for: vm.*, queue settings, xfs_info, mounts, meminfo, ...
};

/// A crossing or boundary on the run's clock, for figures and the knee.
struct Mark {
  double t_s = 0;
  std::string what;  ///< "untar 3 start", "untar 3 end", "phase sync start", ...
};

struct Record {
  std::string experiment_title;
  std::string experiment_name;                 ///< stem of the file
  nlohmann::ordered_json experiment;           ///< the complete effective experiment of this case (normalised)
  std::vector<std::pair<std::string, std::string>> case_keys;  ///< swept keys and values of this case
  int repeat = 1;
  std::uint64_t seed = 0;
  BoxInfo box;
  BoxState state_before;
  std::vector<UntarResult> untars;
  std::vector<PhaseResult> phases;
  std::vector<JobResult> jobs;
  std::vector<StageResult> stages;
  std::vector<KworkerResult> kworkers;
  FlusherResult flusher;
  DeviceResult device;
  LogResult log;
  std::optional<double> extents_mean;          ///< extents per file
  double untars_end_s = 0;                     ///< end of the last untar (apparent)
  double durable_s = 0;                        ///< until the data was on disk
  std::optional<double> cpu_total_s;           ///< whole box, all tasks
  std::vector<Mark> marks;
  std::vector<std::string> disturbances;       ///< non-empty: the repeat was disturbed, each a sentence
  std::vector<std::string> notes;              ///< what was assumed, substituted, could not be seen
  std::map<std::string, double> counters;      ///< anything countable: events, syscalls, lost trace events
  std::vector<std::string> files;              ///< files beside the record: timeline.csv, bdp.csv, ratelimit.csv
  bool complete = false;                       ///< set last; an incomplete record is redone
  nlohmann::ordered_json host;                 ///< wall clock, host name, program version, monitor cost
};

}  // namespace spillway
