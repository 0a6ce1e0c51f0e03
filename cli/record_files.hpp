#pragma once
/// Records named on the command line: a record.json, a folder r<N>, or a folder above.

#include "sim/result.hpp"
#include "workload/record/record.hpp"
#include "workload/record/timeline.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace spillway::cli {

/// All complete records there, each with its file, in the order of their paths; incomplete ones are named on stderr.
Result<std::vector<std::pair<std::filesystem::path, Record>>> read_records_at(const std::string& path);

/// The timeline beside a record; empty when there is none to read.
std::optional<Timeline> timeline_beside(const std::filesystem::path& record_file);

}  // namespace spillway::cli
