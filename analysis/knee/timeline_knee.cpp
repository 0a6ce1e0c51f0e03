#include "analysis/knee/timeline_knee.hpp"

#include <algorithm>
#include <cmath>

namespace spillway::analysis {
namespace {

/// At most this many bins: the search is cubic, and a run rarely has structure finer than a sixtieth of itself.
constexpr std::size_t kBins = 60;
/// Rates within a bin vary with pauses of up to 200 ms and with the archive's file sizes. assumed.
constexpr double kBinNoise = 0.15;
/// A bin in which nothing at all was accepted counts as this share of the fastest: the logarithm must stay finite.
constexpr double kLeastShare = 0.01;

/// First moment at which `height` exceeds `line`, both functions of a row; interpolated.
template <class Height, class Line>
std::optional<double> first_above(const Timeline& timeline, const Height& height, const Line& line) {
  std::optional<double> before_t;
  double before_gap = 0;
  for (const TimelineRow& row : timeline.rows) {
    const std::optional<double> h = height(row);
    const std::optional<double> l = line(row);
    if (!h || !l) continue;
    const double gap = *h - *l;
    if (gap > 0) {
      if (!before_t) return row.t_s;
      return *before_t + (row.t_s - *before_t) * (-before_gap / (gap - before_gap));
    }
    before_t = row.t_s;
    before_gap = gap;
  }
  return std::nullopt;
}

std::optional<double> limit_of(const TimelineRow& row) { return row.limit_pages ? row.limit_pages : row.thresh_pages; }

/// Linear interpolation of the pages dirtied until `t_s`.
double dirtied_until(const std::vector<std::pair<double, double>>& points, double t_s) {
  const auto above = std::ranges::lower_bound(points, t_s, {}, &std::pair<double, double>::first);
  if (above == points.begin()) return points.front().second;
  if (above == points.end()) return points.back().second;
  const auto below = above - 1;
  const double width = above->first - below->first;
  return width <= 0 ? above->second : std::lerp(below->second, above->second, (t_s - below->first) / width);
}

}  // namespace

std::optional<double> freerun_of(const TimelineRow& row) {
  if (row.freerun_pages) return row.freerun_pages;
  if (row.background_pages && row.thresh_pages) return (*row.background_pages + *row.thresh_pages) / 2;
  return std::nullopt;
}

std::optional<double> dirty_and_writeback(const TimelineRow& row) {
  if (!row.nr_dirty_pages) return std::nullopt;
  return *row.nr_dirty_pages + row.nr_writeback_pages.value_or(0);
}

std::optional<double> dirtied_pages(const TimelineRow& row) {
  if (row.wb_dirtied_pages) return row.wb_dirtied_pages;
  const auto held = dirty_and_writeback(row);
  if (held && row.wb_written_pages) return *held + *row.wb_written_pages;
  return std::nullopt;
}

Crossings find_crossings(const Timeline& timeline) {
  return {.background_s = first_above(
              timeline, [](const TimelineRow& row) { return row.nr_dirty_pages; },
              [](const TimelineRow& row) { return row.background_pages; }),
          .freerun_s = first_above(timeline, dirty_and_writeback, freerun_of),
          .limit_s = first_above(timeline, dirty_and_writeback, limit_of)};
}

std::vector<RateBin> accepted_rate(const Timeline& timeline, double from_s, double to_s, std::size_t bins) {
  std::vector<std::pair<double, double>> points;
  double most = 0;
  for (const TimelineRow& row : timeline.rows) {
    if (const auto pages = dirtied_pages(row)) {
      most = std::max(most, *pages);  // the counters of the kernel are summed over CPUs lazily and may step back
      points.emplace_back(row.t_s, most);
    }
  }
  std::vector<RateBin> rates;
  if (points.size() < 2 || bins == 0 || !(to_s > from_s)) return rates;
  const double width = (to_s - from_s) / static_cast<double>(bins);
  for (std::size_t i = 0; i < bins; ++i) {
    const double a = from_s + width * static_cast<double>(i);
    const double b = a + width;
    rates.push_back({a, b, (dirtied_until(points, b) - dirtied_until(points, a)) / width});
  }
  return rates;
}

std::optional<TimelineKnee> find_timeline_knee(const Timeline& timeline, double end_s, const KneeOptions& options) {
  std::size_t samples = 0;
  for (const TimelineRow& row : timeline.rows) samples += row.t_s >= 0 && row.t_s <= end_s ? 1 : 0;
  const std::size_t bins = std::min(kBins, samples / 2);
  const std::vector<RateBin> rates = accepted_rate(timeline, 0, end_s, bins);
  double fastest = 0;
  for (const RateBin& bin : rates) fastest = std::max(fastest, bin.pages_per_s);
  if (rates.size() < kKneeLeast || fastest <= 0) return std::nullopt;
  std::vector<double> series;
  for (const RateBin& bin : rates) series.push_back(std::max(bin.pages_per_s, kLeastShare * fastest));
  KneeOptions binned = options;
  binned.steps.noise_floor = std::max(options.steps.noise_floor, kBinNoise);
  const auto found = find_knee(series, binned);
  if (!found) return std::nullopt;
  const auto at = [&](double index) { return rates[static_cast<std::size_t>(index)].from_s; };
  const double width = rates.front().to_s - rates.front().from_s;
  return TimelineKnee{.at_s = rates[found->first().at].from_s,
                      // A bin's edge is known to half a bin on either side.
                      .interval = {std::max(0.0, at(found->interval.low) - width / 2),
                                   at(found->interval.high) + width / 2, found->interval.level},
                      .ratio = found->first().ratio};
}

}  // namespace spillway::analysis
