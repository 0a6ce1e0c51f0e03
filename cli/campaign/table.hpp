#pragma once
/// The compact table of a campaign: CSV (RFC 4180), one row per untar, job or stage, columns named with their unit.
/// Rows follow the points in written order. Nothing in it depends on the host, on threads or on the order of work.
///
/// Columns: case, one column per swept key, repeat, seed, box, part (untar | job | stage | failed), number, name,
/// then start_s ... mb_per_s of that part, then untars_end_s and durable_s of the whole repeat, and for a part of
/// `failed` the reason in `name`. An empty cell: not known, or does not apply.

#include "cli/campaign/point.hpp"
#include "workload/record/record.hpp"

#include <string>
#include <vector>

namespace spillway::campaign {

/// The header line, with its newline. `swept_keys` are the columns that the experiment's sweeps add.
std::string table_header(const std::vector<std::string>& swept_keys);
/// The rows of one complete repeat, each with its newline. A record without untars, jobs and stages has one row `run`.
std::string table_rows(const Case& item, Point point, const Record& record, const std::vector<std::string>& swept_keys);
/// The row of a point that the box cannot run.
std::string table_failure_row(const Case& item, Point point, std::uint64_t seed, const std::string& why,
                              const std::vector<std::string>& swept_keys);

}  // namespace spillway::campaign
