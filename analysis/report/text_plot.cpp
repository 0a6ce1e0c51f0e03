#include "analysis/report/text_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "analysis/knee/timeline_knee.hpp"
#include "sim/units.hpp"

namespace spillway::analysis {
namespace {

constexpr std::size_t kBarColumns = 50;
constexpr std::size_t kPlotColumns = 60;
constexpr std::size_t kPlotRows = 14;

double to_mb_of_pages(double pages) { return pages * static_cast<double>(kPageSize.value()) / 1e6; }

/// The last row of a column's share of the time that knows the value.
template <class Get>
std::vector<std::optional<double>> by_column(const Timeline& timeline, double end_s, const Get& get) {
  std::vector<std::optional<double>> columns(kPlotColumns);
  for (const TimelineRow& row : timeline.rows) {
    if (row.t_s < 0 || row.t_s > end_s) continue;
    const auto at = std::min(kPlotColumns - 1, static_cast<std::size_t>(row.t_s / end_s * kPlotColumns));
    if (const std::optional<double> value = get(row)) columns[at] = to_mb_of_pages(*value);
  }
  return columns;
}

}  // namespace

std::string untar_bars(const Record& record) {
  double longest = 0;
  for (const UntarResult& one : record.untars) longest = std::max(longest, one.elapsed_s);
  if (longest <= 0) return "";
  std::string out;
  for (const UntarResult& one : record.untars) {
    const auto length = [&](double seconds) { return static_cast<std::size_t>(std::lround(seconds / longest * kBarColumns)); };
    const std::size_t whole = std::max<std::size_t>(1, length(one.elapsed_s));
    const std::size_t cpu = std::min(whole, length(one.user_s + one.system_s));
    out += fmt::format("{:>4} |{}{} {:.2f}\n", one.number, std::string(cpu, '#'), std::string(whole - cpu, '.'), one.elapsed_s);
  }
  return out + "     elapsed s of each untar;  # on a CPU  . waiting\n";
}

std::string dirty_plot(const Timeline& timeline, double end_s) {
  if (!(end_s > 0)) return "";
  const auto held = by_column(timeline, end_s, dirty_and_writeback);
  const auto limit = by_column(timeline, end_s, [](const TimelineRow& row) { return row.thresh_pages; });
  const auto freerun = by_column(timeline, end_s, freerun_of);
  const auto background = by_column(timeline, end_s, [](const TimelineRow& row) { return row.background_pages; });
  double top = 0;
  bool any = false;
  for (std::size_t x = 0; x < kPlotColumns; ++x) {
    any = any || held[x].has_value();
    for (const auto& curve : {held[x], limit[x]}) top = std::max(top, curve.value_or(0));
  }
  if (!any || top <= 0) return "";
  std::vector<std::string> grid(kPlotRows, std::string(kPlotColumns, ' '));
  const auto draw = [&](const std::vector<std::optional<double>>& curve, char mark) {
    for (std::size_t x = 0; x < kPlotColumns; ++x) {
      if (!curve[x]) continue;
      const auto height = std::min(kPlotRows - 1, static_cast<std::size_t>(std::max(0.0, *curve[x]) / top * (kPlotRows - 1) + 0.5));
      grid[kPlotRows - 1 - height][x] = mark;
    }
  };
  draw(background, 'b');
  draw(freerun, 'f');
  draw(limit, 'L');
  draw(held, '*');
  std::string out;
  for (std::size_t y = 0; y < kPlotRows; ++y) {
    const double value = top * static_cast<double>(kPlotRows - 1 - y) / (kPlotRows - 1);
    std::string row = grid[y];
    while (!row.empty() && row.back() == ' ') row.pop_back();
    out += fmt::format("{:>8} |{}\n", y % 3 == 0 || y + 1 == kPlotRows ? fmt::format("{:.0f}", value) : "", row);
  }
  out += fmt::format("{:>8} +{}\n", "MB", std::string(kPlotColumns, '-'));
  out += fmt::format("{:>8}  0{:>{}.1f} s\n", "", end_s, kPlotColumns - 4);
  return out + "     * dirty + writeback   L limit   f freerun   b background\n";
}

}  // namespace spillway::analysis
