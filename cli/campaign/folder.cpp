#include "cli/campaign/folder.hpp"

#include "workload/record/file_io.hpp"
#include "workload/record/record_io.hpp"

#include <fmt/core.h>

namespace spillway::campaign {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

fs::path point_folder(const fs::path& out, const Case& item, int repeat) {
  return out / item.experiment.name / item.folder / fmt::format("r{}", repeat);
}

Json outcome_part(const Json& effective) {
  Json part = effective;
  if (!part.is_object()) return part;
  for (const char* key : {"title", "question", "name", "folder", "repeats", "order", "expect", "sweep", "source"}) part.erase(key);
  return part;
}

std::string first_difference(const Json& a, const Json& b) {
  // Flattened, a key is a JSON pointer: /memory/dirty_bytes. Keys that only one of them has differ too.
  const Json left = a.flatten(), right = b.flatten();
  const auto name = [](std::string pointer) {
    for (char& c : pointer) c = c == '/' ? '.' : c;
    return pointer.empty() ? pointer : pointer.substr(1);
  };
  for (const auto& [key, value] : left.items()) {
    const auto other = right.find(key);
    if (other == right.end()) return fmt::format("{} = {} there, not given now", name(key), value.dump());
    if (*other != value) return fmt::format("{} = {} there, {} now", name(key), value.dump(), other->dump());
  }
  for (const auto& [key, value] : right.items()) {
    if (!left.contains(key)) return fmt::format("{} not given there, {} now", name(key), value.dump());
  }
  return "";
}

RecordStore::RecordStore(fs::path out, std::string box_kind, std::uint64_t campaign_seed, bool fresh)
    : out_(std::move(out)), box_kind_(std::move(box_kind)), campaign_seed_(campaign_seed), fresh_(fresh) {}

Result<bool> RecordStore::done(const Case& item, Point point) {
  if (fresh_) return false;
  const fs::path folder = point_folder(out_, item, point.repeat);
  std::error_code error;
  if (!fs::exists(folder / "record.json", error)) return false;
  const auto record = read_record(folder);
  // A damaged record is not a result; it is redone like an interrupted one.
  if (!record || !record->complete) return false;
  const auto refuse = [&](const std::string& difference) -> Result<bool> {
    return fail(ErrorKind::bad_input,
                fmt::format("{} holds a repeat of other parameters ({}); give another folder with --out, or --fresh to redo it",
                            folder.string(), difference));
  };
  if (record->box.kind != box_kind_) return refuse(fmt::format("box {} there, {} now", record->box.kind, box_kind_));
  if (const auto seed = seed_of_repeat(item, campaign_seed_, point.repeat); record->seed != seed) {
    return refuse(fmt::format("seed {} there, {} now", record->seed, seed));
  }
  const std::string difference = first_difference(outcome_part(record->experiment), outcome_part(item.effective));
  if (!difference.empty()) return refuse(difference);
  return true;
}

Result<fs::path> RecordStore::begin(const Case& item, Point point) {
  const fs::path folder = point_folder(out_, item, point.repeat);
  std::error_code error;
  fs::remove_all(folder, error);
  if (!error) fs::create_directories(folder, error);
  if (error) {
    return fail(ErrorKind::refused, fmt::format("cannot make the folder {}: {}; give another with --out", folder.string(), error.message()),
                error.value());
  }
  return folder;
}

Status RecordStore::keep(const Case& item, Point point, const Record& record) {
  return write_record(record, point_folder(out_, item, point.repeat));
}

Status RecordStore::keep_failure(const Case& item, Point point, const Error& error) {
  static constexpr const char* kinds[] = {"bad_input", "refused", "unsupported", "internal"};
  const Json failure{{"schema", "spillway.failure/1"},
                     {"repeat", point.repeat},
                     {"kind", kinds[static_cast<int>(error.kind)]},
                     {"errno", error.sys_errno},
                     {"what", error.what}};
  return write_file_atomically(point_folder(out_, item, point.repeat) / "failed.json", failure.dump(1) + "\n");
}

Result<std::optional<Record>> RecordStore::load(const Case& item, Point point) {
  SPILLWAY_ASSIGN(Record record, read_record(point_folder(out_, item, point.repeat)));
  return std::optional<Record>{std::move(record)};
}

Result<bool> BothStores::done(const Case& item, Point point) {
  SPILLWAY_ASSIGN(const bool in_table, table_->done(item, point));
  SPILLWAY_ASSIGN(const bool recorded, records_->done(item, point));
  return in_table && recorded;
}

Status BothStores::keep(const Case& item, Point point, const Record& record) {
  SPILLWAY_TRY(records_->keep(item, point, record));
  return table_->keep(item, point, record);
}

Status BothStores::keep_failure(const Case& item, Point point, const Error& error) {
  SPILLWAY_TRY(records_->keep_failure(item, point, error));
  return table_->keep_failure(item, point, error);
}

}  // namespace spillway::campaign
