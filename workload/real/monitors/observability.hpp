#pragma once
/// Mounts and switches that the monitors need, made through the journal: debugfs (bdi stats), tracefs (trace events),
/// kernel.task_delayacct (taskstats counts nothing for tasks started before). Each may be missing; then `missing` says
/// what will not be seen and how to get it.

#include <string>
#include <vector>

#include "workload/real/journal/journal.hpp"

namespace spillway::real {

struct Observability {
  std::string debugfs;   ///< mount point, or empty
  std::string tracefs;   ///< mount point, or empty
  bool delay_accounting = false;
  std::vector<std::string> missing;
};

/// The mount point of a file system type, if it is mounted anywhere.
std::string mount_point_of(const std::string& type);
Observability make_observable(Journal& journal);

}  // namespace spillway::real
