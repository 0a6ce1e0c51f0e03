#pragma once
/// What `ps` shows for the kernel's workers and threads: a table by kernel version.
///
/// Since 4.18 a worker's name ends with the queue that it serves (+) or served last (-). Before, only its pool and number
/// are seen, so that a box with seven kworkers does not say what they do.

#include <span>
#include <string>
#include <string_view>

#include "sim/box/outputs.hpp"
#include "sim/kernel_version.hpp"

namespace spillway::sim::xfs {

/// {cpu} core, {id} number in the pool, {pool} number of the first unbound pool, {dev} device's name, {majmin} its numbers.
struct WorkerName {
  std::string_view queue;        ///< as in WorkerOutputs::name
  int since_major, since_minor;  ///< first version of this row (2.6.x: 2, x); it ends where the next row of the queue begins
  std::string_view shown;        ///< empty: that kernel has no such worker, the work is done by who needs it
  std::string_view job;
  Confidence confidence;
};

/// Oldest first within each queue.
[[nodiscard]] std::span<const WorkerName> worker_names();
/// The row for that queue on that kernel, or null.
[[nodiscard]] const WorkerName* worker_name(std::string_view queue, int major, int minor);

struct WorkerNameContext {
  int cores = 1;
  std::string device = "dm-0";
  int major = 254, minor = 0;
};
/// Fills `shown` (and leaves it empty for queues that the table does not know). The version is the row's name.
void name_worker(WorkerOutputs& worker, const KernelVersion& kernel, const WorkerNameContext& context);
/// What a queue's workers do, one line; empty if unknown.
[[nodiscard]] std::string_view worker_job(std::string_view queue);

}  // namespace spillway::sim::xfs
