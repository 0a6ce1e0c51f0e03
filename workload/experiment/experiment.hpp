#pragma once
/// A typed experiment: what one experiment file asks, for one case (after sweeps are expanded). Plain values; defaults
/// stand here and nowhere else. The table in keys.hpp binds each member to its key, unit, meaning and boxes; parsing,
/// validation, the effective experiment in the record and `spillway keys` all follow from that table.
///
/// Sizes and rates: MB = 10^6, MiB = 2^20. Unset optionals mean "as the box has it".

#include "sim/units.hpp"
#include "workload/record/expectation.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace spillway {

/// [archive]: a real file, or one made from a seed (byte-identical on every machine).
struct ArchiveSpec {
  std::string path;                        ///< real archive; relative to the experiment file. Empty: made.
  std::string decompress = "once";         ///< once (unpacked to a cached plain tar, not timed) | each (timed)
  std::string sha256;                      ///< expected hash of a real archive; empty: not checked
  std::uint64_t seed = 1;
  std::int64_t files = 2500;
  Bytes bytes{300 * kMB};                  ///< sum of the file sizes
  std::string sizes = "lognormal";         ///< fixed | lognormal | histogram
  double sigma = 1.35;                     ///< of ln(size), for lognormal
  Bytes min{64};
  Bytes max{8 * kMiB};
  std::vector<std::pair<Bytes, double>> histogram;  ///< (size, weight), for sizes = "histogram"
  std::int64_t files_per_directory = 250;
};

/// [replay]: the untars.
struct ReplaySpec {
  int untars = 8;
  int at_once = 1;
  std::string engine = "tar";              ///< tar | bsdtar | libarchive | posix | uring
  int writers = 1;
  std::string direct = "false";            ///< false | true | auto
  bool drop_behind = false;                ///< uncached: write and drop each file's pages
  std::string existing = "unlink";         ///< unlink | overwrite
  std::string flushers = "kernel";         ///< kernel | user:N | cgroup:N | contexts:N:hash|ag | per_writer
  std::vector<std::string> before;         ///< remove, skeleton
  std::vector<std::string> after = {"sync"};  ///< sync | fsync_each | syncfs_each | none
  bool verify = false;                     ///< compare tree and archive afterwards
  std::string cache = "hot";               ///< archive before each repeat: hot (read once) | cold (caches dropped)
};

/// [[job]]: other loads, in fio's terms.
struct JobSpec {
  std::string name;
  std::string rw = "write";                ///< read write randread randwrite randrw create unlink compute probe
  Bytes bs{1 * kMiB};
  Bytes size{0};                           ///< per job
  Bytes filesize{0};                       ///< per file; 0: size / nrfiles
  int numjobs = 1;
  std::int64_t nrfiles = 1;
  int iodepth = 1;
  std::string ioengine = "psync";
  bool direct = false;
  int fsync = 0;                           ///< fsync after every N writes; 0: never
  bool end_fsync = false;
  Duration runtime{0};                     ///< 0: until done
  BytesPerSec rate{0};                     ///< 0: unlimited
  Duration compute{0};                     ///< CPU time per job for rw = "compute", or after a read
  Bytes anonymous{0};                      ///< anonymous memory filled while it runs
  std::string file;                        ///< name of the file read or written, so that jobs can share files
  bool own_directory = false;              ///< each of its numjobs in a directory of its own
  std::string after;                       ///< start when that job has ended
  std::string continues;                   ///< go on in that job's processes, with their memory, as soon as each has ended
  Duration start{0};                       ///< start offset
  int rwmixread = 50;
};

/// One machine of [pipeline]. Without any, there is one, the box itself.
struct HostSpec {
  std::string name;
  int cpus = 4;
  std::string scheduler = "eevdf";         ///< cfs (before 6.6) | eevdf
  Duration slice{0};                       ///< EEVDF slice or CFS wake-up granularity; 0: the kernel's default
};

/// One stage of [pipeline].
struct StageSpec {
  std::string name;
  std::string host;                        ///< empty: the first one
  int threads = 1;                         ///< 0: inline in the caller
  Duration cpu_per_request{0};
  double cpu_ns_per_byte = 0;
  std::string lock;                        ///< name of a lock taken while serving; empty: none
  Duration lock_hold{0};                   ///< CPU time under the lock per request
  Duration lock_spin{0};                   ///< how long a waiter spins before it sleeps
  int pieces = 1;                          ///< wake-ups per request (a long message comes in packets)
  Duration piece_gap{0};                   ///< time between pieces
  bool device = false;                     ///< this stage issues the request to the device
  bool blocking = false;                   ///< its thread sleeps until the device is done
  bool link = false;                       ///< this stage sends over the link
  int requests_per_thread = 0;             ///< one more thread per so many waiting requests; 0: all serve
};

/// [pipeline]: a closed loop of sources, stages, a link and a device.
struct PipelineSpec {
  int sources = 1;
  int in_flight = 1;                       ///< requests in flight per source
  Bytes request{64 * kKiB};
  std::string rw = "write";
  Duration think{0};                       ///< source's CPU time between requests
  std::int64_t requests = 0;               ///< total; 0: run for `runtime`
  Duration runtime{std::chrono::seconds{5}};
  BytesPerSec link_rate{0};                ///< 0: no link
  double bytes_on_link_per_byte = 1.0;     ///< 1.5 for a 4+2 dispersed volume
  Duration link_latency{std::chrono::microseconds{20}};
  Duration scheduler_slice{0};             ///< of every host that gives none; 0: the kernel's default
  BytesPerSec durable_rate{0};             ///< rate at which close and fsync make it durable; 0: when accepted
  double variation = 0.5;                  ///< CPU times vary uniformly by this share of their mean
  std::vector<HostSpec> hosts;
  std::vector<StageSpec> stages;
};

/// [memory]: the dirty limits. Ratio and bytes exclude each other, as in the kernel.
struct MemorySpec {
  std::optional<Bytes> ram;                ///< simulated box: RAM. Real box: refused if it has less.
  std::optional<int> dirty_ratio, dirty_background_ratio;  ///< percent
  std::optional<Bytes> dirty_bytes, dirty_background_bytes;
  std::optional<Duration> dirty_expire, dirty_writeback;
  std::optional<Bytes> cgroup_limit;       ///< memory.max of the untars
};

/// [filesystem]
struct FilesystemSpec {
  std::string type = "xfs";
  Bytes size{0};                           ///< of the image; 0: 1.6 times the data, at least 1 GiB
  std::optional<Bytes> su;                 ///< stripe unit
  std::optional<int> sw;                   ///< data disks
  std::optional<int> agcount;
  std::optional<Bytes> log_size;
  bool external_log = false;
  std::optional<bool> rmapbt, reflink, finobt;
  std::optional<Bytes> inode_size;
  std::vector<std::string> mount_options;  ///< as for mount -o
  double filled = 0;                       ///< simulated: share of the file system aged and full, 0..1
};

/// [device]: what the disk is (imitated).
struct DeviceSpecText {
  std::string model = "limit";             ///< limit | ssd | sata_ssd | nvme | hdd | raid0 | raid5 | raid6 | raid10 | jbod
  int disks = 1;
  std::string member = "hdd";              ///< model of each disk of an array
  Bytes chunk{64 * kKiB};
  BytesPerSec rate{0};                     ///< write limit, or sequential write rate; 0: none / the model's own
  BytesPerSec read_rate{0};
  int iops = 0;                            ///< write IOPS limit; 0: none
  std::string queue = "bounded";           ///< bounded (stacked loops; tags) | unlimited (limit on the file system's loop)
  int nr_requests = 128;
  Bytes write_cache{0};                    ///< battery-backed controller cache; 0: none
  bool volatile_cache = true;
  int rpm = 7200;
  Duration average_seek{std::chrono::microseconds{8000}};
  Bytes capacity{0};
  Bytes stripe_cache{0};                   ///< RAID 5/6; 0: the md default
};

/// [target]: how `run` realises the device.
struct TargetSpec {
  std::string kind = "loop";               ///< loop | modeled | mount | device
  std::string path;                        ///< mount: the directory. device: the block device. loop: folder of the image
  bool cold = true;                        ///< a new device number, so that its writeback state is cold
};

/// [box]: a profile, or values over it. State before the run is here too.
struct BoxSpec {
  std::string profile;                     ///< TOML profile; empty: built in ("generic")
  std::optional<int> cpus, numa_nodes, hz;
  std::optional<std::string> kernel;       ///< "6.18", "3.2", ...
  /// Any cost of the profile by its name, for example ("copy_us_per_page", 0.65). The names: sim costs table.
  std::vector<std::pair<std::string, double>> costs;
  /// Constants of the kernel that a patch changed, by name: sim/memory/kernel_constants.hpp.
  std::vector<std::pair<std::string, double>> kernel_constants;
  std::optional<double> completion_share;
  std::optional<BytesPerSec> write_bandwidth, dirty_ratelimit;
  std::optional<Bytes> dirtyable, foreign_dirty;
};

/// [[sweep]]: one key with values (several sweeps: product), or keys with zipped rows. Values as written.
struct SweepSpec {
  std::vector<std::string> keys;
  std::vector<std::vector<std::string>> rows;  ///< each row has a value per key, normalised ("1GB"), without quotes
};

struct Experiment {
  std::string title;
  std::string name;                        ///< stem of the file
  std::string folder;                      ///< of the file; relative paths start here
  std::string question;                    ///< what the experiment asks, for the report
  std::uint64_t seed = 1;                  ///< of the run; printed first
  int repeats = 1;
  std::string order = "written";           ///< written | blocks (randomised blocks from the seed)
  ArchiveSpec archive;
  bool has_replay = true;                  ///< false when only [[job]] or [pipeline] is given
  ReplaySpec replay;
  std::vector<JobSpec> jobs;
  std::optional<PipelineSpec> pipeline;
  MemorySpec memory;
  FilesystemSpec filesystem;
  DeviceSpecText device;
  TargetSpec target;
  BoxSpec box;
  std::vector<std::pair<std::string, std::string>> knobs;
  std::vector<SweepSpec> sweeps;
  std::vector<Expectation> expectations;
};

}  // namespace spillway
