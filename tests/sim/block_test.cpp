#include <catch2/catch.hpp>

#include <map>
#include <set>

#include "sim/block/mq_deadline.hpp"
#include "sim/block/plug.hpp"
#include "sim/block/writeback_throttle.hpp"
#include "sim/random.hpp"

namespace spillway::sim::block {

using namespace std::chrono_literals;

namespace {

device::Request bio(std::uint64_t id, std::int64_t start_kib, std::int64_t kib, bool write = true) {
  return {.id = id, .start = Sectors{start_kib * 2}, .length = Sectors{kib * 2}, .write = write};
}

QueuedRequest alone(const device::Request& r) { return {r, {r.id}}; }

}  // namespace

TEST_CASE("wbt: depths by queue depth and step are those of the fact sheet's table 11.5", "[sim][block]") {
  struct Row {
    int queue, step, max, normal, background;
  };
  const std::vector<Row> table{
      {32, 0, 16, 8, 4},    {32, -1, 24, 12, 6},   {32, -2, 24, 12, 6},   {32, -3, 24, 12, 6},   {32, -4, 24, 12, 6},
      {32, 1, 8, 4, 2},     {32, 2, 4, 2, 1},      {64, 0, 16, 8, 4},     {64, -1, 31, 16, 8},   {64, -2, 48, 24, 12},
      {64, -3, 48, 24, 12}, {64, 1, 8, 4, 2},      {64, 2, 4, 2, 1},      {128, 0, 16, 8, 4},    {128, -1, 31, 16, 8},
      {128, -2, 61, 31, 16}, {128, -3, 96, 48, 24}, {128, -4, 96, 48, 24}, {128, 1, 8, 4, 2},    {128, 2, 4, 2, 1},
      {256, 0, 16, 8, 4},   {256, -1, 31, 16, 8},  {256, -2, 61, 31, 16}, {256, -3, 121, 61, 31}, {256, -4, 192, 96, 48},
      {256, 1, 8, 4, 2},    {256, 2, 4, 2, 1}};
  for (const Row& row : table) {
    CAPTURE(row.queue, row.step);
    const WbtDepths d = wbt_depths(row.queue, row.step);
    CHECK(d.max_depth == row.max);
    CHECK(d.normal == row.normal);
    CHECK(d.background == row.background);
  }
  CHECK(wbt_depths(1, 0).max_depth == 2);
  CHECK(wbt_depths(1, 1).max_depth == 1);
}

TEST_CASE("wbt: pure writing reaches three quarters of the queue in 3 or 4 windows, slow reads take it back", "[sim][block]") {
  WritebackThrottle wbt{{.queue_depth = 256, .latency_target = 2ms}};
  SimTime now{};
  int windows = 0;
  const WritebackThrottle::Write background{.background = true};
  while (wbt.depths().max_depth < 192) {
    CHECK(wbt.try_enter(background, now));
    for (int i = 0; i < 3; ++i) {
      CHECK(wbt.try_enter(background, now));
      wbt.leave(now, false);
    }
    now = *wbt.window_end();
    wbt.end_window(now, false);
    wbt.leave(now, false);
    REQUIRE(++windows <= 4);
  }
  CHECK(windows >= 3);
  // A read of 3 ms against a target of 2: from negative straight to step 0, then down.
  wbt.read_issued(now);
  for (int i = 0; i < 4; ++i) wbt.try_enter({.important = true}, now);
  for (int i = 0; i < 4; ++i) wbt.leave(now, false);
  wbt.read_done(now + 3ms, 3ms);
  now = *wbt.window_end();
  wbt.end_window(now, false);
  CHECK(wbt.scale_step() == 0);
  CHECK(wbt.depths().max_depth == 16);
}

TEST_CASE("wbt: background writes stop at their limit, throttled writers lift it", "[sim][block]") {
  WritebackThrottle wbt{{.queue_depth = 128}};
  const SimTime now{};
  int inside = 0;
  while (wbt.try_enter({.background = true}, now)) ++inside;
  CHECK(inside == 4);
  while (wbt.try_enter({}, now)) ++inside;
  CHECK(inside == 8);
  while (wbt.try_enter({.background = true, .throttled_lately = true}, now)) ++inside;
  CHECK(inside == 16);
}

TEST_CASE("wbt: with a volatile cache a background flusher is woken only when the queue has run dry", "[sim][block]") {
  for (const bool cache : {false, true}) {
    WritebackThrottle wbt{{.queue_depth = 128, .volatile_cache = cache}};
    const SimTime now{};
    for (int i = 0; i < 8; ++i) REQUIRE(wbt.try_enter({}, now));
    std::vector<bool> wakes;
    for (int i = 0; i < 8; ++i) wakes.push_back(wbt.leave(now, false));
    // Without: below 8 by at least half of 4. With: at 0 only.
    const std::vector<bool> without{false, true, true, true, true, true, true, true};
    const std::vector<bool> with{false, false, false, false, false, false, false, true};
    CHECK(wakes == (cache ? with : without));
  }
}

TEST_CASE("plug: small contiguous bios become one request, at most max_sectors long", "[sim][block]") {
  Plug plug{{.max_sectors = Sectors{1024}}};
  std::vector<QueuedRequest> out;
  for (std::uint64_t i = 0; i < 300; ++i) CHECK(plug.add(bio(i, static_cast<std::int64_t>(i) * 4, 4), out) == 1);
  plug.unplug(out);
  REQUIRE(out.size() == 3);  // 1200 KiB in requests of 512
  CHECK(out[0].request.length == Sectors{1024});
  CHECK(out[0].bios.size() == 128);
  CHECK(out[2].request.length == Sectors{2 * (1200 - 1024)});
}

TEST_CASE("plug: it lets go at 32 requests, and before a new one when the last has 128 KiB", "[sim][block]") {
  std::vector<QueuedRequest> out;
  Plug small{{}};
  for (std::uint64_t i = 0; i < 32; ++i) small.add(bio(i, static_cast<std::int64_t>(i) * 100, 4), out);
  CHECK(out.empty());
  small.add(bio(32, 9000, 4), out);
  CHECK(out.size() == 32);
  CHECK(small.size() == 1);
  out.clear();
  Plug large{{}};
  large.add(bio(1, 0, 124), out);
  large.add(bio(2, 1000, 128), out);
  CHECK(out.empty());
  large.add(bio(3, 5000, 128), out);
  CHECK(out.size() == 2);
}

TEST_CASE("plug: a bio is split to the limit and at chunk boundaries, and every sector goes out once", "[sim][block]") {
  Random random{11, "plug"};
  Plug plug{{.max_sectors = Sectors{2560}, .boundary = Sectors{384}}};
  std::vector<QueuedRequest> out;
  std::map<std::uint64_t, int> parts;
  std::int64_t total = 0, at = 0;
  for (std::uint64_t id = 1; id < 400; ++id) {
    device::Request r{.id = id, .start = Sectors{at}, .write = true};
    r.length = Sectors{static_cast<std::int64_t>(1 + random.below(4000))};
    at += r.length.value() + (random.below(2) == 0 ? 0 : 8);
    total += r.length.value();
    parts[id] = plug.add(r, out);
    if (random.below(10) == 0) plug.unplug(out);
  }
  plug.unplug(out);
  std::map<std::uint64_t, int> seen;
  std::int64_t end = -1;
  for (const auto& q : out) {
    CHECK(q.request.start.value() >= end);
    end = q.request.end().value();
    total -= q.request.length.value();
    CHECK(q.request.length <= Sectors{2560});
    for (const auto id : q.bios) ++seen[id];
  }
  CHECK(total == 0);
  CHECK(seen == parts);
}

TEST_CASE("mq-deadline: batches of 16 run upward, reads first, writes after two read batches", "[sim][block]") {
  MqDeadline scheduler{{}};
  const SimTime now{};
  for (std::uint64_t i = 0; i < 64; ++i) {
    scheduler.insert(now, alone(bio(i, static_cast<std::int64_t>((i * 37) % 64) * 1000, 4, false)));
    scheduler.insert(now, alone(bio(100 + i, static_cast<std::int64_t>((i * 29) % 64) * 1000, 4, true)));
  }
  std::vector<bool> writes;
  std::vector<std::int64_t> starts[2];
  while (const auto q = scheduler.dispatch(now)) {
    writes.push_back(q->request.write);
    starts[q->request.write ? 1 : 0].push_back(q->request.start.value());
  }
  REQUIRE(writes.size() == 128);
  for (std::size_t i = 0; i < 32; ++i) CHECK(!writes[i]);
  for (std::size_t i = 32; i < 48; ++i) CHECK(writes[i]);
  for (std::size_t i = 48; i < 80; ++i) CHECK(!writes[i]);
  CHECK(std::is_sorted(starts[0].begin(), starts[0].end()));
  CHECK(std::is_sorted(starts[1].begin(), starts[1].end()));
}

TEST_CASE("mq-deadline: an expired request starts the next batch", "[sim][block]") {
  MqDeadline scheduler{{}};
  SimTime now{};
  scheduler.insert(now, alone(bio(1, 500'000, 4)));
  CHECK(scheduler.dispatch(now)->request.id == 1);  // the position is now high up
  scheduler.insert(now, alone(bio(2, 100, 4)));
  for (std::uint64_t i = 0; i < 40; ++i) scheduler.insert(now, alone(bio(10 + i, 600'000 + static_cast<std::int64_t>(i) * 100, 4)));
  for (int i = 0; i < 15; ++i) CHECK(scheduler.dispatch(now)->request.id >= 10);
  now += 6s;
  CHECK(scheduler.dispatch(now)->request.id == 2);
}

TEST_CASE("mq-deadline: merges at both ends, and nothing is lost or served twice", "[sim][block]") {
  MqDeadline scheduler{{}};
  const SimTime now{};
  scheduler.insert(now, alone(bio(1, 100, 4)));
  scheduler.insert(now, alone(bio(2, 104, 4)));
  scheduler.insert(now, alone(bio(3, 96, 4)));
  CHECK(scheduler.size() == 1);
  const auto all = scheduler.dispatch(now);
  CHECK(all->request.start == Sectors{192});
  CHECK(all->request.length == Sectors{24});
  CHECK(std::set<std::uint64_t>(all->bios.begin(), all->bios.end()) == std::set<std::uint64_t>{1, 2, 3});

  Random random{12, "deadline"};
  std::multiset<std::uint64_t> waiting, served;
  std::uint64_t id = 10;
  for (int step = 0; step < 5000; ++step) {
    if (random.below(2) == 0) {
      const auto r = bio(id++, static_cast<std::int64_t>(random.below(2000)) * 4, 4, random.below(2) == 0);
      waiting.insert(r.id);
      scheduler.insert(now + Duration{step}, alone(r));
    } else if (const auto q = scheduler.dispatch(now + Duration{step})) {
      served.insert(q->bios.begin(), q->bios.end());
    }
  }
  while (const auto q = scheduler.dispatch(now)) served.insert(q->bios.begin(), q->bios.end());
  CHECK(served == waiting);
}

TEST_CASE("queue: a scheduler doubles the tags up to 256 requests", "[sim][block]") {
  CHECK(default_nr_requests(32, true) == 64);
  CHECK(default_nr_requests(1023, true) == 256);
  CHECK(default_nr_requests(128, false) == 128);
}

}  // namespace spillway::sim::block
