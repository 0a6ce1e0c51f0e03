#include "analysis/account/pause_trace.hpp"

#include <cstdlib>
#include <optional>
#include <sstream>

namespace spillway::analysis {

std::vector<DatedPause> read_pauses(std::string_view csv, const Record& record) {
  std::vector<DatedPause> out;
  std::istringstream in{std::string{csv}};
  std::optional<std::size_t> time_column, pause_column;
  double scale = 1, origin = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line.front() == '#') continue;
    std::istringstream cells(line);
    std::string cell;
    DatedPause pause;
    for (std::size_t i = 0; std::getline(cells, cell, ','); ++i) {
      if (!pause_column || !time_column) {  // the heading
        if (cell == "pause_ms") pause_column = i;
        if (cell == "t_s") time_column = i;
        if (cell == "t_ms") time_column = i, scale = 1e-3;
        if (cell == "t_mono_s") {
          const auto at = record.counters.find("monotonic_origin_s");
          if (at == record.counters.end()) return {};
          time_column = i;
          origin = at->second;
        }
        pause.pause_s = -1;
        continue;
      }
      if (i == *time_column) pause.t_s = std::strtod(cell.c_str(), nullptr) * scale - origin;
      if (i == *pause_column) pause.pause_s = std::strtod(cell.c_str(), nullptr) * 1e-3;
    }
    if (!pause_column || !time_column) return {};
    if (pause.pause_s > 0) out.push_back(pause);
  }
  return out;
}

}  // namespace spillway::analysis
