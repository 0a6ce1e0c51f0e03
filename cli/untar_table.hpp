#pragma once
/// The founding mail's table of a series of untars, with throughput added:
///   5...7.36sec 0.12usr 5.69sys (79.14% cpu) 461.96 MB/s

#include "workload/record/record.hpp"

#include <string>

namespace spillway::cli {

/// One line an untar, then one a phase, then the ends: apparent (the last write accepted) and durable (synced).
std::string untar_table(const Record& record);

}  // namespace spillway::cli
