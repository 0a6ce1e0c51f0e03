#pragma once
/// Small comma-separated tables for tests: a header line, then rows of text.

#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace spillway::test {

using Row = std::map<std::string, std::string>;

inline std::vector<Row> read_csv(const std::string& name) {
  std::ifstream file(std::string{SPILLWAY_TEST_DATA} + "/" + name);
  INFO("test data " << name);
  REQUIRE(file.good());
  const auto split = [](const std::string& line) {
    std::vector<std::string> cells;
    std::stringstream stream(line);
    for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
    return cells;
  };
  std::string line;
  std::getline(file, line);
  const auto header = split(line);
  std::vector<Row> rows;
  while (std::getline(file, line)) {
    const auto cells = split(line);
    Row row;
    for (std::size_t i = 0; i < header.size() && i < cells.size(); ++i) row[header[i]] = cells[i];
    rows.push_back(std::move(row));
  }
  return rows;
}

inline long long number(const Row& row, const std::string& column) { return std::stoll(row.at(column)); }

}  // namespace spillway::test
