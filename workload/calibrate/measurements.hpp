#pragma once
/// What a calibration measured, as plain numbers; nothing where it could not be measured. CPU times are nanoseconds of the
/// measuring thread (CLOCK_THREAD_CPUTIME_ID) unless a comment says otherwise, medians over repeats.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace spillway::calibrate {

/// Without any file system.
struct CpuMeasurements {
  double page_fault_ns = 0;       ///< first touch of one page of fresh anonymous memory, as the box's THP setting has it
  double context_switch_ns = 0;   ///< two threads on one core that yield to each other
  /// Bytes read plus bytes written per second by 1, 2, 4, ... threads that copy.
  std::vector<std::pair<int, double>> memory_bytes_per_s;
};

/// Programs that read and write files in the page cache of the target.
struct FileMeasurements {
  double write_page_10k_ns = 0, write_page_64k_ns = 0;  ///< per page, with write(2) of 10 and 64 KiB
  double read_page_10k_ns = 0, read_page_64k_ns = 0;
  double create_ns = 0;           ///< open(O_CREAT), futimens, close of an empty file
  double create_written_ns = 0;   ///< the same with one page written before the close
  double unlink_ns = 0, mkdir_ns = 0;
  double nap_ns = 0;              ///< CPU time that a sleep of 12 ms between pieces of work adds
};

/// Writing back, by sync_file_range(2) in the calling thread: the flusher's own path (do_writepages) in a thread whose
/// time is exact.
struct FlushMeasurements {
  double big_page_ns = 0;         ///< per page of one large file written by 10 KiB, large requests
  double request_ns = 0;          ///< what one more request of the same pages costs
  double small_fresh_ns = 0;      ///< per file of one page without blocks
  double small_again_ns = 0;      ///< per file of one page that has its blocks
  /// Per file of one page: CPU time of the per-CPU kernel workers while it is written for the first time and again
  /// (sum over workers, /proc/PID/schedstat). The difference is the conversion at completion.
  std::optional<double> workers_fresh_ns, workers_again_ns;
};

/// GNU tar, whole processes (rusage of the children): seconds.
struct TarRun {
  double pages = 0, files = 0;
  double user_s = 0, system_s = 0;
};
struct TarMeasurements {
  TarRun empty, large, small;     ///< an archive of one tiny file; few large files; many small files
};

/// The target without a limit.
struct DeviceMeasurements {
  double write_bytes_per_s = 0;   ///< O_DIRECT, 1 MiB, eight in a row kept
  double latency_ns = 0;          ///< O_DIRECT write of 4 KiB into blocks that are there, one at a time, wall time
  double flush_ns = 0;            ///< fdatasync after it, wall time
};

struct Measurements {
  CpuMeasurements cpu;
  FileMeasurements file;
  FlushMeasurements flush;
  std::optional<TarMeasurements> tar;  ///< nothing: no GNU tar here
  DeviceMeasurements device;
  // What the box says of itself.
  std::string kernel;
  int hz = 0, cpus = 0, numa_nodes = 1;
  std::int64_t ram_bytes = 0;
  std::optional<int> dirty_ratio, dirty_background_ratio;  ///< nothing: bytes are in force
  std::string date;                                        ///< for the sources
  double seconds = 0;                                      ///< that it took
  std::vector<std::string> notes;                          ///< what could not be measured, and why
};

}  // namespace spillway::calibrate
