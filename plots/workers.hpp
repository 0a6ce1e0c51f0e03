#pragma once
/// Kernel workers over time: how many of each work queue were running or blocked. The answer to "seven kworkers are busy, what do they do?"

#include "plots/figure.hpp"
#include "workload/record/record.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spillway::plots {

/// workers.csv of a record: "t_s,queue,busy,cpu_s" (busy: workers of the queue that ran or were blocked when looked at; cpu_s: cumulative).
struct WorkerLook {
  double t_s = 0;
  std::string queue;
  double busy = 0, cpu_s = 0;
};
std::vector<WorkerLook> read_workers(std::string_view csv);

/// Figure `kworkers_time`: means of busy workers over equal steps, stacked, the six queues that were busiest, the rest as "others".
std::optional<Figure> workers_time_figure(const Record& record, const std::vector<WorkerLook>& looks);

}  // namespace spillway::plots
