#pragma once
/// The knee on the clock: when dirty memory crosses each of the kernel's lines, and the moment at which the rate of
/// accepted data collapses.
///
/// The lines (Linux mm/page-writeback.c): above the background threshold the flusher is woken (the kernel compares
/// NR_FILE_DIRTY alone); above freerun = (background + limit) / 2 writers may be paused; the limit itself is rarely
/// reached, since pauses hold dirty memory at the setpoint between the two (dirty and writeback together).

#include <optional>
#include <vector>

#include "analysis/knee/knee.hpp"
#include "workload/record/timeline.hpp"

namespace spillway::analysis {

/// Moments in seconds since the start of the first untar, interpolated between samples. Empty: never, or not seen.
struct Crossings {
  std::optional<double> background_s;
  std::optional<double> freerun_s;
  std::optional<double> limit_s;
};
Crossings find_crossings(const Timeline& timeline);

/// freerun of a row: as recorded, else (background + limit) / 2.
std::optional<double> freerun_of(const TimelineRow& row);
/// Dirty and writeback pages together.
std::optional<double> dirty_and_writeback(const TimelineRow& row);
/// Pages dirtied up to this row: the counter, else pages written plus those still dirty. Empty: neither is known.
std::optional<double> dirtied_pages(const TimelineRow& row);

/// Rate of accepted data in equal bins of [from, to].
struct RateBin {
  double from_s = 0, to_s = 0;
  double pages_per_s = 0;
};
std::vector<RateBin> accepted_rate(const Timeline& timeline, double from_s, double to_s, std::size_t bins);

struct TimelineKnee {
  double at_s = 0;    ///< start of the first bin of the lower rate
  Interval interval;  ///< seconds
  double ratio = 1;   ///< rate before / after the first knee
};
/// The moment of the collapse between 0 and `end_s` (the end of the last untar).
std::optional<TimelineKnee> find_timeline_knee(const Timeline& timeline, double end_s, const KneeOptions& options = {});

}  // namespace spillway::analysis
