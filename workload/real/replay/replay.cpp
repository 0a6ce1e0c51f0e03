#include "workload/real/replay/replay.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>

#include "workload/interrupt/interrupt.hpp"
#include "workload/real/monitors/account.hpp"
#include "workload/real/replay/engine.hpp"
#include "workload/real/replay/jobs.hpp"
#include "workload/real/replay/phases.hpp"
#include "workload/real/replay/timed_process.hpp"
#include "workload/real/replay/user_flusher.hpp"
#include "workload/real/system/text_file.hpp"

namespace spillway::real {
namespace {

std::unexpected<Error> interruption() { return fail(ErrorKind::refused, "interrupted; the box is as it was before", EINTR); }

class Replay {
 public:
  Replay(Session& session, const ReplayInputs& inputs, const Monitors& monitors)
      : session_(session), inputs_(inputs), monitors_(monitors), spec_(inputs.experiment->replay) {
    const int trees = inputs.experiment->has_replay ? std::max(1, spec_.untars) : 1;  // jobs alone: one folder, to be synced
    for (int i = 1; i <= trees; ++i) folders_.push_back(fmt::format("{}/t{}", inputs_.target->directory, i));
  }

  ~Replay() {
    stop_flushers();
    for (const auto& one : running_) {  // only after an error: an untar that failed ends the others
      if (one->process.pidfd < 0) continue;
      ::kill(one->process.started.pid, SIGKILL);
      wait_for(session_, one->process, {});
    }
  }
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  Result<ReplayOutcome> run() {
    SPILLWAY_TRY(before());
    SPILLWAY_TRY(start_flushers());
    SPILLWAY_TRY(untars());
    SPILLWAY_TRY(after());
    stop_flushers();
    // Times of the phases before the first untar are negative.
    for (auto& [phase, at_ns] : phases_) {
      phase.start_s = since_origin(at_ns);
      outcome_.marks.push_back({phase.start_s, fmt::format("phase {} start", phase.name)});
      outcome_.marks.push_back({phase.start_s + phase.elapsed_s, fmt::format("phase {} end", phase.name)});
      outcome_.phases.push_back(phase);
    }
    std::ranges::stable_sort(outcome_.marks, {}, &Mark::t_s);
    return std::move(outcome_);
  }

 private:
  [[nodiscard]] double since_origin(std::int64_t ns) const { return static_cast<double>(ns - outcome_.origin_ns) * 1e-9; }
  [[nodiscard]] bool asks(const std::vector<std::string>& list, std::string_view phase) const { return std::ranges::find(list, phase) != list.end(); }

  Status make_folders() {
    for (const auto& folder : folders_)
      if (::mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST)
        return fail(ErrorKind::refused, fmt::format("cannot make {}: {}", folder, std::strerror(errno)), errno);
    return {};
  }

  /// A phase in a process of its own; its exit code is an errno.
  Status phase(const std::string& name, const std::function<int()>& body) {
    tell(name);
    SPILLWAY_ASSIGN(TimedProcess process, start_timed(session_, "phase " + name, body));
    wait_for(session_, process, [&] { tell(name); });
    if (interrupted()) return interruption();
    if (process.exit_code != 0) {
      if (name == "sync") return failed_sync(process.exit_code);
      return fail(ErrorKind::refused, fmt::format("phase {} failed: {}", name, std::strerror(process.exit_code)), process.exit_code);
    }
    PhaseResult result{name, 0, process.elapsed_s(), process.user_s(), process.system_s(), 0};
    if (name != "sync") result.device_busy_s = 0;
    else result.device_busy_s = process.elapsed_s() + device_tail_s();
    phases_.emplace_back(result, process.started.released_ns);
    return {};
  }

  /// How long the device has requests in flight after a sync has come back (its own cache, a checkpoint of the log).
  double device_tail_s() {
    if (inputs_.target->device_name.empty()) return 0;
    const std::string path = fmt::format("/sys/block/{}/stat", inputs_.target->device_name);
    const std::int64_t begin = monotonic_ns();
    std::int64_t last_busy = begin, last_ios = -1;
    while (monotonic_ns() - last_busy < 50'000'000 && monotonic_ns() - begin < 60'000'000'000) {
      const auto block = parse_block_stat(read_text(path).value_or(""));
      if (!block) break;
      if (block->in_flight > 0 || (last_ios >= 0 && block->write_ios != last_ios)) last_busy = monotonic_ns();
      last_ios = block->write_ios;
      std::this_thread::sleep_for(std::chrono::milliseconds{5});
    }
    return static_cast<double>(last_busy - begin) * 1e-9;
  }

  Status failed_sync(int error) {
    if (error == ENOSPC)
      return fail(ErrorKind::refused, fmt::format("the sync reports that space ran out: the untars filled {} or the disk that holds its image; "
                                                  "free space, or ask for less data", inputs_.target->device.empty() ? inputs_.target->directory : inputs_.target->device),
                  error);
    return fail(ErrorKind::refused, fmt::format("the sync reports '{}' on {}: data that the untars wrote did not reach the disk; see the kernel log",
                                                std::strerror(error), inputs_.target->device), error);
  }

  Status before() {
    const bool removes = asks(spec_.before, "remove"), skeleton = asks(spec_.before, "skeleton");
    if (removes) {
      // A new file system has nothing to remove: the trees of an earlier round are made first, untimed.
      tell("making trees to remove");
      SPILLWAY_TRY(make_folders());
      for (const auto& folder : folders_) {
        UntarTask task = task_for(folder, 0);
        task.replay.after = {"none"};
        SPILLWAY_ASSIGN(TimedProcess process, start_timed(session_, "untar before the removal", [&] { return run_untar(task); }));
        wait_for(session_, process, {});
        if (interrupted()) return interruption();
        if (process.exit_code != 0)
          return fail(ErrorKind::refused, fmt::format("an untar before the removal failed: {}", last_words(task.messages)));
      }
      SPILLWAY_ASSIGN(TimedProcess synced, start_timed(session_, "sync before the removal", [&] { return sync_folder(folders_[0]); }));
      wait_for(session_, synced, {});
      if (interrupted()) return interruption();
      if (synced.exit_code != 0) return failed_sync(synced.exit_code);
      outcome_.notes.push_back("phase remove: the trees removed were made by one untimed round of untars on the same file system, which leaves the "
                               "device's writeback state warm");
      SPILLWAY_TRY(phase("remove", [&] { return remove_trees(folders_); }));
    }
    SPILLWAY_TRY(make_folders());
    if (skeleton) SPILLWAY_TRY(phase("skeleton", [&] { return make_skeletons(folders_, inputs_.archive->catalogue); }));
    return {};
  }

  UntarTask task_for(const std::string& folder, int number) const {
    UntarTask task;
    task.archive = inputs_.archive->path;
    task.directory = folder;
    task.replay = spec_;
    task.messages = inputs_.directory / fmt::format("untar-{}.messages", number);
    task.cgroup = inputs_.target->cgroup;
    return task;
  }

  Status untars() {
    const int last = inputs_.experiment->has_replay ? static_cast<int>(folders_.size()) : 0;
    const auto& jobs = inputs_.experiment->jobs;
    outcome_.untars.resize(static_cast<std::size_t>(last));
    outcome_.pids.resize(static_cast<std::size_t>(last));
    outcome_.jobs.resize(jobs.size());
    job_state_.assign(jobs.size(), JobState::waiting);
    SPILLWAY_TRY(prepare_untars(last));
    int next = 1;
    for (;;) {
      while (next <= last && untars_running() < std::max(1, spec_.at_once)) SPILLWAY_TRY(start_untar(next++));
      SPILLWAY_TRY(start_due_jobs());
      const bool jobs_wait = std::ranges::find(job_state_, JobState::waiting) != job_state_.end();
      if (running_.empty() && !jobs_wait && next > last) return {};
      std::vector<TimedProcess*> processes;
      for (const auto& one : running_) processes.push_back(&one->process);
      const auto done = wait_any(session_, processes, std::chrono::milliseconds{jobs_wait ? 5 : 200});
      if (interrupted()) {
        // The listener has killed them; only their bodies are left.
        for (auto* process : processes)
          if (process->pidfd >= 0) wait_for(session_, *process, {});
        return interruption();
      }
      if (!done) {
        tell_untars(youngest(), last);
        continue;
      }
      const auto one = std::move(running_[*done]);
      running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(*done));
      // The next one first: the books of the one that ended touch the disk that holds the image.
      if (one->number > 0 && one->process.exit_code == 0 && next <= last) SPILLWAY_TRY(start_untar(next++));
      if (one->number > 0) {
        SPILLWAY_TRY(ended(one->number, one->process));
      } else {
        SPILLWAY_TRY(job_ended(one->job, one->process));
      }
      if (monitors_.sampler) monitors_.sampler->set_untar(youngest());
    }
  }

  Status start_flushers() {
    const int count = inputs_.experiment->has_replay ? user_flushers(spec_.flushers).value_or(0) : 0;
    for (int i = 0; i < count; ++i) {
      SPILLWAY_ASSIGN(TimedProcess process, start_timed(session_, fmt::format("flusher {}", i + 1), [&]() -> int { run_user_flusher(folders_, i, count); }));
      flushers_.push_back(std::move(process));
    }
    return {};
  }

  void stop_flushers() {
    for (auto& process : flushers_) {
      ::kill(process.started.pid, SIGKILL);
      wait_for(session_, process, {});
      outcome_.flushers_cpu_s += process.user_s() + process.system_s();
    }
    flushers_.clear();
  }

  [[nodiscard]] int untars_running() const {
    return static_cast<int>(std::ranges::count_if(running_, [](const auto& one) { return one->number > 0; }));
  }
  [[nodiscard]] int youngest() const {
    int number = 0;
    for (const auto& one : running_) number = std::max(number, one->number);
    return number;
  }
  void began(const TimedProcess& process, const std::string& what) {
    if (outcome_.origin_ns == 0) outcome_.origin_ns = process.started.released_ns;
    outcome_.marks.push_back({since_origin(process.started.released_ns), what + " start"});
  }

  /// Every untar waits at its gate before the first one begins. The journal's fsync of each would otherwise lie between
  /// two untars, on a disk that is busy with their data: up to 100 ms in which the cache drains and nobody writes.
  Status prepare_untars(int last) {
    for (int number = 1; number <= last; ++number) {
      const UntarTask task = task_for(folders_[static_cast<std::size_t>(number - 1)], number);
      SPILLWAY_ASSIGN(Session::Waiting waiting, session_.prepare_process(fmt::format("untar {}", number), [&] { return run_untar(task); }));
      waiting_.push_back(std::move(waiting));
    }
    return {};
  }

  Status start_untar(int number) {
    auto one = std::make_unique<Running>();
    one->number = number;
    SPILLWAY_ASSIGN(one->process, release_timed(waiting_[static_cast<std::size_t>(number - 1)]));
    began(one->process, fmt::format("untar {}", number));
    if (monitors_.sampler) monitors_.sampler->set_untar(number);
    running_.push_back(std::move(one));
    return {};
  }

  std::string job_output(std::size_t job) const { return inputs_.directory / fmt::format("job-{}.json", job + 1); }

  /// Jobs whose predecessor has ended and whose start offset has passed.
  Status start_due_jobs() {
    const auto& jobs = inputs_.experiment->jobs;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (job_state_[i] != JobState::waiting) continue;
      const JobSpec& job = jobs[i];
      if (!job.after.empty()) {
        const auto before = std::ranges::find(jobs, job.after, &JobSpec::name);
        if (before != jobs.end() && job_state_[static_cast<std::size_t>(before - jobs.begin())] != JobState::ended) continue;
      }
      if (job.start.count() > 0 && (outcome_.origin_ns == 0 || monotonic_ns() - outcome_.origin_ns < job.start.count())) {
        if (outcome_.origin_ns == 0) outcome_.origin_ns = monotonic_ns();
        continue;
      }
      const std::string folder = inputs_.target->directory + "/jobs";
      if (::mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST)
        return fail(ErrorKind::refused, fmt::format("cannot make {}: {}", folder, std::strerror(errno)), errno);
      auto one = std::make_unique<Running>();
      one->job = i;
      SPILLWAY_ASSIGN(one->process, start_timed(session_, "job " + job.name, [&] { return run_job(job, folder, job_output(i)); }));
      began(one->process, "job " + job.name);
      job_state_[i] = JobState::running;
      running_.push_back(std::move(one));
    }
    return {};
  }

  Status job_ended(std::size_t index, const TimedProcess& process) {
    const JobSpec& job = inputs_.experiment->jobs[index];
    job_state_[index] = JobState::ended;
    outcome_.marks.push_back({since_origin(process.ended_ns), fmt::format("job {} end", job.name)});
    if (process.exit_code != 0)
      return fail(ErrorKind::refused, fmt::format("job {} failed with exit code {}: {}", job.name, process.exit_code, last_words(job_output(index) + ".messages")));
    SPILLWAY_ASSIGN(JobResult result, read_job(job, job_output(index)));
    result.start_s = since_origin(process.started.released_ns);
    result.elapsed_s = process.elapsed_s();
    result.user_s = process.user_s();
    result.system_s = process.system_s();
    outcome_.untars_end_s = std::max(outcome_.untars_end_s, since_origin(process.ended_ns));
    outcome_.jobs[index] = std::move(result);
    return {};
  }

  Status ended(int number, const TimedProcess& process) {
    UntarResult& untar = outcome_.untars[static_cast<std::size_t>(number - 1)];
    outcome_.pids[static_cast<std::size_t>(number - 1)] = process.started.pid;
    outcome_.started_ns[process.started.pid] = process.started.released_ns;
    untar.number = number;
    untar.start_s = since_origin(process.started.released_ns);
    untar.elapsed_s = process.elapsed_s();
    untar.user_s = process.user_s();
    untar.system_s = process.system_s();
    untar.bytes = inputs_.archive->catalogue.data_bytes.value();
    untar.files = inputs_.archive->catalogue.files;
    untar.max_rss_bytes = static_cast<std::int64_t>(process.usage.ru_maxrss) * 1024;
    untar.voluntary_switches = process.usage.ru_nvcsw;
    untar.involuntary_switches = process.usage.ru_nivcsw;
    untar.exit_status = process.exit_code;
    const double end = since_origin(process.ended_ns);
    outcome_.untars_end_s = std::max(outcome_.untars_end_s, end);
    outcome_.marks.push_back({end, fmt::format("untar {} end", number)});
    const std::string messages = inputs_.directory / fmt::format("untar-{}.messages", number);
    struct stat info {};
    if (process.exit_code == 0) {
      if (::stat(messages.c_str(), &info) == 0 && info.st_size == 0) ::unlink(messages.c_str());  // nothing was said
      return {};
    }
    return fail(ErrorKind::refused, fmt::format("untar {} ({}) failed with exit code {}: {}", number, spec_.engine, process.exit_code, last_words(messages)));
  }

  Status after() {
    if (asks(spec_.after, "sync")) {
      SPILLWAY_TRY(phase("sync", [&] { return sync_folder(folders_[0]); }));
      outcome_.durable_s = since_origin(phases_.back().second) + phases_.back().first.elapsed_s;
      return {};
    }
    // Success is what syncfs says, whatever was asked; its time is not a phase then.
    SPILLWAY_ASSIGN(TimedProcess synced, start_timed(session_, "last sync", [&] { return sync_folder(folders_[0]); }));
    wait_for(session_, synced, [&] { tell("last sync"); });
    if (interrupted()) return interruption();
    if (synced.exit_code != 0) return failed_sync(synced.exit_code);
    outcome_.durable_s = since_origin(synced.ended_ns);
    return {};
  }

  void tell(const std::string& what) const {
    if (!inputs_.live) return;
    inputs_.live(what + dirty_text());
  }
  std::string dirty_text() const {
    const auto dirty = parse_vmstat_dirty(read_text("/proc/vmstat").value_or(""));
    if (!dirty) return {};
    return fmt::format("  dirty {:.0f} of {:.0f} MB", static_cast<double>(dirty->dirty + dirty->writeback) * 4096e-6, static_cast<double>(dirty->thresh) * 4096e-6);
  }
  void tell_untars(int number, int last) const {
    if (!inputs_.live) return;
    std::string line = fmt::format("untar {} of {}", number, last) + dirty_text();
    const auto rate = inputs_.experiment->device.rate.value();
    if (rate > 0 && monitors_.sampler) {
      // What is left of all the data at the device's rate: a leaky bucket is within a percent of the total.
      const double total = static_cast<double>(inputs_.archive->catalogue.data_bytes.value()) * last;
      const double elapsed = since_origin(monotonic_ns());
      const double left = total / static_cast<double>(rate) - elapsed;
      if (left > 0) line += fmt::format("  about {:.0f} s left", left);
    }
    inputs_.live(line);
  }

  struct Running {
    int number = 0;  ///< of the untar; 0 for a job
    std::size_t job = 0;
    TimedProcess process;
  };

  Session& session_;
  const ReplayInputs& inputs_;
  const Monitors& monitors_;
  const ReplaySpec& spec_;
  std::vector<std::string> folders_;
  std::vector<std::pair<PhaseResult, std::int64_t>> phases_;
  enum class JobState : std::uint8_t { waiting, running, ended };
  std::vector<JobState> job_state_;
  std::vector<std::unique_ptr<Running>> running_;
  std::vector<Session::Waiting> waiting_;  ///< the untars, in order; those that run are released
  std::vector<TimedProcess> flushers_;     ///< user-space ones, in order
  ReplayOutcome outcome_;
};

}  // namespace

Result<ReplayOutcome> run_replay(Session& session, const ReplayInputs& inputs, const Monitors& monitors) {
  return Replay{session, inputs, monitors}.run();
}

}  // namespace spillway::real
