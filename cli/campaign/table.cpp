#include "cli/campaign/table.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <iterator>

namespace spillway::campaign {

namespace {

/// Columns after the name, in order.
constexpr std::array kFigures = {"start_s",   "elapsed_s",   "user_s",   "system_s", "cpu_pct", "runqueue_s",
                                 "throttled_s", "device_s", "lock_s",   "log_s",    "unknown_s", "longest_pause_s",
                                 "data_mb",   "mb_per_s",    "iops",     "untars_end_s", "durable_s"};
constexpr std::size_t kWholeRunFigures = 2;  // the last ones, the same in every row of a repeat

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c == '\n' || c == '\r' ? ' ' : c;
  }
  return out + "\"";
}

/// Nine significant digits: more than any clock here resolves, and the same text on every machine.
std::string number(double value) { return fmt::format("{:.9g}", value); }

class Row {
 public:
  Row(const Case& item, Point point, std::uint64_t seed, const std::string& box, const std::vector<std::string>& swept_keys) {
    start_ = quoted(item.folder);
    for (const std::string& key : swept_keys) {
      const auto found = std::find_if(item.keys.begin(), item.keys.end(), [&](const auto& pair) { return pair.first == key; });
      start_ += "," + (found == item.keys.end() ? std::string{} : quoted(found->second));
    }
    start_ += fmt::format(",{},{},{}", point.repeat, seed, quoted(box));
  }
  /// `figures` are all but the whole run's; an empty string is an empty cell.
  [[nodiscard]] std::string text(const char* part, std::size_t count, const std::string& name,
                                 const std::array<std::string, kFigures.size() - kWholeRunFigures>& figures,
                                 const Record* whole) const {
    std::string line = fmt::format("{},{},{},{}", start_, part, count > 0 ? fmt::format("{}", count) : "", quoted(name));
    for (const std::string& figure : figures) line += "," + figure;
    if (whole != nullptr && !whole->untars.empty()) line += "," + number(whole->untars_end_s);
    else line += ",";
    line += whole != nullptr ? "," + number(whole->durable_s) : ",";
    return line + "\n";
  }

 private:
  std::string start_;
};

}  // namespace

std::string table_header(const std::vector<std::string>& swept_keys) {
  std::string line = "case";
  for (const std::string& key : swept_keys) line += "," + quoted(key);
  // Where `seed` is swept, its column is the case's; what a repeat made of it stands under another name.
  const bool seed_swept = std::find(swept_keys.begin(), swept_keys.end(), "seed") != swept_keys.end();
  line += fmt::format(",repeat,{},box,part,number,name", seed_swept ? "repeat_seed" : "seed");
  for (const char* figure : kFigures) line += fmt::format(",{}", figure);
  return line + "\n";
}

std::string table_rows(const Case& item, Point point, const Record& record, const std::vector<std::string>& swept_keys) {
  const Row row(item, point, record.seed, record.box.kind, swept_keys);
  std::string text;
  for (const UntarResult& untar : record.untars) {
    const Account& a = untar.account;
    const double mb = static_cast<double>(untar.bytes) * 1e-6;
    text += row.text("untar", static_cast<std::size_t>(untar.number), "",
                     {number(untar.start_s), number(untar.elapsed_s), number(untar.user_s), number(untar.system_s),
                      number(untar.cpu_pct()), number(a.runqueue_s), number(a.throttled_s), number(a.device_s), number(a.lock_s),
                      number(a.log_s), number(a.unknown_s), number(untar.longest_pause_s), number(mb),
                      untar.elapsed_s > 0 ? number(mb / untar.elapsed_s) : "", ""},
                     &record);
  }
  std::size_t count = 0;
  for (const JobResult& job : record.jobs) {
    const Account& a = job.account;
    text += row.text("job", ++count, job.name,
                     {number(job.start_s), number(job.elapsed_s), number(job.user_s), number(job.system_s),
                      job.elapsed_s > 0 ? number(100 * (job.user_s + job.system_s) / job.elapsed_s) : "", number(a.runqueue_s),
                      number(a.throttled_s), number(a.device_s), number(a.lock_s), number(a.log_s), number(a.unknown_s),
                      number(job.lat_ms_max * 1e-3), number(static_cast<double>(job.read_bytes + job.write_bytes) * 1e-6),
                      number(job.mb_per_s), number(job.iops)},
                     &record);
  }
  count = 0;
  for (const StageResult& stage : record.stages) {
    text += row.text("stage", ++count, stage.name,
                     {"", "", "", "", number(stage.cpu_pct), "", "", "", number(stage.lock_wait_s), "", "", "", "", "", ""}, &record);
  }
  if (text.empty()) text = row.text("run", 0, "", {}, &record);
  return text;
}

std::string table_failure_row(const Case& item, Point point, std::uint64_t seed, const std::string& why,
                              const std::vector<std::string>& swept_keys) {
  return Row(item, point, seed, "", swept_keys).text("failed", 0, why, {}, nullptr);
}

}  // namespace spillway::campaign
