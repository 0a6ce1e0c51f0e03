#pragma once
/// The table that people know from the founding mail, one line per untar, with the throughput added:
///
///     5...7.36sec 0.12usr 5.69sys (79.14% cpu)     462 MB/s

#include <span>
#include <string>

#include "workload/record/record.hpp"

namespace spillway::analysis {

/// Phases before, untars, phases after, and the two rates. At most 72 columns.
std::string untar_table(const Record& record);

/// One line without its end.
std::string untar_line(const UntarResult& untar);
std::string phase_line(const PhaseResult& phase);

/// For several repeats: median, and where there are enough repeats the interval of the median, else the range. At most 72
/// columns; empty for fewer than two repeats.
std::string repeats_table(std::span<const Record* const> repeats, double level = 0.95);

/// Where the time went, one line per untar in seconds of each part that occurs, and their sources. At most 72 columns.
std::string account_table(const Record& record);

}  // namespace spillway::analysis
