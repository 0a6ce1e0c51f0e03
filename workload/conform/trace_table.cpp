#include "workload/conform/trace_table.hpp"

#include <charconv>
#include <fmt/format.h>

namespace spillway::conform {

namespace {

constexpr std::string_view kTime = "t_mono_s";

/// The next piece up to `separator`; takes it from the front of `rest`.
std::string_view take(std::string_view& rest, char separator) {
  const std::size_t at = rest.find(separator);
  std::string_view piece = rest.substr(0, at);
  rest = at == std::string_view::npos ? std::string_view{} : rest.substr(at + 1);
  if (separator == '\n' && piece.ends_with('\r')) piece.remove_suffix(1);
  return piece;
}

}  // namespace

Result<TraceTable> TraceTable::parse(std::string_view text, std::string where) {
  TraceTable table;
  table.where_ = std::move(where);
  std::vector<std::string> names;
  int line = 0;
  while (!text.empty()) {
    std::string_view rest = take(text, '\n');
    ++line;
    if (rest.empty()) continue;
    if (rest.front() == '#') {
      table.comments_.append(rest).push_back('\n');
      continue;
    }
    std::size_t column = 0;
    if (names.empty()) {
      while (!rest.empty()) {
        names.emplace_back(take(rest, ','));
        table.columns_[names.back()] = column++;
      }
      continue;
    }
    double time = 0;
    for (bool more = true; more; ++column) {
      more = rest.contains(',');
      const std::string_view cell = take(rest, ',');
      if (column >= names.size()) {
        ++column;  // one too many
        break;
      }
      if (names[column] == kTime) {
        if (std::from_chars(cell.data(), cell.data() + cell.size(), time).ec != std::errc{})
          return fail(ErrorKind::bad_input, fmt::format("{}, line {}: \"{}\" is no time in seconds", table.where_, line, cell));
        table.cells_.emplace_back();
        continue;
      }
      std::int64_t number = 0;
      const auto [end, code] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
      if (cell.empty()) {
        table.cells_.emplace_back();
      } else if (code != std::errc{} || end != cell.data() + cell.size()) {
        return fail(ErrorKind::bad_input, fmt::format("{}, line {}, column {}: \"{}\" is no whole number", table.where_, line, names[column], cell));
      } else {
        table.cells_.emplace_back(number);
      }
    }
    if (column != names.size())
      return fail(ErrorKind::bad_input, fmt::format("{}, line {}: not the {} cells of the header; is the file cut off?", table.where_, line, names.size()));
    table.times_.push_back(time);
    table.lines_.push_back(line);
  }
  if (names.empty()) return fail(ErrorKind::bad_input, fmt::format("{}: no header line, so it is no trace of `spillway run`", table.where_));
  return table;
}

Status TraceTable::require(const std::vector<std::string_view>& columns) const {
  for (const std::string_view column : columns)
    if (!columns_.contains(column))
      return fail(ErrorKind::bad_input, fmt::format("{}: the column {} is missing; expected bdp.csv or ratelimit.csv as `spillway run` writes them", where_, column));
  return {};
}

std::optional<std::int64_t> TraceTable::at(std::size_t row, std::string_view column) const {
  const auto it = columns_.find(column);
  if (it == columns_.end()) return std::nullopt;
  return cells_[row * columns_.size() + it->second];
}

std::optional<std::int64_t> TraceTable::comment(std::string_view name) const {
  const std::string key = std::string{name} + "=";
  const std::size_t at = comments_.find(key);
  if (at == std::string::npos) return std::nullopt;
  std::int64_t number = 0;
  const char* first = comments_.data() + at + key.size();
  if (std::from_chars(first, comments_.data() + comments_.size(), number).ec != std::errc{}) return std::nullopt;
  return number;
}

}  // namespace spillway::conform
