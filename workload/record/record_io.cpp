#include "workload/record/record_io.hpp"

#include "workload/record/file_io.hpp"

#include <algorithm>
#include <cctype>
#include <fmt/core.h>

namespace spillway {

namespace {

namespace fs = std::filesystem;

/// Digits compare as numbers, so that r2 comes before r10.
bool natural_less(std::string_view a, std::string_view b) {
  const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (digit(a[i]) && digit(b[j])) {
      const std::size_t i0 = i, j0 = j;
      while (i < a.size() && digit(a[i])) ++i;
      while (j < b.size() && digit(b[j])) ++j;
      const std::string_view left = a.substr(i0, i - i0), right = b.substr(j0, j - j0);
      const auto trim = [](std::string_view s) { return s.substr(std::min(s.find_first_not_of('0'), s.size())); };
      const std::string_view x = trim(left), y = trim(right);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
      continue;
    }
    if (a[i] != b[j]) return a[i] < b[j];
    ++i;
    ++j;
  }
  return a.size() - i < b.size() - j;
}

}  // namespace

Status write_record(const Record& record, const fs::path& dir) {
  SPILLWAY_TRY(check_finite(record));
  return write_file_atomically(dir / "record.json", to_json(record).dump(1) + "\n");
}

Result<Record> read_record(const fs::path& path) {
  std::error_code ignored;
  const fs::path file = fs::is_directory(path, ignored) ? path / "record.json" : path;
  SPILLWAY_ASSIGN(const std::string text, spillway::read_file(file));
  const auto json = nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) {
    return fail(ErrorKind::bad_input, fmt::format("{}: not JSON (cut off or damaged?); remove it and repeat the run", file.string()));
  }
  return record_from_json(json, file.string());
}

Result<std::vector<std::pair<fs::path, Record>>> read_records_below(const fs::path& root,
                                                                     std::vector<std::string>* skipped) {
  std::error_code error;
  if (!fs::is_directory(root, error)) {
    return fail(ErrorKind::bad_input, fmt::format("{} is not a folder; give the folder that a run wrote (--out)", root.string()));
  }
  std::vector<fs::path> paths;
  for (fs::recursive_directory_iterator it{root, fs::directory_options::skip_permission_denied, error}, end;
       !error && it != end; it.increment(error)) {
    if (it->path().filename() == "record.json") paths.push_back(it->path());
  }
  if (error) {
    return fail(ErrorKind::refused, fmt::format("cannot read the folder {}: {}", root.string(), error.message()), error.value());
  }
  std::sort(paths.begin(), paths.end(),
            [](const fs::path& a, const fs::path& b) { return natural_less(a.string(), b.string()); });
  std::vector<std::pair<fs::path, Record>> records;
  for (const fs::path& path : paths) {
    auto record = read_record(path);
    if (!record) {
      if (skipped != nullptr) skipped->push_back(record.error().what);
    } else if (!record->complete) {
      if (skipped != nullptr) skipped->push_back(fmt::format("{}: incomplete (its run was interrupted)", path.string()));
    } else {
      records.emplace_back(path, *std::move(record));
    }
  }
  return records;
}

}  // namespace spillway
