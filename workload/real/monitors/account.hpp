#pragma once
/// The account of an untar's elapsed time, from the sources that were there. Pure.
///
///  user, system   wait4 (their sum is exact; the split is sampled by the tick)
///  runqueue       sched_switch / sched_wakeup: preempted, and woken but not yet running; else taskstats cpu_delay_total
///  throttled      time asleep with balance_dirty_pages on the stack; else taskstats blkio_delay_total, which holds device
///                 reads too
///  device, lock, log   off-CPU time by kernel stack; without a trace they stay 0 and the note says so
///  unknown        the rest of the elapsed time: also sleeps that no rule recognises, and the tick's error
///
/// An untar of several threads: the account is that of the average thread, CPU time included.

#include <optional>
#include <vector>

#include "workload/real/monitors/taskstats.hpp"
#include "workload/real/monitors/tracer.hpp"
#include "workload/record/record.hpp"

namespace spillway::real {

/// Fills account, account_sources, pauses and longest_pause_s of an untar whose elapsed, user and system are known.
/// `tasks`: traces of its threads, main thread first; `delays`: taskstats of the same. Either may be empty.
void fill_account(UntarResult& untar, const std::vector<TaskTrace>& tasks, const std::vector<TaskDelays>& delays);

}  // namespace spillway::real
