#include "plots/timeline.hpp"

#include "plots/heading.hpp"
#include "sim/units.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace spillway::plots {

namespace {

std::optional<double> to_mb_of_pages(const std::optional<double>& pages) {
  if (!pages) return std::nullopt;
  return *pages * static_cast<double>(kPageSize.value()) * 1e-6;
}

std::optional<double> sum(const std::optional<double>& a, const std::optional<double>& b) {
  if (!a || !b) return std::nullopt;
  return *a + *b;
}

/// Freerun ends half way between background and limit (mm/page-writeback.c, dirty_freerun_ceiling).
std::optional<double> freerun_of(const TimelineRow& row) {
  if (row.freerun_pages) return row.freerun_pages;
  if (!row.thresh_pages || !row.background_pages) return std::nullopt;
  return (*row.thresh_pages + *row.background_pages) / 2;
}

}  // namespace

std::vector<BoundaryLabel> boundary_labels(const Record& record, double least_gap_s) {
  struct Start {
    double t_s;
    std::string name;
    int number;  ///< of an untar; 0: a phase
  };
  std::vector<Start> starts;
  for (const UntarResult& untar : record.untars) starts.push_back({untar.start_s, fmt::format("{}", untar.number), untar.number});
  for (const PhaseResult& phase : record.phases) {
    if (phase.start_s >= 0) starts.push_back({phase.start_s, phase.name, 0});
  }
  std::stable_sort(starts.begin(), starts.end(), [](const Start& a, const Start& b) { return a.t_s < b.t_s; });
  std::vector<BoundaryLabel> labels;
  int first = 0;
  for (const Start& start : starts) {
    if (!labels.empty() && start.t_s - labels.back().t_s < least_gap_s) {
      // Untars in a row are named as a range; a phase is added by its name.
      labels.back().text = first > 0 && start.number > 0 ? fmt::format("{}-{}", first, start.number) : labels.back().text + "," + start.name;
      continue;
    }
    labels.push_back({start.t_s, start.name});
    first = start.number;
  }
  return labels;
}

Figure timeline_figure(const Record& record, const Timeline& timeline) {
  Figure figure;
  figure.name = "timeline";
  figure.key_rows = 3;
  figure.title = record.experiment_title.empty() ? "Dirty pages against time" : record.experiment_title;
  figure.subtitle = subtitle_of(record);
  DataTable table{"timeline.dat", {"t_s", "dirty_mb", "writeback_mb", "both_mb", "background_mb", "freerun_mb", "limit_mb"}, {}, {}};
  double end = record.durable_s, highest = 1e-3;
  bool lines = false;
  for (const TimelineRow& row : timeline.rows) {
    const auto freerun = to_mb_of_pages(freerun_of(row));
    const auto limit = to_mb_of_pages(row.limit_pages ? row.limit_pages : row.thresh_pages);
    lines = lines || (freerun && limit);
    table.rows.push_back({row.t_s, to_mb_of_pages(row.nr_dirty_pages), to_mb_of_pages(row.nr_writeback_pages),
                          to_mb_of_pages(sum(row.nr_dirty_pages, row.nr_writeback_pages)), to_mb_of_pages(row.background_pages), freerun, limit});
    end = std::max(end, row.t_s);
    highest = std::max({highest, limit.value_or(0), sum(to_mb_of_pages(row.nr_dirty_pages), to_mb_of_pages(row.nr_writeback_pages)).value_or(0)});
  }
  figure.tables.push_back(std::move(table));
  end = std::max(end, 1e-3);

  // Boundaries are drawn for every start, their numbers only where they have room: 3 % of the axis is about 25 pixels.
  std::string boundaries;
  for (const UntarResult& untar : record.untars) {
    boundaries += fmt::format("set arrow from first {0:.7g}, graph 0 to first {0:.7g}, graph 1 nohead back lc rgb \"#999999\" dt (2,3)\n", untar.start_s);
  }
  for (const PhaseResult& phase : record.phases) {
    if (phase.start_s >= 0) {
      boundaries += fmt::format("set arrow from first {0:.7g}, graph 0 to first {0:.7g}, graph 1 nohead back lc rgb \"#999999\" dt (2,3)\n", phase.start_s);
    }
  }
  std::string numbers;
  for (const BoundaryLabel& label : boundary_labels(record, 0.035 * end)) {
    numbers += fmt::format("set label {} at first {:.7g}, graph 1 left offset 0.3,-0.7 font \",9\"\n", quoted(label.text), label.t_s);
  }
  const std::string axes = fmt::format(
      "set xlabel \"time since the first untar began (s)\"\n"
      "set xrange [0:{:.7g}]\n",
      end);
  // Headroom for the numbers above the highest line.
  const std::string range = fmt::format("set yrange [0:{:.7g}]\n", 1.12 * highest), text_range = fmt::format("set yrange [0:{:.7g}]\n", 1.25 * highest);
  const auto curve = [](const char* first, int column, const char* style, const char* title) {
    return fmt::format("{} using 1:{} with lines {} title \"{}\"", first, column, style, title);
  };
  figure.body = axes + range + boundaries + numbers +
      "set ylabel \"MB\"\n"
      "set grid ytics lt 1 lw 0.5 lc rgb \"#DDDDDD\"\n"
      "set key outside bottom center horizontal maxrows 3\n"
      "plot " + curve("\"timeline.dat\"", 4, fmt::format("lw 2.5 lc rgb \"{}\"", colour::black).c_str(), "dirty + writeback") +
      ", \\\n     " + curve("\"\"", 2, fmt::format("lw 1.5 dt (8,3) lc rgb \"{}\"", colour::dirty).c_str(), "dirty") +
      ", \\\n     " + curve("\"\"", 3, fmt::format("lw 1.5 dt (3,2) lc rgb \"{}\"", colour::writeback).c_str(), "under writeback");
  if (lines) {
    figure.body += ", \\\n     " + curve("\"\"", 7, fmt::format("lw 2 dt (12,4) lc rgb \"{}\"", colour::limit).c_str(), "limit") +
                   ", \\\n     " + curve("\"\"", 6, fmt::format("lw 2 dt (12,4,3,4) lc rgb \"{}\"", colour::freerun).c_str(), "freerun ends (throttling begins)") +
                   ", \\\n     " + curve("\"\"", 5, fmt::format("lw 2 dt (2,4) lc rgb \"{}\"", colour::background).c_str(), "background (flusher begins)");
  }
  figure.body += "\n";

  std::string text_numbers;
  for (const BoundaryLabel& label : boundary_labels(record, 0.09 * end)) {
    text_numbers += fmt::format("set label {} at first {:.7g}, graph 1 left offset 0,-1\n", quoted("|" + label.text), label.t_s);
  }
  figure.text_body = axes + text_range + text_numbers +
      "set ylabel \"MB\"\n"
      "set key outside bottom center horizontal maxrows 3\n"
      "plot \"timeline.dat\" using 1:4 with lines lt 1 title \"dirty + writeback\", \\\n"
      "     \"\" using 1:3 with lines lt 2 title \"under writeback\"";
  if (lines) {
    figure.text_body += ", \\\n     \"\" using 1:7 with lines lt 3 title \"limit\", \\\n"
                        "     \"\" using 1:6 with lines lt 4 title \"freerun\", \\\n"
                        "     \"\" using 1:5 with lines lt 5 title \"background\"";
  }
  figure.text_body += "\n";
  return figure;
}

}  // namespace spillway::plots
