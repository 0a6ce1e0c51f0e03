#include "workload/record/file_io.hpp"
#include "workload/record/record_io.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <fmt/core.h>
#include <fmt/format.h>
#include <iterator>

namespace spillway {

namespace {

struct Column {
  std::string_view name;
  std::optional<double> TimelineRow::* member;
};

/// Every column but t_s, which is always there.
constexpr std::array kColumns = {
    Column{"nr_dirty_pages", &TimelineRow::nr_dirty_pages},
    Column{"nr_writeback_pages", &TimelineRow::nr_writeback_pages},
    Column{"thresh_pages", &TimelineRow::thresh_pages},
    Column{"background_pages", &TimelineRow::background_pages},
    Column{"freerun_pages", &TimelineRow::freerun_pages},
    Column{"limit_pages", &TimelineRow::limit_pages},
    Column{"wb_reclaimable_pages", &TimelineRow::wb_reclaimable_pages},
    Column{"wb_writeback_pages", &TimelineRow::wb_writeback_pages},
    Column{"wb_thresh_pages", &TimelineRow::wb_thresh_pages},
    Column{"wb_written_pages", &TimelineRow::wb_written_pages},
    Column{"wb_dirtied_pages", &TimelineRow::wb_dirtied_pages},
    Column{"write_bandwidth_pages_per_s", &TimelineRow::write_bandwidth_pages_per_s},
    Column{"dirty_ratelimit_pages_per_s", &TimelineRow::dirty_ratelimit_pages_per_s},
    Column{"b_dirty", &TimelineRow::b_dirty},
    Column{"b_io", &TimelineRow::b_io},
    Column{"b_more_io", &TimelineRow::b_more_io},
    Column{"device_write_bytes", &TimelineRow::device_write_bytes},
    Column{"device_write_ios", &TimelineRow::device_write_ios},
    Column{"device_read_bytes", &TimelineRow::device_read_bytes},
    Column{"device_busy_pct", &TimelineRow::device_busy_pct},
    Column{"device_inflight", &TimelineRow::device_inflight},
    Column{"cpu_user_pct", &TimelineRow::cpu_user_pct},
    Column{"cpu_system_pct", &TimelineRow::cpu_system_pct},
    Column{"cpu_iowait_pct", &TimelineRow::cpu_iowait_pct},
    Column{"untar", &TimelineRow::untar},
};

/// Whole numbers (pages, bytes) in full, the rest as short as reads back to the same number.
void append_number(std::string& out, double x) {
  if (x == std::trunc(x) && std::abs(x) < 9e15) {
    fmt::format_to(std::back_inserter(out), "{}", static_cast<long long>(x));
  } else {
    fmt::format_to(std::back_inserter(out), "{}", x);
  }
}

std::vector<std::string_view> split(std::string_view line) {
  std::vector<std::string_view> cells;
  while (true) {
    const std::size_t comma = line.find(',');
    cells.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) return cells;
    line.remove_prefix(comma + 1);
  }
}

std::string_view without_carriage_return(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}  // namespace

std::string timeline_csv_header() {
  std::string out = "t_s";
  for (const Column& column : kColumns) fmt::format_to(std::back_inserter(out), ",{}", column.name);
  return out;
}

std::string timeline_csv_row(const TimelineRow& row) {
  std::string out;
  append_number(out, row.t_s);
  for (const Column& column : kColumns) {
    out += ',';
    if (const auto& cell = row.*column.member; cell && std::isfinite(*cell)) append_number(out, *cell);
  }
  return out;
}

Result<Timeline> read_timeline(const std::filesystem::path& csv) {
  SPILLWAY_ASSIGN(const std::string text, read_file(csv));
  std::string_view rest = text;
  const auto next_line = [&rest]() -> std::optional<std::string_view> {
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view line = without_carriage_return(rest.substr(0, end));
    rest.remove_prefix(end + 1);
    return line;
  };
  const auto header = next_line();
  if (!header) return fail(ErrorKind::bad_input, fmt::format("{}: no header line", csv.string()));

  std::vector<std::optional<double> TimelineRow::*> members;  // per cell; null = t_s or unknown
  std::optional<std::size_t> time_cell;
  for (const std::string_view name : split(*header)) {
    std::optional<double> TimelineRow::* member = nullptr;
    if (name == "t_s") time_cell = members.size();
    for (const Column& column : kColumns) {
      if (column.name == name) member = column.member;
    }
    members.push_back(member);
  }
  if (!time_cell) return fail(ErrorKind::bad_input, fmt::format("{}: the header has no column t_s", csv.string()));

  Timeline timeline;
  for (int number = 2; const auto line = next_line(); ++number) {
    if (line->empty() || line->starts_with('#')) continue;
    const auto cells = split(*line);
    if (cells.size() != members.size()) {
      return fail(ErrorKind::bad_input, fmt::format("{}, line {}: {} cells, the header has {}", csv.string(), number,
                                                    cells.size(), members.size()));
    }
    TimelineRow row;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (cells[i].empty() && i != *time_cell) continue;
      if (members[i] == nullptr && i != *time_cell) continue;
      double value = 0;
      const auto [end, code] = std::from_chars(cells[i].data(), cells[i].data() + cells[i].size(), value);
      if (code != std::errc{} || end != cells[i].data() + cells[i].size()) {
        return fail(ErrorKind::bad_input,
                    fmt::format("{}, line {}: \"{}\" is not a number", csv.string(), number, cells[i]));
      }
      if (i == *time_cell) {
        row.t_s = value;
      } else {
        row.*members[i] = value;
      }
    }
    timeline.rows.push_back(row);
  }
  // A last line without its newline is a row that a killed sampler did not finish: left out.
  return timeline;
}

Status write_timeline(const Timeline& timeline, const std::filesystem::path& csv) {
  std::string out = timeline_csv_header() + "\n";
  for (const TimelineRow& row : timeline.rows) out += timeline_csv_row(row) + "\n";
  return write_file_atomically(csv, out);
}

}  // namespace spillway
