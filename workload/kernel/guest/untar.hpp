#pragma once
/// One untar of the plan's catalogue: the system calls of GNU tar (or of an extractor that writes whole files), in archive
/// order, with bytes made here.

#include "workload/kernel/guest/clock.hpp"
#include "workload/kernel/guest_plan.hpp"

#include <string>

namespace spillway::kernel::guest {

struct UntarCounts {
  std::int64_t files = 0, bytes = 0;
  int error = 0;          ///< errno of the first call that failed
  std::string failed_on;  ///< and what it was about
};

/// Extracts into `directory`, which exists.
UntarCounts untar(const GuestPlan& plan, const std::string& directory, Charge& charge);
/// Makes the directories of the catalogue below `directory`, and `directory` itself.
int make_skeleton(const GuestPlan& plan, const std::string& directory, Charge& charge);
/// Removes everything below `directory`, and itself.
int remove_tree(const GuestPlan& plan, const std::string& directory, Charge& charge);
/// fsync of every file of the catalogue below `directory`.
int fsync_each(const GuestPlan& plan, const std::string& directory);

}  // namespace spillway::kernel::guest
