#include "workload/real/monitors/account.hpp"

#include <algorithm>

namespace spillway::real {
namespace {

double seconds(std::int64_t ns) { return static_cast<double>(ns) * 1e-9; }

std::int64_t waited(const TaskTrace& task, Wait wait) {
  const auto it = task.off_cpu_ns.find(wait);
  return it == task.off_cpu_ns.end() ? 0 : it->second;
}

}  // namespace

void fill_account(UntarResult& untar, const std::vector<TaskTrace>& tasks, const std::vector<TaskDelays>& delays) {
  Account& account = untar.account;
  auto& sources = untar.account_sources;
  account.user_s = untar.user_s;
  account.system_s = untar.system_s;
  sources["user"] = sources["system"] = "wait4";
  std::vector<const TaskTrace*> seen;
  for (const auto& task : tasks) {
    untar.pauses += task.pauses;
    untar.longest_pause_s = std::max(untar.longest_pause_s, seconds(task.longest_throttle_ns));
    if (task.switches_seen) seen.push_back(&task);
  }
  if (!seen.empty()) {
    const double share = 1.0 / static_cast<double>(seen.size());
    account.user_s *= share;  // of several threads the account is that of the average one
    account.system_s *= share;
    for (const TaskTrace* task : seen) {
      account.runqueue_s += share * seconds(waited(*task, Wait::preempted) + waited(*task, Wait::wakeup));
      account.throttled_s += share * seconds(waited(*task, Wait::throttled));
      account.device_s += share * seconds(waited(*task, Wait::device));
      account.lock_s += share * seconds(waited(*task, Wait::lock));
      account.log_s += share * seconds(waited(*task, Wait::log));
    }
    for (const char* part : {"throttled", "device", "lock", "log"}) sources[part] = "sched_switch with kernel stack";
    sources["runqueue"] = "sched_switch, sched_wakeup";
    if (seen.size() > 1) sources["threads"] = "the average of " + std::to_string(seen.size()) + " threads";
  } else if (!delays.empty()) {
    const double share = 1.0 / static_cast<double>(delays.size());
    account.user_s *= share;
    account.system_s *= share;
    for (const auto& task : delays) {
      account.runqueue_s += share * seconds(task.cpu_ns);
      account.throttled_s += share * seconds(task.blkio_ns);
    }
    sources["runqueue"] = "taskstats cpu_delay_total";
    sources["throttled"] = "taskstats blkio_delay_total, device reads included";
    sources["device"] = sources["lock"] = sources["log"] = "not seen";
  } else {
    for (const char* part : {"runqueue", "throttled", "device", "lock", "log"}) sources[part] = "not seen";
  }
  account.unknown_s = untar.elapsed_s - (account.total_s() - account.unknown_s);
  if (!seen.empty() && !delays.empty()) {
    // What the trace leaves unexplained (lost events) the kernel's own sum of block I/O delay may know, which counts sleeps
    // in balance_dirty_pages; it is not exact itself (delays end on another core's clock), so it only fills gaps.
    double blkio_s = 0;
    for (const auto& task : delays) blkio_s += seconds(task.blkio_ns) / static_cast<double>(delays.size());
    const double hidden = std::min(account.unknown_s, blkio_s - account.throttled_s - account.device_s);
    if (hidden > 0) {
      account.throttled_s += hidden;
      account.unknown_s -= hidden;
      if (hidden > 1e-3) sources["throttled"] += ", and taskstats blkio_delay_total for " + std::to_string(static_cast<int>(hidden * 1e3)) + " ms that the trace did not show";
    }
  }
  sources["unknown"] = "elapsed less all other parts";
}

}  // namespace spillway::real
