#pragma once
/// Loads other than untars, in fio's terms: what a job is told and what it found. Plain values.

#include <cstdint>
#include <string>
#include <vector>

#include "sim/cpu/account.hpp"
#include "sim/units.hpp"

namespace spillway::sim {

/// One job: `numjobs` equal instances that start together.
struct JobInputs {
  enum class Kind : std::uint8_t { read, write, randread, randwrite, randrw, create, unlink, compute, probe };
  std::string name;
  Kind kind = Kind::write;
  Bytes bs{kMiB};
  /// Data of each instance and of each of its files. 0: the other one times or by nrfiles.
  Bytes size{0}, filesize{0};
  int numjobs = 1;
  std::int64_t nrfiles = 1;
  bool direct = false;
  int fsync_every = 0;         ///< fsync after so many writes; 0: never
  bool end_fsync = false;
  Duration runtime{0};         ///< repeat until then; 0: once
  BytesPerSec rate{0};         ///< of each instance; 0: no limit
  Duration compute{0};         ///< CPU time: of a compute job, or after the data of any other
  Bytes anonymous{0};          ///< a read's buffer of this size is filled from it; other jobs touch it first
  std::string file;            ///< shared file; empty: files of its own
  bool own_directory = false;  ///< each instance in a directory of its own
  int after = -1;              ///< index of the job that must have ended; -1: none
  /// Index of the job whose processes go on with this one: same threads, same buffers, each as soon as its own instance
  /// has ended. -1: processes of its own.
  int continues = -1;
  Duration start{0};           ///< offset, after `after`
  int rwmixread = 50;
};

/// One instance of a job.
struct JobInstance {
  Duration start{}, elapsed{};
  TimeAccount account;         ///< adds up to `elapsed`
  Bytes read_from_cache{0}, read_from_device{0}, written{0};
  std::int64_t reads = 0, writes = 0, others = 0;  ///< operations; others: create, unlink, probe
  /// Pages copied from, and to, another NUMA node than the one the thread ran on.
  std::int64_t remote_source = 0, remote_destination = 0;
  std::int64_t pauses = 0;     ///< sleeps in balance_dirty_pages
  [[nodiscard]] Bytes read() const { return read_from_cache + read_from_device; }
};

struct JobOutputs {
  std::string name;
  std::vector<JobInstance> instances;
  /// Latency of one operation, over all instances.
  Duration latency_mean{}, latency_p50{}, latency_p99{}, latency_max{};
};

/// What the page cache went through.
struct CacheOutputs {
  bool tracked = false;        ///< false: no job and no archive needed it
  std::int64_t evicted = 0;    ///< pages
  struct File {
    std::string name;
    Bytes cached{0};
  };
  std::vector<File> files;     ///< cached at the end, jobs' files only
  /// What was cached of each file whenever a job ended: (job, file, bytes). fincore(1) of the published experiment.
  struct Snapshot {
    std::string job;
    std::vector<File> files;
  };
  std::vector<Snapshot> after_job;
};

}  // namespace spillway::sim
