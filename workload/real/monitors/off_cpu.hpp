#pragma once
/// From switch, wake-up and stack events of tasks to how long each was off the CPU and why. Pure.
///
/// Switches can be missing without a lost event. On the development box (6.18, 2 virtual CPUs) no switch away from the
/// idle task of CPU 1 is ever written, whatever filter, trigger or clock: of a process that naps, about 1 in 100 switches back on
/// CPU 1 were seen (those from other tasks), on CPU 0 nearly all; the buffers' own counts agree with what was read. So a
/// sleep is also closed by the task's next sign of life: at its wake-up if that was seen, else at the sign itself, which a
/// writer gives within a millisecond. Such ends are counted.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "workload/real/monitors/tracer.hpp"

namespace spillway::real {

class OffCpu {
 public:
  /// `since_ns`: when the counted time of a process begins, by pid.
  OffCpu(const std::map<int, std::int64_t>& since_ns, TraceTotals& totals);

  /// `parent` forked `child`; a child of a tracked task is tracked.
  void forked(int parent, int child);
  /// The core went from `previous` (asleep, or still runnable) to `next` at `ns`; `by` is the task in whose name the
  /// event was written.
  void switched(std::int64_t ns, int by, int previous, bool runnable, int next);
  void woken(std::int64_t ns, int task);
  /// The stack of the sleep that `task` has just begun: its cause, and the function where it sleeps.
  void slept_at(int task, std::pair<Wait, std::string> place);
  /// Is a stack wanted of this task?
  [[nodiscard]] bool wants_stack(int task) const;
  /// An event that only a running task writes.
  void alive(std::int64_t ns, int task);

 private:
  struct Out {
    std::int64_t since = 0, woken = 0;
    bool runnable = false, has_stack = false;
    std::pair<Wait, std::string> place{Wait::other, "no stack"};
  };
  void back(std::int64_t ns, int task, Out out);

  const std::map<int, std::int64_t>& since_;
  TraceTotals& totals_;
  std::set<int> tracked_;  ///< the untars and what they forked
  std::map<int, Out> out_;
};

}  // namespace spillway::real
