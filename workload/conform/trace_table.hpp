#pragma once
/// One of the CSV traces that `spillway run` writes beside a record (bdp.csv, ratelimit.csv): named columns of whole
/// numbers, but for the time, and comments that begin with '#'.

#include "sim/result.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spillway::conform {

class TraceTable {
 public:
  /// `where` is the file's name, for errors. A row with another number of cells than the header, or a cell that is no
  /// number: `bad_input` with line and column. An empty cell is "not known".
  static Result<TraceTable> parse(std::string_view text, std::string where);

  /// `bad_input` naming the first column that is missing.
  [[nodiscard]] Status require(const std::vector<std::string_view>& columns) const;
  [[nodiscard]] std::size_t size() const { return lines_.size(); }
  [[nodiscard]] bool has(std::string_view column) const { return columns_.contains(column); }
  /// A whole number; nothing where the cell is empty or the column is missing.
  [[nodiscard]] std::optional<std::int64_t> at(std::size_t row, std::string_view column) const;
  [[nodiscard]] double time_s(std::size_t row) const { return times_[row]; }
  [[nodiscard]] int line(std::size_t row) const { return lines_[row]; }
  /// The value of "NAME=" in a comment, HZ for example.
  [[nodiscard]] std::optional<std::int64_t> comment(std::string_view name) const;
  [[nodiscard]] const std::string& where() const { return where_; }

 private:
  std::string where_, comments_;
  std::map<std::string, std::size_t, std::less<>> columns_;
  std::vector<std::optional<std::int64_t>> cells_;  ///< row by row
  std::vector<double> times_;
  std::vector<int> lines_;
};

}  // namespace spillway::conform
