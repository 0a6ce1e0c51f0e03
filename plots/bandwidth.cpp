#include "plots/bandwidth.hpp"

#include "plots/heading.hpp"
#include "sim/units.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace spillway::plots {

namespace {

constexpr double kMbPerPage = static_cast<double>(kPageSize.value()) * 1e-6;

/// MB/s written over the window that ends at row `i`; none at the start, or where the counter is missing.
std::optional<double> written_rate(const Timeline& timeline, std::size_t i, double window_s) {
  const TimelineRow& now = timeline.rows[i];
  if (!now.device_write_bytes) return std::nullopt;
  for (std::size_t j = i; j-- > 0;) {
    const TimelineRow& then = timeline.rows[j];
    const double width = now.t_s - then.t_s;
    if (width < window_s - 1e-9) continue;
    if (!then.device_write_bytes || width > 2 * window_s) return std::nullopt;
    return (*now.device_write_bytes - *then.device_write_bytes) * 1e-6 / width;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Figure> bandwidth_figure(const Record& record, const Timeline& timeline, double window_s) {
  Figure figure;
  figure.name = "bandwidth";
  figure.title = "What the kernel thinks the device writes, and what it writes";
  figure.subtitle = subtitle_of(record);
  DataTable table{"bandwidth.dat", {"t_s", "estimated_mb_per_s", "written_mb_per_s", "ratelimit_mb_per_s"}, {}, {}};
  bool estimated = false, written = false;
  double highest = 0;
  for (std::size_t i = 0; i < timeline.rows.size(); ++i) {
    const TimelineRow& row = timeline.rows[i];
    if (row.t_s < 0) continue;
    std::optional<double> estimate, limit;
    if (row.write_bandwidth_pages_per_s) estimate = *row.write_bandwidth_pages_per_s * kMbPerPage;
    if (row.dirty_ratelimit_pages_per_s) limit = *row.dirty_ratelimit_pages_per_s * kMbPerPage;
    const auto rate = written_rate(timeline, i, window_s);
    estimated = estimated || estimate;
    written = written || rate;
    highest = std::max({highest, estimate.value_or(0), rate.value_or(0)});
    table.rows.push_back({row.t_s, estimate, rate, limit});
  }
  if (!estimated || !written) return std::nullopt;
  figure.tables.push_back(std::move(table));
  const std::string axes = fmt::format("set xlabel \"time since the first untar began (s)\"\nset yrange [0:{:.6g}]\nset xrange [0:*]\n", 1.1 * highest);
  figure.body = axes + fmt::format(
      "set ylabel \"MB/s\"\n"
      "set grid ytics lt 1 lw 0.5 lc rgb \"#CCCCCC\"\n"
      "set key outside bottom center horizontal\n"
      "plot \"bandwidth.dat\" using 1:3 with lines lw 2.5 lc rgb \"{}\" title \"written by the device (mean of {:g} s)\", \\\n"
      "     \"\" using 1:2 with lines lw 2 dt (8,4) lc rgb \"{}\" title \"the kernel's estimate\"\n",
      colour::black, window_s, colour::limit);
  figure.text_body = axes +
      "set ylabel \"MB/s\"\n"
      "set key outside bottom center horizontal\n"
      "plot \"bandwidth.dat\" using 1:3 with lines lt 1 title \"written\", \\\n"
      "     \"\" using 1:2 with lines lt 2 title \"estimated\"\n";
  return figure;
}

}  // namespace spillway::plots
