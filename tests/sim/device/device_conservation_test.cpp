#include <map>

#include <fmt/format.h>

#include "sim/device/presets.hpp"
#include "tests/sim/device/drive.hpp"

namespace spillway::sim::device {

namespace {

/// A small disk, so that random requests collide and caches fill.
DeviceSpec small_hdd(Bytes write_cache) {
  DeviceSpec spec = hdd_7200_500gb();
  spec.hdd.capacity = Bytes{64 * kMiB};
  spec.hdd.write_cache = write_cache;
  return spec;
}

DeviceSpec small_ssd() {
  DeviceSpec spec = nvme_consumer();
  spec.ssd.capacity = Bytes{64 * kMiB};
  spec.ssd.fast_cache = Bytes{8 * kMiB};
  spec.ssd.queue_depth = 8;
  return spec;
}

std::vector<DeviceSpec> everything() {
  std::vector<DeviceSpec> specs{small_hdd(Bytes{0}), small_hdd(Bytes{2 * kMiB}), small_ssd(),
                                fixed_rate(BytesPerSec{40 * kMB}, Bytes{64 * kMiB}),
                                limited(BytesPerSec{40 * kMB}, Bytes{64 * kMiB}),
                                limited(BytesPerSec{40 * kMB}, small_ssd()),
                                behind_write_cache(Bytes{4 * kMiB}, small_hdd(Bytes{0}))};
  for (const int disks : {1, 2, 3, 5, 7, 12}) {
    for (const auto& member : {small_hdd(Bytes{0}), small_hdd(Bytes{2 * kMiB}), small_ssd()}) {
      specs.push_back(raid(RaidLevel::linear, disks, Bytes{64 * kKiB}, member));
      specs.push_back(raid(RaidLevel::raid0, disks, Bytes{64 * kKiB}, member));
      if (disks >= 2) specs.push_back(raid(RaidLevel::raid10, disks, Bytes{64 * kKiB}, member));
      if (disks >= 3) specs.push_back(raid(RaidLevel::raid5, disks, Bytes{64 * kKiB}, member));
      if (disks >= 4) specs.push_back(raid(RaidLevel::raid6, disks, Bytes{512 * kKiB}, member));
      if (disks >= 3) {
        specs.push_back(behind_write_cache(Bytes{8 * kMiB}, raid(RaidLevel::raid5, disks, Bytes{16 * kKiB}, member)));
        DeviceSpec with_bitmap = raid(RaidLevel::raid5, disks, Bytes{128 * kKiB}, member);
        with_bitmap.raid.bitmap_chunk = Bytes{4 * kMiB};
        with_bitmap.raid.row_cpu = std::chrono::microseconds{5};
        specs.push_back(with_bitmap);
      }
    }
  }
  return specs;
}

Request random_request(Random& random, std::int64_t capacity) {
  Request r;
  const bool small = random.below(3) > 0;
  const bool aligned = random.below(8) > 0;
  const auto most = static_cast<std::uint64_t>(small ? 64 : 6000);
  r.length = Sectors{static_cast<std::int64_t>(1 + random.below(most))};
  r.start = Sectors{static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(capacity - 7000)))};
  if (aligned) {
    r.length = Sectors{(r.length.value() + 7) / 8 * 8};
    r.start = Sectors{r.start.value() / 8 * 8};
  }
  r.write = random.below(3) > 0;
  r.sync = random.below(2) == 0;
  r.meta = random.below(8) == 0;
  if (r.write) {
    r.flush = random.below(20) == 0;
    r.fua = random.below(20) == 0;
    if (r.flush && random.below(2) == 0) r.start = r.length = Sectors{0}, r.fua = false;
  }
  return r;
}

}  // namespace

TEST_CASE("devices: every request completes once, time never goes back, and the counters add up", "[sim][device]") {
  std::uint64_t seed = 100;
  for (const DeviceSpec& spec : everything()) {
    CAPTURE(spec.name, ++seed);
    const auto device = made(spec, seed);
    Random random{seed, "conservation"};
    const std::int64_t capacity = device->capacity().value();
    REQUIRE(capacity > 20'000);
    std::map<std::uint64_t, std::pair<SimTime, Request>> open;
    SimTime now{}, last{};
    Bytes read{0}, written{0};
    std::int64_t flushes = 0, finished = 0;
    std::uint64_t next_id = 1;
    constexpr std::int64_t kRequests = 400;
    std::vector<Completion> done;
    while (finished < kRequests) {
      // Bursts and lone requests, sometimes after a pause, never more than 40 open.
      if (next_id <= kRequests && open.size() < 40 && random.below(3) > 0) {
        Request r = random_request(random, capacity);
        r.id = next_id++;
        (r.write ? written : read) += to_bytes(r.length);
        flushes += r.flush ? 1 : 0;
        open[r.id] = {now, r};
        device->submit(now, r);
        CHECK(device->in_flight() == static_cast<std::int64_t>(open.size()));
        continue;
      }
      const auto event = device->next_event();
      if (!event) {
        REQUIRE(open.empty());
        if (next_id > kRequests) break;
        now += Duration{static_cast<std::int64_t>(random.below(50'000'000))};
        continue;
      }
      REQUIRE(*event >= now);
      now = *event;
      if (random.below(4) == 0) now += Duration{static_cast<std::int64_t>(random.below(3'000'000))};  // a late driver
      done.clear();
      device->advance(now, done);
      for (const Completion& c : done) {
        REQUIRE(open.count(c.id) == 1);
        CHECK(c.submitted == open[c.id].first);
        CHECK(c.at >= c.submitted);
        CHECK(c.at >= last);
        CHECK(c.at <= now);
        last = c.at;
        open.erase(c.id);
        ++finished;
      }
    }
    REQUIRE(finished == kRequests);
    // Let caches empty, then look at the books.
    while (const auto event = device->next_event()) {
      REQUIRE(*event >= now);
      now = *event;
      done.clear();
      device->advance(now, done);
      REQUIRE(done.empty());
    }
    const Counters c = device->counters(now);
    CHECK(c.read == read);
    CHECK(c.written == written);
    CHECK(c.flushes == flushes);
    CHECK(c.cache_dirty == Bytes{0});
    for (const DiskCounters& disk : c.disks) {
      CHECK(disk.split.total() == now - SimTime{});
      CHECK(disk.split.idle >= Duration{0});
      CHECK(disk.split.overhead >= Duration{0});
      CHECK(disk.busy + disk.split.idle == now - SimTime{});
      CHECK(disk.busy <= now - SimTime{});
    }
    // A single disk, or an array without redundancy, writes what it was given, less what was written over in a cache.
    const bool plain = spec.model != Model::raid ? spec.members.empty() || spec.members[0].members.empty()
                                                 : spec.raid.level <= RaidLevel::raid0;
    if (plain) {
      Bytes on_disks{0}, from_disks{0};
      for (const DiskCounters& disk : c.disks) on_disks += disk.written, from_disks += disk.read;
      CHECK(on_disks + c.absorbed == written);
      if (spec.model != Model::write_cache) CHECK(from_disks == read);  // the cache answers some reads itself
    }
    if (spec.model == Model::raid && spec.raid.level == RaidLevel::raid10) {
      Bytes on_disks{0};
      for (const DiskCounters& disk : c.disks) on_disks += disk.written;
      CHECK(on_disks + c.absorbed == written * 2);
    }
  }
}

TEST_CASE("devices: the same seed gives the same completions, another seed other ones on disks", "[sim][device]") {
  const DeviceSpec spec = behind_write_cache(Bytes{8 * kMiB}, raid(RaidLevel::raid5, 5, Bytes{64 * kKiB}, small_hdd(Bytes{kMiB})));
  const auto run = [&](std::uint64_t seed) {
    const auto device = made(spec, seed);
    return drive(*device, 16, 2000, uniform(Bytes{16 * kKiB}, true, Bytes{200 * kMiB})).elapsed;
  };
  CHECK(run(1) == run(1));
  CHECK(run(1) != run(2));
}

TEST_CASE("devices: events per request do not grow with the request's size", "[sim][device][growth]") {
  // The same number of requests, 64 times the bytes: the cost may grow with members and rows in the stripe cache only.
  const auto events = [](DeviceSpec spec, Bytes size) {
    spec.members.empty() ? void() : void(spec.members[0].hdd.destage_unit = Bytes{64 * kMiB});
    const auto device = made(spec);
    const auto driven = drive(*device, 8, 300, sequential(size, true));
    return static_cast<double>(driven.events) / 300;
  };
  for (const auto& spec : {nvme_pm9a3(), raid(RaidLevel::raid0, 12, Bytes{64 * kKiB}, nvme_pm9a3()),
                           raid(RaidLevel::raid10, 12, Bytes{64 * kKiB}, nvme_pm9a3())}) {
    CAPTURE(spec.name);
    CHECK(events(spec, Bytes{16 * kMiB}) <= 1.05 * events(spec, Bytes{kMiB}));
  }
  DeviceSpec parity = raid(RaidLevel::raid6, 12, Bytes{64 * kKiB}, hdd_7200_4tb());
  parity.raid.stripe_cache_rows = 1 << 20;
  // 64 times the rows: at most one arrival and one end per member and request, whatever the size.
  CHECK(events(parity, Bytes{640 * kKiB}) <= 2 * 12);
  CHECK(events(parity, Bytes{40 * kMiB}) <= 2 * 12);
}

}  // namespace spillway::sim::device
