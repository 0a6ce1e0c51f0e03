#pragma once
/// The jobs of a run: files laid out before it, processes, order, and the programs themselves.
///
/// A job's program moves its data in pieces of whole operations and charges CPU time for each page and each call; what it
/// waits for is charged where it waited. Sequential writers dirty through the same brake as untars.
///
/// fio drops a file's cached pages when a job opens it (invalidate = 1); here they stay, so that one job can read what
/// another one wrote. O_DIRECT transfers go to blocks that exist. One operation is in flight for each instance.

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/box/outputs.hpp"
#include "sim/box/untar.hpp"
#include "sim/cache/file_reader.hpp"
#include "sim/pipeline/delay_histogram.hpp"
#include "sim/random.hpp"

namespace spillway::sim {

class JobRunner {
 public:
  JobRunner(Parts parts, PageCache& cache, FileReader& reader);

  /// Files that jobs read without anybody having written them: made at no cost, on disk, not cached. Before the clock counts.
  Task<> lay_out(Thread& thread);
  /// Runs all jobs; returns when the last has ended. Fills `out`.
  Task<> run(BoxOutputs& out);
  [[nodiscard]] CacheOutputs cache_outputs() const;

 private:
  /// One process of a job, perhaps of several that continue each other.
  struct Process {
    Thread* thread = nullptr;
    TaskThrottle throttle;
    AnonymousBuffer buffer;
  };
  struct File {
    std::string name;
    Inode* inode = nullptr;
    std::unique_ptr<Mutex> lock;           ///< the inode's, held by each write(2)
  };
  struct Instance {
    std::size_t job = 0;
    int number = 0;
    std::shared_ptr<Process> process;
    std::vector<std::size_t> files;        ///< indices of files_
    std::int32_t directory = -1;           ///< its own; -1: the one of all jobs
    bool ended = false;
  };
  struct Job {
    const JobInputs* in = nullptr;
    std::vector<Instance> instances;
    int running = 0;
    bool ended = false;
    pipeline::DelayHistogram latency;
    std::vector<std::size_t> continued_by;
  };

  Task<> job_task(std::size_t job);
  Task<> instance_task(std::size_t job, std::size_t number);
  Task<> sequential(Job& job, Instance& instance, JobInstance& result, SimTime began);
  Task<> random(Job& job, Instance& instance, JobInstance& result, SimTime began);
  Task<> one_write(Job& job, Instance& instance, JobInstance& result, std::size_t file, std::int64_t first, std::int64_t end,
                   Bytes call, std::int64_t operations);
  Task<> create_files(Job& job, Instance& instance, JobInstance& result);
  Task<> unlink_files(Job& job, Instance& instance, JobInstance& result);
  Task<> probe(Job& job, Instance& instance, JobInstance& result, SimTime began);
  Task<> keep_rate(Instance& instance, BytesPerSec rate, SimTime began, Bytes moved);
  Task<> compute(Instance& instance, Duration time);
  Task<Inode*> open(Instance& instance, std::size_t file);
  [[nodiscard]] bool written_before(std::size_t job, const std::string& name) const;
  [[nodiscard]] std::int64_t file_pages(const JobInputs& in) const;
  [[nodiscard]] std::int32_t directory_of(const Instance& instance) const { return instance.directory >= 0 ? instance.directory : directory_; }
  [[nodiscard]] bool time_is_up(const JobInputs& in, SimTime began) const;
  static void note_latency(Job& job, std::int64_t operations, Duration elapsed, Duration waited);
  [[nodiscard]] std::vector<CacheOutputs::File> cached_now() const;

  Parts p_;
  PageCache& cache_;
  FileReader& reader_;
  std::vector<Job> jobs_;
  std::deque<File> files_;
  std::map<std::string, std::size_t> file_numbers_;
  WaitQueue ended_;
  std::int32_t directory_ = -1;
  std::int64_t next_sector_ = 0;
  BoxOutputs* out_ = nullptr;
  CacheOutputs cache_outputs_;
};

}  // namespace spillway::sim
