#pragma once
/// The kernel's work queues as far as a file system uses them: pools of workers, one normal and one high-priority pool per
/// core and one unbound pool, shared by all queues. kernel/workqueue.c (6.18).
///
/// A per-core pool keeps one worker running: another starts only when that one sleeps (wq_worker_sleeping()) and work is
/// left. Unbound work gets a worker at once, up to the queue's max_active. Workers stay when they are idle and are used
/// again, so the number of workers that a queue was ever served by says how many of its items slept at once, not how much
/// there was to do. CPU time is charged to the queue whose item ran.
///
/// Not modelled: the manager's delay in creating a worker, rescuers, the end of idle workers after 5 minutes.

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/cpu/cpu_set.hpp"

namespace spillway::sim::xfs {

enum class WorkKind : std::uint8_t { bound, bound_high, unbound };

/// A work queue and what it used.
struct WorkQueueUse {
  std::string name;            ///< "xfs-conv", ...
  WorkKind kind = WorkKind::bound;
  int max_active = 256;        ///< unbound: items at once
  Duration cpu{};
  std::uint64_t items = 0;
  std::set<int> workers;       ///< numbers of the workers that ran its items
  int core = 0;                ///< of the last one
};

class WorkQueues {
 public:
  using Id = std::size_t;
  /// What a work item does, on the worker's thread.
  using Work = std::function<Task<>(Thread&)>;

  WorkQueues(Engine& engine, CpuSet& cpus) : engine_(engine), cpus_(cpus) {}
  WorkQueues(const WorkQueues&) = delete;
  WorkQueues& operator=(const WorkQueues&) = delete;

  Id add(std::string name, WorkKind kind, int max_active = 256);
  /// queue_work_on(): the core does not matter for unbound queues.
  void queue(Id id, int core, Work work);

  /// Code that may run in a worker brackets its waits with these; other threads are not touched by it.
  void sleeping(const Thread& thread);
  void woken(const Thread& thread);

  [[nodiscard]] const std::vector<WorkQueueUse>& uses() const { return queues_; }
  /// Workers of all pools, idle ones too.
  [[nodiscard]] std::size_t workers() const { return workers_.size(); }

 private:
  struct Item {
    Id queue;
    Work work;
  };
  struct Pool;
  struct Worker {
    Pool* pool;
    Thread* thread;
    int number;
    bool asleep = false;       ///< inside an item
    std::optional<Item> item;  ///< handed over when it is woken
    std::unique_ptr<WaitQueue> idle;
  };
  struct Pool {
    WorkKind kind;
    int core;
    std::deque<Item> items;
    std::vector<Worker*> idle;
    int running = 0;           ///< workers inside an item that are not asleep
    int numbers = 0;
  };
  Pool& pool_of(WorkKind kind, int core);
  void kick(Pool& pool);
  /// Takes the first item that may run now.
  std::optional<Item> take(Pool& pool);
  Task<> serve(Worker& worker);

  Engine& engine_;
  CpuSet& cpus_;
  std::vector<WorkQueueUse> queues_;
  std::vector<int> active_;    ///< items of each unbound queue being run
  std::deque<Pool> pools_;
  std::unordered_map<int, Pool*> by_core_[3];
  std::deque<Worker> workers_;
  std::unordered_map<const Thread*, Worker*> by_thread_;
};

/// Brackets a wait of a thread that may be a worker.
class WorkerSleeps {
 public:
  WorkerSleeps(WorkQueues& queues, const Thread& thread) : queues_(queues), thread_(thread) { queues_.sleeping(thread_); }
  WorkerSleeps(const WorkerSleeps&) = delete;
  WorkerSleeps& operator=(const WorkerSleeps&) = delete;
  ~WorkerSleeps() { queues_.woken(thread_); }

 private:
  WorkQueues& queues_;
  const Thread& thread_;
};

}  // namespace spillway::sim::xfs
