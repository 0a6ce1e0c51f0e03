#include "cli/figures.hpp"

#include "analysis/account/pause_trace.hpp"
#include "plots/account.hpp"
#include "plots/bandwidth.hpp"
#include "plots/shares.hpp"
#include "plots/timeline.hpp"
#include "plots/untars.hpp"
#include "plots/workers.hpp"
#include "workload/record/file_io.hpp"
#include "workload/record/record_io.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <optional>

namespace spillway::cli {

namespace {

namespace fs = std::filesystem;

/// The column `pause_ms` of bdp.csv, whatever stands beside it; lines of # are comments.
std::vector<double> pauses_of(const fs::path& csv) {
  std::vector<double> pauses;
  std::ifstream in(csv);
  std::string line, cell;
  std::optional<std::size_t> column;
  while (std::getline(in, line)) {
    if (line.starts_with('#')) continue;
    std::istringstream cells(line);
    for (std::size_t i = 0; std::getline(cells, cell, ','); ++i) {
      if (!column) {
        if (cell == "pause_ms") column = i;
      } else if (i == *column) {
        pauses.push_back(std::strtod(cell.c_str(), nullptr));
        break;
      }
    }
    if (!column) break;
  }
  return pauses;
}

void add(std::vector<plots::Figure>& figures, std::optional<plots::Figure> figure) {
  if (figure) figures.push_back(*std::move(figure));
}

}  // namespace

std::vector<plots::Figure> figures_of(std::span<const Record> repeats, const fs::path& folder) {
  std::vector<plots::Figure> figures;
  const Record& record = repeats.front();
  if (!record.untars.empty()) figures.push_back(plots::untars_figure(repeats));
  std::error_code ignored;
  if (fs::exists(folder / "timeline.csv", ignored)) {
    const auto timeline = read_timeline(folder / "timeline.csv");
    if (timeline && timeline->rows.size() > 1) {
      figures.push_back(plots::timeline_figure(record, *timeline));
      add(figures, plots::bandwidth_figure(record, *timeline));
    }
  }
  std::vector<analysis::DatedPause> pauses;
  if (const auto csv = spillway::read_file(folder / "bdp.csv")) pauses = analysis::read_pauses(*csv, record);
  const bool accounted = std::any_of(record.untars.begin(), record.untars.end(), [](const UntarResult& untar) { return untar.account.total_s() > 0; });
  if (accounted) figures.push_back(plots::account_figure(record));
  if (accounted) add(figures, plots::account_time_figure(record, pauses));
  std::vector<double> lengths;
  for (const analysis::DatedPause& pause : pauses) lengths.push_back(pause.pause_s * 1e3);
  if (lengths.empty()) lengths = pauses_of(folder / "bdp.csv");
  add(figures, plots::pauses_figure(record, lengths));
  add(figures, plots::kworkers_figure(record));
  if (const auto csv = spillway::read_file(folder / "workers.csv")) add(figures, plots::workers_time_figure(record, plots::read_workers(*csv)));
  add(figures, plots::extents_figure(record));
  add(figures, plots::device_figure(record));
  return figures;
}

Result<std::vector<fs::path>> draw(std::span<const Record> repeats, const fs::path& folder, std::span<const plots::Format> formats) {
  std::vector<fs::path> all;
  for (const plots::Figure& figure : figures_of(repeats, folder)) {
    SPILLWAY_ASSIGN(const auto pictures, plots::render(figure, folder / "figures", formats));
    all.insert(all.end(), pictures.begin(), pictures.end());
  }
  return all;
}

}  // namespace spillway::cli
