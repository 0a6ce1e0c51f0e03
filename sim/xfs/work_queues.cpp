#include "sim/xfs/work_queues.hpp"

#include <utility>

namespace spillway::sim::xfs {

WorkQueues::Id WorkQueues::add(std::string name, WorkKind kind, int max_active) {
  WorkQueueUse use;
  use.name = std::move(name);
  use.kind = kind;
  use.max_active = max_active;
  queues_.push_back(std::move(use));
  active_.push_back(0);
  return queues_.size() - 1;
}

WorkQueues::Pool& WorkQueues::pool_of(WorkKind kind, int core) {
  if (kind == WorkKind::unbound) core = 0;
  Pool*& pool = by_core_[static_cast<std::size_t>(kind)][core];
  if (!pool) pool = &pools_.emplace_back(Pool{kind, core, {}, {}, 0, 0});
  return *pool;
}

void WorkQueues::queue(Id id, int core, Work work) {
  Pool& pool = pool_of(queues_[id].kind, core);
  pool.items.push_back({id, std::move(work)});
  kick(pool);
}

std::optional<WorkQueues::Item> WorkQueues::take(Pool& pool) {
  for (auto it = pool.items.begin(); it != pool.items.end(); ++it) {
    if (pool.kind == WorkKind::unbound) {
      if (active_[it->queue] >= queues_[it->queue].max_active) continue;
      ++active_[it->queue];
    }
    std::optional<Item> item{std::move(*it)};
    pool.items.erase(it);
    return item;
  }
  return std::nullopt;
}

/// Wakes or makes a worker for the next item, if one may run.
void WorkQueues::kick(Pool& pool) {
  if (pool.items.empty() || (pool.kind != WorkKind::unbound && pool.running > 0)) return;
  auto item = take(pool);
  if (!item) return;
  ++pool.running;
  if (!pool.idle.empty()) {
    Worker& worker = *pool.idle.back();
    pool.idle.pop_back();
    worker.item = std::move(item);
    worker.idle->wake_one();
    return;
  }
  Thread& thread = cpus_.new_thread("kworker", pool.core);
  Worker& worker = workers_.emplace_back(Worker{&pool, &thread, pool.numbers++, false, std::move(item), std::make_unique<WaitQueue>(engine_, Phase::flusher)});
  by_thread_[&thread] = &worker;
  engine_.spawn(serve(worker), Phase::flusher);
}

Task<> WorkQueues::serve(Worker& worker) {
  Pool& pool = *worker.pool;
  for (;;) {
    while (worker.item) {
      const Item item = std::move(*worker.item);
      worker.item.reset();
      const Duration before = worker.thread->account.cpu();
      co_await item.work(*worker.thread);
      WorkQueueUse& use = queues_[item.queue];
      use.cpu += worker.thread->account.cpu() - before;
      ++use.items;
      use.workers.insert(worker.number);
      use.core = worker.thread->core();
      if (pool.kind == WorkKind::unbound) --active_[item.queue];
      // Several run in a per-core pool only after one of them slept; then all but one stop. keep_working().
      if (pool.kind == WorkKind::unbound || pool.running == 1) worker.item = take(pool);
    }
    --pool.running;
    pool.idle.push_back(&worker);
    co_await worker.idle->wait();
  }
}

void WorkQueues::sleeping(const Thread& thread) {
  const auto found = by_thread_.find(&thread);
  if (found == by_thread_.end() || found->second->asleep) return;
  Worker& worker = *found->second;
  worker.asleep = true;
  if (worker.pool->kind == WorkKind::unbound) return;
  --worker.pool->running;
  kick(*worker.pool);
}

void WorkQueues::woken(const Thread& thread) {
  const auto found = by_thread_.find(&thread);
  if (found == by_thread_.end() || !found->second->asleep) return;
  found->second->asleep = false;
  if (found->second->pool->kind != WorkKind::unbound) ++found->second->pool->running;
}

}  // namespace spillway::sim::xfs
