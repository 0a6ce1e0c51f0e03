#pragma once
/// A thread that looks at the box ten times a second and writes a row of timeline.csv each time, with one write(2), so
/// that a kill loses nothing. Every second it looks for kernel workers; five times a second at the known ones.
/// Rows are written with the time since the sampler's start; `finish` rewrites the file (by rename) with the time since
/// the first untar's start.

#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "sim/result.hpp"
#include "workload/real/monitors/kernel_views.hpp"
#include "workload/record/record.hpp"
#include "workload/record/timeline.hpp"

namespace spillway::real {

struct SamplerSpec {
  std::string device_name;    ///< "loop65"; may be empty
  std::string device_number;  ///< "7:65"
  std::string debugfs;        ///< mount point; may be empty
  std::filesystem::path csv;
  std::chrono::milliseconds interval{100};
  bool workers = true;        ///< look at kernel workers
};

/// A kernel worker as it was seen.
struct WorkerSeen {
  std::string name, queue;
  std::uint64_t first_ticks = 0, last_ticks = 0;   ///< CPU ticks (1/100 s) when first and last seen under this queue
  std::uint64_t own_ticks = 0;                     ///< ticks spent between two looks that both showed this queue
  std::map<std::string, int> places;               ///< "D rq_qos_wait" -> how often
};

/// Workers of one queue at one look: how many were running or blocked, and the CPU time of the queue until then.
struct WorkersLook {
  double t_s = 0;
  std::string queue;
  int busy = 0;
  double cpu_s = 0;
};

class Sampler {
 public:
  static Result<std::unique_ptr<Sampler>> start(SamplerSpec spec);
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  /// The youngest untar that runs (0: none); written into each row.
  void set_untar(int number) { untar_.store(number, std::memory_order_relaxed); }
  /// The sliding limit and rate limit as last traced, in pages (0: unknown); written into each row.
  void set_traced(std::int64_t limit_pages, std::int64_t ratelimit) {
    limit_.store(limit_pages, std::memory_order_relaxed);
    ratelimit_.store(ratelimit, std::memory_order_relaxed);
  }
  [[nodiscard]] DirtyView last_dirty() const;
  [[nodiscard]] BlockStat last_block() const;

  /// Stops, writes workers.csv beside the file (columns t_s,queue,busy,cpu_s), and rewrites the file so that `origin_ns` (CLOCK_MONOTONIC) is 0.
  Status finish(std::int64_t origin_ns);
  /// What was seen of kernel workers until now; also while it runs.
  [[nodiscard]] std::vector<KworkerResult> workers(double seconds) const;
  [[nodiscard]] const std::vector<TimelineRow>& rows() const { return rows_; }
  /// CPU seconds that the sampler itself used.
  [[nodiscard]] double own_cpu_s() const { return own_cpu_s_; }
  [[nodiscard]] std::int64_t started_ns() const { return started_ns_; }

 private:
  explicit Sampler(SamplerSpec spec) : spec_(std::move(spec)) {}
  void loop();
  void sample(std::int64_t now_ns);
  void find_workers();
  void look_at_workers();

  SamplerSpec spec_;
  std::thread thread_;
  std::atomic<bool> stop_ = false;
  std::atomic<int> untar_ = 0;
  std::atomic<std::int64_t> limit_ = 0, ratelimit_ = 0;
  int csv_ = -1;
  int vmstat_ = -1, stat_ = -1, block_ = -1, bdi_ = -1;
  std::int64_t started_ns_ = 0;
  double own_cpu_s_ = 0;
  std::vector<TimelineRow> rows_;
  std::optional<CpuView> last_cpu_;
  std::optional<BlockStat> last_busy_;
  std::int64_t last_ns_ = 0;
  std::atomic<std::int64_t> dirty_ = 0, writeback_ = 0, written_ = 0, in_flight_ = 0;
  struct Known {
    int stat_fd = -1;
    std::string queue;
    std::uint64_t ticks = 0;
  };
  std::map<int, Known> known_;
  mutable std::mutex seen_mutex_;
  std::map<std::pair<int, std::string>, WorkerSeen> seen_;
  std::vector<WorkersLook> looks_;
};

}  // namespace spillway::real
