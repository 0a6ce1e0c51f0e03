// The dirty-page controller, formula by formula, against values worked out by hand and against a real kernel's traces.

#include <catch2/catch.hpp>

#include "sim/block/wbt.hpp"
#include "sim/flusher/flusher.hpp"
#include "sim/memory/completion_share.hpp"
#include "sim/memory/device_share.hpp"
#include "sim/memory/dirty_limit.hpp"
#include "sim/memory/pause.hpp"
#include "sim/memory/position_ratio.hpp"
#include "sim/memory/rate_limit.hpp"
#include "sim/memory/thresholds.hpp"
#include "sim/memory/write_bandwidth.hpp"
#include "tests/sim/csv.hpp"

using namespace spillway;
using namespace spillway::sim;

namespace {

constexpr KernelWord kThresh = 122071, kBackground = 61036;

PositionInputs at(KernelWord dirty, KernelWord bandwidth) {
  return {.thresh = kThresh, .background = kBackground, .dirty_limit = kThresh, .dirty = dirty, .wb_thresh = kThresh,
          .wb_background = kBackground, .wb_dirty = dirty, .avg_write_bandwidth = bandwidth};
}

}  // namespace

TEST_CASE("thresholds: bytes round up to pages, ratios are truncated to 1/4096", "[sim][memory]") {
  const Thresholds bytes = compute_thresholds({Bytes{500'000'000}, Bytes{250'000'000}, 20, 10}, 1);
  CHECK(bytes.thresh == 122071);
  CHECK(bytes.background == 61036);
  CHECK(bytes.freerun() == 91553);
  // 20 % is 819/4096 and 10 % is 409/4096 of dirtyable memory.
  const Thresholds ratio = compute_thresholds({}, 4'096'000);
  CHECK(ratio.thresh == 819'000);
  CHECK(ratio.background == 409'000);
  // A ratio in the foreground with bytes in the background is allowed.
  CHECK(compute_thresholds({Bytes{0}, Bytes{4097}, 20, 10}, 4'096'000).background == 2);
}

TEST_CASE("thresholds: a background threshold that is not below the limit becomes half of it", "[sim][memory]") {
  CHECK(compute_thresholds({Bytes{8'192'000}, Bytes{8'192'000}, 0, 0}, 1).background == 1000);
  CHECK(compute_thresholds({Bytes{8'192'000}, Bytes{8'187'904}, 0, 0}, 1).background == 1999);
}

TEST_CASE("thresholds: a real-time task gets a quarter more, and a part of the sliding limit", "[sim][memory]") {
  const Thresholds t = thresholds_for_realtime({1000, 500}, 3200);
  CHECK(t.thresh == 1000 + 250 + 100);
  CHECK(t.background == 500 + 125 + 100);
}

TEST_CASE("thresholds: a CPU's tasks dirty at most 1/32 of the limit between looks, and never under 16 pages",
          "[sim][memory]") {
  CHECK(ratelimit_pages(122071, 2) == 1907);
  CHECK(ratelimit_pages(100, 8) == 16);
}

TEST_CASE("sliding limit: up at once, down by 1/32 of the gap", "[sim][memory]") {
  CHECK(slide_dirty_limit(1000, 2000, 0) == 2000);
  CHECK(slide_dirty_limit(2000, 1000, 0) == 2000 - (1000 >> 5));
  CHECK(slide_dirty_limit(2000, 1000, 1990) == 2000);  // a gap of 10 is under 1/32
  // 95 updates close 95 % of the gap.
  KernelWord limit = 2'000'000;
  for (int i = 0; i < 95; ++i) limit = slide_dirty_limit(limit, 1'000'000, 0);
  CHECK(limit > 1'048'000);
  CHECK(limit < 1'051'000);
  CHECK(hard_dirty_limit(10, 20) == 20);
}

TEST_CASE("completion share: what completes counts, and three seconds halve it", "[sim][memory]") {
  CompletionPeriods domain;
  DeviceCompletions a, b;
  CHECK(completion_fraction(a, domain).numerator == 0);
  a.complete(domain, 300);
  b.complete(domain, 100);
  Fraction f = completion_fraction(a, domain);
  CHECK(f.numerator == 300);
  CHECK(f.denominator == 401);
  REQUIRE(domain.age(2));
  f = completion_fraction(a, domain);
  CHECK(f.numerator == 75);
  CHECK(f.denominator == 100);
  // All aged out: the timer stops.
  REQUIRE(domain.age(7));
  CHECK_FALSE(domain.age(1));
  CHECK(completion_fraction(a, domain).numerator == 0);
  CHECK(completion_fraction(a, domain).denominator == 1);
}

TEST_CASE("device share: by completions, with an eighth of the headroom as floor, between min and max ratio",
          "[sim][memory]") {
  ShareInputs in{.thresh = 122071, .dirty = 0, .completions = {0, 1}, .settings = {}, .floor = ShareFloor::in_share};
  CHECK(device_share(in) == 15258);  // 61,032 KiB: what a new device shows
  in.floor = ShareFloor::in_position_ratio;
  CHECK(device_share(in) == 0);
  in.floor = ShareFloor::in_share;
  in.completions = {1, 2};
  CHECK(device_share(in) == 61035);
  in.dirty = 122071;  // no headroom, no floor
  in.completions = {0, 1};
  CHECK(device_share(in) == 0);
  in.dirty = 0;
  in.settings.strict_limit = true;
  CHECK(device_share(in) == 1220);
  in.settings = {.min_ratio = 100'000, .max_ratio = 1'000'000, .sum_of_min_ratios = 100'000};
  in.completions = {1, 1};
  CHECK(device_share(in) == 109863 + 12207);
  in.settings = {.min_ratio = 0, .max_ratio = 10'000, .sum_of_min_ratios = 0};
  CHECK(device_share(in) == 1220);
}

TEST_CASE("position ratio: the table worked out with the kernel's integers", "[sim][memory]") {
  struct Line { KernelWord dirty; std::int64_t cubic, slow, middle, fast; };
  const Line lines[] = {{91554, 2045, 2197, 2083, 2059}, {95000, 1497, 1583, 1518, 1505}, {100000, 1114, 1151, 1123, 1117},
                        {106812, 1024, 1023, 1023, 1023}, {110000, 1014, 998, 1010, 1012}, {115000, 866, 831, 857, 862},
                        {120000, 363, 339, 357, 360}, {122000, 14, 12, 13, 13}};
  for (const Line& l : lines) {
    CAPTURE(l.dirty);
    CHECK(setpoint_of(at(l.dirty, 25600)) == 106812);
    CHECK(position_cubic(106812, l.dirty, kThresh) == l.cubic);
    CHECK(position_ratio(at(l.dirty, 25600)) == l.slow);
    CHECK(position_ratio(at(l.dirty, 102400)) == l.middle);
    CHECK(position_ratio(at(l.dirty, 262144)) == l.fast);
  }
  CHECK(position_ratio(at(kThresh, 25600)) == 0);
  CHECK(position_ratio(at(kThresh + 5000, 25600)) == 0);
}

TEST_CASE("position ratio: with a quarter of the threshold, the device's own position and its reserve count",
          "[sim][memory]") {
  PositionInputs in = at(106812, 25600);
  in.wb_thresh = kThresh / 4;
  for (const auto& [wb_dirty, expected] : {std::pair{26703, 1023}, {53406, 654}, {13351, 1380}, {5000, 4037}}) {
    CAPTURE(wb_dirty);
    in.wb_dirty = static_cast<KernelWord>(wb_dirty);
    CHECK(position_ratio(in) == expected);
  }
}

TEST_CASE("position ratio: under strictlimit the device's own limit stops the writer", "[sim][memory]") {
  PositionInputs in = at(1000, 25600);
  in.strict_limit = true;
  in.wb_thresh = 1000;
  in.wb_background = 500;
  in.wb_dirty = 1000;
  CHECK(position_ratio(in) == 0);
  in.wb_dirty = 750;  // its own setpoint
  CHECK(position_ratio(in) == 1024);
}

TEST_CASE("write bandwidth: the step response worked out with the kernel's integers", "[sim][memory]") {
  // HZ 250, an update every 51 ticks, the true rate steps from 25,600 to 51,200 pages/s.
  BandwidthEstimate e;
  struct Point { int updates; KernelWord bw, avg; };
  const Point points[] = {{1, 26874, 25600}, {5, 31368, 26932}, {10, 35836, 30124}, {20, 41977, 37046},
                          {30, 45662, 42306}, {40, 47871, 45753}, {60, 49993, 49204}};
  int done = 0;
  for (const Point& p : points) {
    for (; done < p.updates; ++done) {
      e = update_write_bandwidth(e, 51 * 51200 / 250, 51, 250);
    }
    CAPTURE(p.updates);
    CHECK(e.write_bandwidth == p.bw);
    CHECK(e.avg_write_bandwidth == p.avg);
  }
}

TEST_CASE("write bandwidth: an interval above the period replaces both estimates", "[sim][memory]") {
  CHECK(bandwidth_period(250) == 1024);
  CHECK(bandwidth_period(1000) == 4096);
  CHECK(bandwidth_period(100) == 512);
  const BandwidthEstimate e = update_write_bandwidth({}, 4100, 1025, 250);
  CHECK(e == BandwidthEstimate{1000, 1000});
  CHECK(update_write_bandwidth({}, 0, 2000, 250).avg_write_bandwidth == 1);
}

TEST_CASE("rate limit: steps by position, against the table", "[sim][memory]") {
  // dirty_ratelimit 25,600, the balanced rates far on the same side.
  struct Step { std::int64_t ratio; std::int64_t change; };
  const Step steps[] = {{256, -2400}, {512, -800}, {768, -200}, {870, -61}, {871, -60}, {922, -10}, {921, -20},
                        {973, -1},    {1075, 1},   {1126, 10}, {1280, 400},  {1536, 1601}, {2048, 3201}};
  for (const Step& s : steps) {
    CAPTURE(s.ratio);
    const KernelWord task = (25600 * static_cast<KernelWord>(s.ratio) >> 10) + 1;
    const bool below = s.ratio > 1024;
    const KernelWord far = below ? 1'000'000 : 1;
    const auto after = static_cast<std::int64_t>(step_dirty_ratelimit(25600, far, far, task, below));
    CHECK(after - 25600 == s.change);
  }
  CHECK(step_dirty_ratelimit(1, 1, 1, 1, false) == 1);  // never 0
}

TEST_CASE("rate limit: every balanced rate and every step of the real kernel's traces", "[sim][memory]") {
  const auto rows = test::read_csv("ratelimit.csv");
  REQUIRE(rows.size() == 1421);
  std::string run;
  RateLimit state;
  int told_apart = 0;
  for (const auto& row : rows) {
    if (row.at("run") != run) {
      run = row.at("run");
      state = {};  // every run began on a new device
    }
    const auto column = [&](const char* name) { return static_cast<KernelWord>(test::number(row, name)); };
    const KernelWord task = column("task_ratelimit_pages_per_s");
    const KernelWord balanced = balanced_rate(task, column("avg_write_bandwidth_pages_per_s"),
                                              column("dirty_rate_pages_per_s"));
    CAPTURE(run);
    REQUIRE(balanced == column("balanced_pages_per_s"));
    // The traces do not say on which side of the setpoint the dirty pages were; one of the two must give the step.
    const KernelWord below = step_dirty_ratelimit(state.dirty_ratelimit, state.balanced_dirty_ratelimit, balanced, task, true);
    const KernelWord above = step_dirty_ratelimit(state.dirty_ratelimit, state.balanced_dirty_ratelimit, balanced, task, false);
    const KernelWord real = column("dirty_ratelimit_pages_per_s");
    REQUIRE((real == below || real == above));
    if (below != above) ++told_apart;
    state = {real, balanced};
  }
  CHECK(told_apart > 400);
}

TEST_CASE("rate limit: one whole update, from counters to the new limit", "[sim][memory]") {
  // 5,100 pages in 51 ticks are 25,000/s; at pos_ratio 512 the task limit is 12,801; the device writes 10,000/s.
  const RateLimitStep s = update_rate_limit({25600, 5000}, {.dirtied = 5100, .elapsed = 51, .pos_ratio = 512,
                                                            .avg_write_bandwidth = 10000, .dirty = 110000,
                                                            .setpoint = 106812, .hz = 250});
  CHECK(s.dirty_rate == 25000);
  CHECK(s.task_ratelimit == 12801);
  CHECK(s.after.balanced_dirty_ratelimit == 12801ULL * 10000 / 25001);  // 5,120
  // Above the setpoint: x = max(5000, 5120, 12801); step 12,799 >> 1, an eighth of it rounded up.
  CHECK(s.after.dirty_ratelimit == 25600 - (12799 / 2 + 7) / 8);
}

TEST_CASE("pauses: minimum pause, poll size and period for 1 to 256 writers at three tick rates", "[sim][memory]") {
  struct Case { KernelWord writers; int hz; std::int64_t min; KernelWord pages; std::int64_t period_ms; };
  const Case cases[] = {
      {1, 250, 2, 200, 4},    {2, 250, 3, 200, 12},   {4, 250, 4, 150, 20},  {8, 250, 5, 112, 32},
      {16, 250, 6, 68, 40},   {64, 250, 11, 32, 80},  {256, 250, 50, 19, 188},
      {1, 1000, 6, 250, 9},   {2, 1000, 10, 237, 18}, {4, 1000, 15, 181, 28}, {8, 1000, 20, 121, 37},
      {16, 1000, 25, 76, 47}, {64, 1000, 41, 32, 80}, {256, 1000, 200, 19, 190},
      {1, 100, 1, 200, 0},    {2, 100, 1, 100, 0},    {4, 100, 2, 100, 10},  {8, 100, 2, 75, 20},
      {16, 100, 3, 50, 30},   {64, 100, 5, 32, 80},   {256, 100, 20, 15, 150}};
  for (const Case& c : cases) {
    CAPTURE(c.writers, c.hz);
    const KernelWord rate = 25600 / c.writers;
    const std::int64_t longest = max_pause(106812, 25600, c.hz);
    CHECK(longest == max_pause_ticks(c.hz));
    const PauseTarget target = min_pause({longest, rate, rate, 25600, c.hz});
    CHECK(target.min_pause == c.min);
    CHECK(target.nr_dirtied_pause == c.pages);
    const auto period = static_cast<std::int64_t>(static_cast<KernelWord>(c.hz) * target.nr_dirtied_pause / rate);
    CHECK(period * 1000 / c.hz == c.period_ms);
  }
}

TEST_CASE("pauses: at most an eighth of the time to drain the device", "[sim][memory]") {
  CHECK(max_pause(0, 25600, 250) == 1);
  CHECK(max_pause(25600, 25600, 250) == 1 + 25600 / (1 + 25600 / 32));  // 32 ticks for a second of data
  CHECK(max_pause(1'000'000, 25600, 250) == 50);
}

TEST_CASE("pauses: below freerun a task polls by the square root of the room and forgets its past", "[sim][memory]") {
  CHECK(dirty_poll_interval(91553, 122071) == 128);
  CHECK(dirty_poll_interval(0, 122071) == 256);
  CHECK(dirty_poll_interval(122071, 122071) == 1);
  CHECK(freerun_state(4711, 91553, 122071) == TaskDirtyState{0, 128, 4711});
}

TEST_CASE("pauses: the decision's branches", "[sim][memory]") {
  const ThrottleInputs in{.now = 1000, .hz = 250, .pages_dirtied = 200, .pos_ratio = 512, .dirty_ratelimit = 25600,
                          .avg_write_bandwidth = 25600, .wb_dirty = 106812};
  SECTION("a new task sleeps its whole period") {
    const auto d = decide_pause({200, 200, 0}, in, 32);
    CHECK(d.task_ratelimit == 12800);
    CHECK(d.period == 3);  // 250 * 200 / 12800
    CHECK(d.sleeps);
    CHECK(d.pause == 3);
    CHECK(d.think == 0);
    CHECK(d.after == TaskDirtyState{0, 200, 1003});
    CHECK(d.done);
  }
  SECTION("thinking time is credited, and what is too short to sleep is carried over") {
    const auto d = decide_pause({200, 200, 998}, in, 32);
    CHECK_FALSE(d.sleeps);  // 3 - 2 = 1 tick, below the minimum of 2
    CHECK(d.after == TaskDirtyState{0, 200, 1001});
  }
  SECTION("after more than a second of thinking nothing is owed to it") {
    const auto d = decide_pause({200, 200, 700}, in, 32);
    CHECK_FALSE(d.sleeps);
    CHECK(d.after == TaskDirtyState{0, 200, 1000});
  }
  SECTION("a period of nothing makes it look less often") {
    ThrottleInputs fast = in;
    fast.pages_dirtied = 50;
    fast.pos_ratio = 1024;
    const auto d = decide_pause({50, 50, 0}, fast, 32);
    CHECK(d.period == 0);
    CHECK(d.after == TaskDirtyState{50, 100, 0});
  }
  SECTION("a pause over the maximum is cut and part of the debt forgiven") {
    ThrottleInputs slow = in;
    slow.dirty_ratelimit = 250;
    slow.pages_dirtied = 200;
    const auto d = decide_pause({200, 200, 0}, slow, 32);
    CHECK(d.period == 400);  // 250 * 200 / 125
    CHECK(d.pause == 50);
    CHECK(d.after.dirty_paused_when == 1000 + 50 + 50);
  }
  SECTION("at the limit it sleeps the maximum and looks again while the device has work") {
    ThrottleInputs stop = in;
    stop.pos_ratio = 0;
    auto d = decide_pause({200, 200, 0}, stop, 32);
    CHECK(d.sleeps);
    CHECK(d.pause == 50);
    CHECK_FALSE(d.done);
    stop.wb_dirty = 32;
    CHECK(decide_pause({200, 200, 0}, stop, 32).done);
  }
}

TEST_CASE("pauses: the real kernel's pauses follow from its own inputs", "[sim][memory]") {
  const auto rows = test::read_csv("bdp.csv");
  REQUIRE(rows.size() == 1800);
  int exact = 0, carried = 0, cut = 0;
  for (const auto& row : rows) {
    if (test::number(row, "paused_ticks") != 0) continue;  // a tick passed inside the call: its `now` is not in the trace
    const auto rate = static_cast<KernelWord>(test::number(row, "task_ratelimit_pages_per_s"));
    const std::int64_t real = test::number(row, "pause_ticks");
    // The rate limit itself with pos_ratio 1.0 gives the traced task rate. wb_dirty and the bandwidth are not in these
    // traces; they enter only the bounds, which are set wide here and told apart below.
    const std::int64_t think = test::number(row, "think_ticks");
    const TaskDirtyState task{.nr_dirtied = 0, .nr_dirtied_pause = 1000000, .dirty_paused_when = 100'000 - think};
    const auto d = decide_pause(task,
                                {.now = 100'000, .hz = 250,
                                 .pages_dirtied = static_cast<KernelWord>(test::number(row, "dirtied_pages")),
                                 .pos_ratio = 1024, .dirty_ratelimit = rate, .avg_write_bandwidth = 25600,
                                 .wb_dirty = 1'000'000},
                                32);
    CAPTURE(row.at("run"), rate, think, real);
    const std::int64_t due = d.period - think;
    if (real == due) ++exact;
    else if (real == 0 && due > 0 && due < d.min_pause) ++carried;
    else if (real > 0 && due > real) ++cut;
    else FAIL("the kernel paused " << real << " ticks where " << due << " were due");
  }
  CHECK(exact > 1000);
  CHECK(carried > 100);
  CHECK(cut < 20);
  CAPTURE(exact, carried, cut);
  CHECK(exact + carried + cut > 1750);
}

TEST_CASE("flusher: a visit writes half a second of bandwidth, in steps of 4 MiB", "[sim][flusher]") {
  struct Slice { KernelWord bandwidth, limit; std::int64_t pages; };
  const Slice slices[] = {{2560, 122071, 2048},    {25600, 122071, 13312},  {51200, 122071, 15360},
                          {102400, 122071, 15360}, {262144, 122071, 15360}, {51200, 819200, 26624},
                          {102400, 819200, 52224}, {262144, 819200, 103424}};
  for (const Slice& s : slices) {
    CAPTURE(s.bandwidth, s.limit);
    CHECK(writeback_chunk(s.bandwidth, s.limit, 1LL << 60) == s.pages);
  }
  CHECK(writeback_chunk(262144, 819200, 10) == 1024);
}

TEST_CASE("kernel constants: a patched constant moves what it stands in, and nonsense is refused", "[sim][controller]") {
  // A visit is rounded up to MIN_WRITEBACK_PAGES: 12,800 pages of half a second are one step of 16,384.
  CHECK(writeback_chunk(25600, 122071, 1LL << 60, 16384) == 16384);
  // MAX_PAUSE of 100 ms is 25 ticks at HZ = 250, and never less than one.
  CHECK(max_pause(1'000'000, 25600, 250, 100) == 25);
  CHECK(max_pause(1'000'000, 25600, 100, 1) == 1);
  // Far below what is balanced, a step is an eighth of the gap, or as much as the divisor says.
  const KernelWord gap = 25600;
  CHECK(step_dirty_ratelimit(25600, 2 * gap, 2 * gap, 2 * gap, true) == 25600 + gap / 8);
  CHECK(step_dirty_ratelimit(25600, 2 * gap, 2 * gap, 2 * gap, true, 64) == 25600 + gap / 64);
  KernelConstants constants;
  CHECK(set_kernel_constant(constants, "ratelimit_step", 64));
  CHECK(constants.ratelimit_step == 64);
  CHECK_FALSE(set_kernel_constant(constants, "ratelimit_step", 0));
  CHECK_FALSE(set_kernel_constant(constants, "max_pause_ms", 1.5));
  const auto unknown = set_kernel_constant(constants, "hz", 100);
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().what.find("max_pause_ms, ratelimit_step, min_writeback_pages") != std::string::npos);
}

TEST_CASE("wbt: depths by queue and step, against the table", "[sim][block]") {
  const auto is = [](std::int64_t queue, int step, std::int64_t max, std::int64_t normal, std::int64_t background) {
    CAPTURE(queue, step);
    CHECK(wbt_depths(queue, step) == WbtDepths{max, normal, background});
  };
  is(32, 0, 16, 8, 4);    is(32, -1, 24, 12, 6);  is(32, -4, 24, 12, 6);  is(32, 1, 8, 4, 2);    is(32, 2, 4, 2, 1);
  is(64, -1, 31, 16, 8);  is(64, -2, 48, 24, 12); is(64, -4, 48, 24, 12);
  is(128, -2, 61, 31, 16); is(128, -3, 96, 48, 24);
  is(256, -3, 121, 61, 31); is(256, -4, 192, 96, 48);
  is(1, 0, 2, 2, 1);      is(1, 1, 1, 1, 1);
}
