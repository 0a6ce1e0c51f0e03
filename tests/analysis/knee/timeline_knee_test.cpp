#include "analysis/knee/timeline_knee.hpp"

#include <catch2/catch.hpp>
#include <cmath>

using namespace spillway;
using namespace spillway::analysis;

namespace {

/// Written at `fast` pages a second until dirty memory meets the setpoint, then at the device's rate. Background 1000,
/// limit 2000: freerun 1500, setpoint 1750.
Timeline leaky_bucket(double fast, double device, double end_s) {
  Timeline timeline;
  double dirtied = 0;
  double written = 0;
  for (int i = 0; i * 0.1 <= end_s + 1e-9; ++i) {
    TimelineRow row;
    row.t_s = i * 0.1;
    row.nr_dirty_pages = dirtied - written;
    row.nr_writeback_pages = 0;
    row.wb_written_pages = written;
    row.background_pages = 1000;
    row.thresh_pages = 2000;
    timeline.rows.push_back(row);
    if (dirtied - written > 1000) written += device * 0.1;
    dirtied = std::min(dirtied + fast * 0.1, written + 1750);
  }
  return timeline;
}

}  // namespace

TEST_CASE("timeline: the crossings of background and freerun are interpolated, the limit is never reached", "[analysis][knee]") {
  // 500 pages/s: background at 2.0 s. After it the device drains 100 of the 500: 500 more in 1.25 s.
  const Crossings crossings = find_crossings(leaky_bucket(500, 100, 20));
  REQUIRE(crossings.background_s);
  CHECK(*crossings.background_s == Approx(2.0).margin(0.051));
  REQUIRE(crossings.freerun_s);
  CHECK(*crossings.freerun_s == Approx(3.25).margin(0.12));
  CHECK_FALSE(crossings.limit_s);
}

TEST_CASE("timeline: the collapse is where dirty memory meets the setpoint", "[analysis][knee]") {
  // 750 pages above background at 400 net: at 2 + 1.875 s; from 500 to 100 pages/s.
  const auto knee = find_timeline_knee(leaky_bucket(500, 100, 20), 20);
  REQUIRE(knee);
  CHECK(knee->at_s == Approx(3.9).margin(0.35));
  CHECK(knee->interval.contains(3.9));
  CHECK(knee->ratio == Approx(5).epsilon(0.15));
}

TEST_CASE("timeline: no collapse when the device keeps up, and none without counters", "[analysis][knee]") {
  CHECK_FALSE(find_timeline_knee(leaky_bucket(500, 500, 20), 20));
  Timeline blind;
  blind.rows.resize(50);
  for (std::size_t i = 0; i < 50; ++i) blind.rows[i].t_s = 0.1 * static_cast<double>(i);
  CHECK_FALSE(find_timeline_knee(blind, 5));
  CHECK_FALSE(find_crossings(blind).background_s);
  CHECK_FALSE(find_timeline_knee(Timeline{}, 5));
}

TEST_CASE("timeline: an empty bin is a slow one, not an error", "[analysis][knee]") {
  Timeline timeline;
  double dirtied = 0;
  for (int i = 0; i <= 200; ++i) {
    TimelineRow row;
    row.t_s = 0.1 * i;
    row.wb_dirtied_pages = dirtied;
    timeline.rows.push_back(row);
    if (i < 100) dirtied += 50;  // then nothing at all for ten seconds
  }
  const auto knee = find_timeline_knee(timeline, 20);
  REQUIRE(knee);
  CHECK(knee->at_s == Approx(10.0).margin(0.4));
}
