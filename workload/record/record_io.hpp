#pragma once
/// Records and timelines to and from disk. Files appear by rename: a half-written record is never left looking whole.

#include "sim/result.hpp"
#include "workload/record/record.hpp"
#include "workload/record/timeline.hpp"

#include <filesystem>

namespace spillway {

nlohmann::ordered_json to_json(const Record& record);
/// Fails with a sentence that names the file, the key and what was expected.
Result<Record> record_from_json(const nlohmann::ordered_json& json, const std::string& where);

/// JSON has no infinity and no NaN: the error names the first member that holds one.
Status check_finite(const Record& record);
/// Writes DIR/record.json (by rename, after fsync). Refuses a record with a number that is not finite.
Status write_record(const Record& record, const std::filesystem::path& dir);
/// Reads a record.json, or DIR/record.json when given a folder.
Result<Record> read_record(const std::filesystem::path& path);
/// All records below a folder, in the order of their paths (r2 before r10); incomplete and unreadable ones are left out
/// and named in `skipped`, a sentence each.
Result<std::vector<std::pair<std::filesystem::path, Record>>> read_records_below(
    const std::filesystem::path& root, std::vector<std::string>* skipped = nullptr);

/// Header and rows without the newline, for a writer that appends row by row. Whoever is killed in the middle of a row
/// loses that row only: the reader leaves out a last line that has no newline.
std::string timeline_csv_header();
std::string timeline_csv_row(const TimelineRow& row);
Result<Timeline> read_timeline(const std::filesystem::path& csv);
Status write_timeline(const Timeline& timeline, const std::filesystem::path& csv);

}  // namespace spillway
