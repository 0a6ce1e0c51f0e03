#include "cli/record_files.hpp"

#include "cli/talk.hpp"
#include "workload/record/record_io.hpp"

#include <fmt/core.h>

namespace spillway::cli {

namespace fs = std::filesystem;

Result<std::vector<std::pair<fs::path, Record>>> read_records_at(const std::string& path) {
  std::error_code ignored;
  const bool folder = fs::is_directory(path, ignored);
  std::vector<std::pair<fs::path, Record>> records;
  if (folder && !fs::exists(fs::path{path} / "record.json", ignored)) {
    std::vector<std::string> skipped;
    SPILLWAY_ASSIGN(records, read_records_below(path, &skipped));
    for (const std::string& sentence : skipped) say(sentence);
  } else {
    SPILLWAY_ASSIGN(Record record, read_record(path));
    records.emplace_back(folder ? fs::path{path} / "record.json" : fs::path{path}, std::move(record));
  }
  if (records.empty()) return fail(ErrorKind::bad_input, fmt::format("{}: no complete record below it", path));
  return records;
}

std::optional<Timeline> timeline_beside(const fs::path& record_file) {
  const fs::path csv = record_file.parent_path() / "timeline.csv";
  std::error_code ignored;
  if (!fs::exists(csv, ignored)) return std::nullopt;
  auto timeline = read_timeline(csv);
  if (!timeline) {
    say(timeline.error().what);
    return std::nullopt;
  }
  return *std::move(timeline);
}

}  // namespace spillway::cli
