#include "workload/real/pipeline/pipeline.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <latch>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <thread>

#include "workload/real/pipeline/cpu_burner.hpp"
#include "workload/real/pipeline/pipeline_device.hpp"
#include "workload/real/pipeline/pipeline_link.hpp"
#include "workload/real/pipeline/stage_queue.hpp"
#include "workload/real/system/process.hpp"

namespace spillway::real {
namespace {

constexpr std::size_t kNoStage = static_cast<std::size_t>(-1);
/// assumed: more requests at a device than this are of no use to it.
constexpr int kMostDeviceThreads = 64;

Duration slice_of(const PipelineSpec& spec) {
  if (!spec.hosts.empty() && spec.hosts[0].slice.count() > 0) return spec.hosts[0].slice;
  return spec.scheduler_slice;
}

class Mutex {
 public:
  explicit Mutex(bool spins) {
    pthread_mutexattr_t attributes;
    ::pthread_mutexattr_init(&attributes);
    ::pthread_mutexattr_settype(&attributes, spins ? PTHREAD_MUTEX_ADAPTIVE_NP : PTHREAD_MUTEX_DEFAULT);
    ::pthread_mutex_init(&mutex_, &attributes);
    ::pthread_mutexattr_destroy(&attributes);
  }
  ~Mutex() { ::pthread_mutex_destroy(&mutex_); }
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;
  /// Burns `hold` under the lock, and books waiting and holding.
  void hold(Duration hold, ThreadUse& use) {
    std::int64_t waited = 0;
    if (::pthread_mutex_trylock(&mutex_) != 0) {
      const std::int64_t begin = monotonic_ns();
      ::pthread_mutex_lock(&mutex_);
      waited = std::max<std::int64_t>(1, monotonic_ns() - begin);
      use.lock_wait_ns += waited;
    }
    const std::int64_t begin = monotonic_ns();
    burn(hold);
    ++total_.acquired;
    total_.contended += waited > 0 ? 1 : 0;
    total_.wait_ns += waited;
    total_.held_ns += monotonic_ns() - begin;
    ::pthread_mutex_unlock(&mutex_);
  }
  /// When no thread uses it any more.
  [[nodiscard]] const LockUse& total() const { return total_; }

 private:
  pthread_mutex_t mutex_{};
  LockUse total_;  ///< guarded by itself
};

struct Source {
  std::mutex mutex;
  std::condition_variable back;
  int flying = 0;
};

/// A thread on its way: its own stage, account and random numbers.
struct Worker {
  std::size_t stage = kNoStage;
  ThreadAccount& account;
  std::mt19937_64 random;
};

class Pipeline {
 public:
  Pipeline(const PipelineSpec& spec, std::uint64_t seed) : spec_(spec), seed_(seed) {}

  Result<PipelineOutcome> run(const std::string& directory) {
    const bool uses_device = std::ranges::any_of(spec_.stages, &StageSpec::device);
    if (uses_device) {
      SPILLWAY_ASSIGN(device_, PipelineDevice::make(spec_, directory));
      outcome_.notes.push_back(device_->direct() ? "device stages use direct I/O" : "device stages use buffered I/O: the request is no multiple of 4 KiB, or the file system has no direct I/O");
    }
    notes();
    std::map<std::string, bool> spins;
    for (const auto& stage : spec_.stages)
      if (!stage.lock.empty()) spins[stage.lock] = spins[stage.lock] || stage.lock_spin.count() > 0;
    for (const auto& [name, adaptive] : spins) locks_.emplace(name, std::make_unique<Mutex>(adaptive));
    if (spec_.link_rate.value() > 0)
      link_ = std::make_unique<PipelineLink>(spec_.link_rate, spec_.link_latency, [this](Request request) { arrived(request); });
    for (const auto& stage : spec_.stages) queues_.push_back(stage.threads > 0 ? std::make_unique<StageQueue>(stage.threads, stage.requests_per_thread) : nullptr);
    for (int i = 0; i < spec_.sources; ++i) sources_.push_back(std::make_unique<Source>());
    const int device_threads = uses_device && std::ranges::any_of(spec_.stages, [](const auto& s) { return s.device && !s.blocking; })
                                   ? std::min(kMostDeviceThreads, spec_.sources * spec_.in_flight) : 0;
    if (device_threads > 0) device_queue_ = std::make_unique<StageQueue>(device_threads, 0);

    // All are there before the clock starts.
    int count = spec_.sources + device_threads;
    for (const auto& stage : spec_.stages) count += stage.threads;
    std::latch ready{count + 1};
    std::vector<std::thread> stage_threads, source_threads;
    int id = 0;
    const auto begin = [&](std::vector<std::thread>& threads, std::size_t stage, std::string name, int number, auto body) {
      threads.emplace_back([this, &ready, stage, name = std::move(name), number, body, id = id++] {
        set_up_thread();
        ready.arrive_and_wait();
        ThreadAccount account{name, number};
        Worker worker{stage, account, std::mt19937_64{seed_ * 1'000'003 + static_cast<std::uint64_t>(id)}};
        body(worker);
        if (stage == kNoStage && name != "source") return;  // the device's own helpers are no thread of the pipeline
        const std::scoped_lock lock{mutex_};
        outcome_.threads.push_back(account.finish());
      });
    };
    for (std::size_t s = 0; s < spec_.stages.size(); ++s)
      for (int t = 0; t < spec_.stages[s].threads; ++t)
        begin(stage_threads, s, spec_.stages[s].name, t + 1, [this, s, t](Worker& worker) {
          while (const auto request = queues_[s]->pop(t, worker.account)) carry(s, *request, worker);
        });
    for (int t = 0; t < device_threads; ++t)
      begin(stage_threads, kNoStage, "device", t + 1, [this, t](Worker& worker) {
        while (const auto request = device_queue_->pop(t, worker.account)) {
          transfer(worker);
          after_device(request->stage, *request, worker);
        }
      });
    for (int i = 0; i < spec_.sources; ++i) begin(source_threads, kNoStage, "source", i + 1, [this, i](Worker& worker) { issue(i, worker); });
    begin_ns_ = monotonic_ns();
    ready.arrive_and_wait();
    for (auto& thread : source_threads) thread.join();
    const std::int64_t end_ns = std::max(last_done_ns_.load(), begin_ns_ + 1);
    for (auto& queue : queues_)
      if (queue) queue->close();
    if (device_queue_) device_queue_->close();
    for (auto& thread : stage_threads) thread.join();
    if (problem_) return std::unexpected(*problem_);
    outcome_.elapsed_s = static_cast<double>(end_ns - begin_ns_) * 1e-9;
    outcome_.durable_s = outcome_.elapsed_s;
    if (device_) {
      SPILLWAY_TRY(device_->sync());
      outcome_.durable_s = static_cast<double>(monotonic_ns() - begin_ns_) * 1e-9;
      outcome_.device_busy_pct = std::min(100.0, 100 * device_->busy_s() / outcome_.elapsed_s);
    }
    if (spec_.durable_rate.value() > 0)
      outcome_.durable_s = std::max(outcome_.durable_s, to_seconds(time_to_move(Bytes{spec_.request.value() * outcome_.requests}, spec_.durable_rate)));
    for (const auto& [name, mutex] : locks_) outcome_.locks[name] = mutex->total();
    if (link_) outcome_.link_busy_pct = std::min(100.0, 100 * link_->busy_s() / outcome_.elapsed_s);
    std::ranges::stable_sort(outcome_.threads, {}, [&](const ThreadUse& use) { return std::pair{place_of(use.stage), use.number}; });
    return std::move(outcome_);
  }

 private:
  [[nodiscard]] std::size_t place_of(const std::string& stage) const {
    for (std::size_t s = 0; s < spec_.stages.size(); ++s)
      if (spec_.stages[s].name == stage) return s + 1;
    return 0;
  }

  void notes() {
    if (spec_.durable_rate.value() > 0) outcome_.notes.push_back("durable_rate is arithmetic on the real box: the bytes at that rate, or the end of the work if that is later");
    if (spec_.link_rate.value() > 0) outcome_.notes.push_back("the link is a clock: no network and no packets");
    const int online = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
    if (!spec_.hosts.empty() && spec_.hosts[0].cpus > online) outcome_.notes.push_back(fmt::format("the experiment asks for {} CPUs, this box has {}", spec_.hosts[0].cpus, online));
    for (const auto& stage : spec_.stages)
      if (stage.lock_spin.count() > 0) outcome_.notes.push_back(fmt::format("lock {}: glibc's adaptive mutex spins by its own count, not for {} ns", stage.lock, stage.lock_spin.count()));
  }

  /// In the thread itself, before the clock starts.
  void set_up_thread() {
    if (const Duration slice = slice_of(spec_); slice.count() > 0)
      if (const auto set = set_slice(slice); !set) problem(set.error());
    if (spec_.hosts.empty() || spec_.hosts[0].cpus >= ::sysconf(_SC_NPROCESSORS_ONLN)) return;
    cpu_set_t allowed, wanted;
    CPU_ZERO(&allowed);
    CPU_ZERO(&wanted);
    ::sched_getaffinity(0, sizeof allowed, &allowed);
    for (int cpu = 0, taken = 0; cpu < CPU_SETSIZE && taken < spec_.hosts[0].cpus; ++cpu)
      if (CPU_ISSET(cpu, &allowed)) {
        CPU_SET(cpu, &wanted);
        ++taken;
      }
    if (::sched_setaffinity(0, sizeof wanted, &wanted) != 0) problem({ErrorKind::refused, errno, fmt::format("cannot keep a thread on {} CPUs: {}", spec_.hosts[0].cpus, std::strerror(errno))});
  }

  void problem(const Error& error) {
    const std::scoped_lock lock{mutex_};
    if (!problem_) problem_ = error;
    failed_ = true;
  }

  Duration varied(Duration mean, Worker& worker) const {
    if (mean.count() <= 0) return mean;
    return Duration{static_cast<std::int64_t>(static_cast<double>(mean.count()) * std::uniform_real_distribution{1 - spec_.variation, 1 + spec_.variation}(worker.random))};
  }

  void issue(int index, Worker& worker) {
    Source& source = *sources_[static_cast<std::size_t>(index)];
    const auto wait = [&](int below) {
      std::unique_lock lock{source.mutex};
      while (source.flying >= below) {
        worker.account.before_sleep();
        source.back.wait(lock);
        worker.account.after_sleep();
      }
    };
    const std::int64_t deadline = begin_ns_ + spec_.runtime.count();
    for (;;) {
      wait(spec_.in_flight);
      if (failed_ || (spec_.requests == 0 && monotonic_ns() >= deadline)) break;
      const std::int64_t number = issued_.fetch_add(1);
      if (spec_.requests > 0 && number >= spec_.requests) break;
      Request request{number, monotonic_ns(), 0, index};
      {
        const std::scoped_lock lock{source.mutex};
        ++source.flying;
      }
      burn(varied(spec_.think, worker));
      ++worker.account.use().requests;
      carry(0, request, worker);
    }
    wait(1);
  }

  /// Takes a request through the stages from this one on, as far as this thread goes.
  void carry(std::size_t stage, Request request, Worker& worker) {
    for (; stage < spec_.stages.size(); ++stage) {
      const StageSpec& spec = spec_.stages[stage];
      if (spec.threads > 0 && stage != worker.stage) return queues_[stage]->push(request);
      work(spec, worker);
      if (stage == worker.stage) ++worker.account.use().requests;
      if (spec.device && !spec.blocking) {
        request.stage = stage;
        return device_queue_->push(request);
      }
      if (spec.device) transfer(worker);
      if (spec.link && link_) return send(stage, request);
    }
    done(request);
  }

  void after_device(std::size_t stage, Request request, Worker& worker) {
    if (spec_.stages[stage].link && link_) return send(stage, request);
    carry(stage + 1, request, worker);
  }

  void send(std::size_t stage, Request request) {
    request.stage = stage + 1;
    link_->send(request, Bytes{static_cast<std::int64_t>(static_cast<double>(spec_.request.value()) * spec_.bytes_on_link_per_byte)});
  }

  /// In the link's thread.
  void arrived(Request request) {
    static thread_local ThreadAccount account{"link", 1};
    Worker worker{kNoStage, account, std::mt19937_64{seed_ ^ static_cast<std::uint64_t>(request.number)}};
    carry(request.stage, request, worker);
  }

  void work(const StageSpec& spec, Worker& worker) {
    const Duration all = spec.cpu_per_request + Duration{static_cast<std::int64_t>(spec.cpu_ns_per_byte * static_cast<double>(spec_.request.value()))};
    const int pieces = std::max(1, spec.pieces);
    for (int piece = 0; piece < pieces; ++piece) {
      if (piece > 0 && spec.piece_gap.count() > 0) {
        const timespec gap{static_cast<time_t>(spec.piece_gap.count() / 1'000'000'000), static_cast<long>(spec.piece_gap.count() % 1'000'000'000)};
        worker.account.before_sleep();
        ::nanosleep(&gap, nullptr);
        worker.account.after_sleep();
      }
      burn(varied(all / pieces, worker));
    }
    if (!spec.lock.empty()) locks_.at(spec.lock)->hold(varied(spec.lock_hold, worker), worker.account.use());
  }

  void transfer(Worker& worker) {
    if (failed_) return;  // the rest runs out
    if (const auto status = device_->transfer(worker.random()); !status) problem(status.error());
  }

  void done(const Request& request) {
    const std::int64_t now = monotonic_ns();
    {
      const std::scoped_lock lock{mutex_};
      outcome_.latencies_ns.push_back(now - request.begin_ns);
      ++outcome_.requests;
      last_done_ns_ = std::max(last_done_ns_.load(), now);
    }
    Source& source = *sources_[static_cast<std::size_t>(request.source)];
    {
      const std::scoped_lock lock{source.mutex};
      --source.flying;
    }
    source.back.notify_one();
  }

  const PipelineSpec& spec_;
  std::uint64_t seed_;
  std::unique_ptr<PipelineDevice> device_;
  std::map<std::string, std::unique_ptr<Mutex>> locks_;
  std::vector<std::unique_ptr<StageQueue>> queues_;
  std::unique_ptr<StageQueue> device_queue_;
  std::vector<std::unique_ptr<Source>> sources_;
  std::atomic<std::int64_t> issued_ = 0, last_done_ns_ = 0;
  std::atomic<std::int64_t> begin_ns_ = 0;
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;  ///< guards outcome_ and problem_
  std::optional<Error> problem_;
  PipelineOutcome outcome_;
  std::unique_ptr<PipelineLink> link_;  ///< last: its thread uses all of the above
};

}  // namespace

Status pipeline_available(const PipelineSpec& spec) {
  if (spec.hosts.size() > 1) return fail(ErrorKind::unsupported, fmt::format("the real box is one machine; the pipeline has {} hosts: the simulated box runs it", spec.hosts.size()));
  const Duration slice = slice_of(spec);
  if (slice.count() == 0) return {};
  Status able;
  std::thread{[&] { able = set_slice(slice); }}.join();  // in a thread of its own, which takes the slice with it
  return able;
}

Result<PipelineOutcome> run_pipeline(const PipelineSpec& spec, const std::string& directory, std::uint64_t seed) { return Pipeline{spec, seed}.run(directory); }

}  // namespace spillway::real
