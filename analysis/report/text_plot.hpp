#pragma once
/// Two figures that survive a mail: bars of the untars' times, and dirty memory against time with the kernel's lines. Plain
/// ASCII, at most 72 columns, axes with units. (plots/ draws the real figures.)

#include <string>

#include "workload/record/record.hpp"
#include "workload/record/timeline.hpp"

namespace spillway::analysis {

/// One bar per untar; '#' is CPU time, '.' is the rest. Empty without untars.
std::string untar_bars(const Record& record);

/// Dirty and writeback pages together ('*') against time in MB, with limit (L), freerun (f) and background (b) as lines.
/// Empty without samples.
std::string dirty_plot(const Timeline& timeline, double end_s);

}  // namespace spillway::analysis
