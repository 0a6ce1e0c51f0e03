#include "workload/real/monitors/off_cpu.hpp"

#include <algorithm>

namespace spillway::real {

OffCpu::OffCpu(const std::map<int, std::int64_t>& since_ns, TraceTotals& totals) : since_(since_ns), totals_(totals) {
  for (const auto& [pid, from] : since_ns) tracked_.insert(pid);
}

void OffCpu::forked(int parent, int child) {
  if (!tracked_.contains(parent)) return;
  tracked_.insert(child);
  totals_.tasks[child].parent = parent;
}

void OffCpu::switched(std::int64_t ns, int by, int previous, bool runnable, int next) {
  // An event is traced when either side is: whom an untar took the core from is not our business.
  if (previous == by && tracked_.contains(previous)) {
    alive(ns, previous);
    out_[previous] = Out{ns, 0, runnable, false, {Wait::other, "no stack"}};
  }
  if (const auto it = out_.find(next); it != out_.end()) {
    const Out out = it->second;
    out_.erase(it);
    back(ns, next, out);
  }
}

void OffCpu::woken(std::int64_t ns, int task) {
  if (const auto it = out_.find(task); it != out_.end() && it->second.woken == 0) it->second.woken = ns;
}

bool OffCpu::wants_stack(int task) const {
  const auto it = out_.find(task);
  return it != out_.end() && !it->second.has_stack;
}

void OffCpu::slept_at(int task, std::pair<Wait, std::string> place) {
  const auto it = out_.find(task);
  if (it == out_.end() || it->second.has_stack) return;
  it->second.has_stack = true;
  it->second.place = std::move(place);
}

void OffCpu::alive(std::int64_t ns, int task) {
  const auto it = out_.find(task);
  if (it == out_.end()) return;
  Out out = it->second;
  out_.erase(it);
  ++totals_.switches_missing;
  back(out.woken != 0 ? std::max(out.woken, out.since) : ns, task, out);
}

void OffCpu::back(std::int64_t ns, int task_id, Out out) {
  TaskTrace& task = totals_.tasks[task_id];
  task.switches_seen = true;
  if (const auto since = since_.find(task_id); since != since_.end()) {
    out.since = std::clamp(out.since, std::min(since->second, ns), ns);
    if (out.woken != 0) out.woken = std::max(out.woken, out.since);
  }
  if (out.runnable) {
    task.off_cpu_ns[Wait::preempted] += ns - out.since;
    return;
  }
  const std::int64_t woken = out.woken != 0 ? out.woken : ns;
  task.off_cpu_ns[out.place.first] += woken - out.since;
  task.off_cpu_ns[Wait::wakeup] += ns - woken;
  if (out.place.first == Wait::throttled) task.longest_throttle_ns = std::max(task.longest_throttle_ns, ns - out.since);
  if (out.place.first == Wait::other) totals_.unknown_places[out.place.second] += woken - out.since;
}

}  // namespace spillway::real
