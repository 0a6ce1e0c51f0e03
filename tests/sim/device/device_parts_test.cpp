#include <map>
#include <set>

#include "sim/device/extent_cache.hpp"
#include "sim/device/hdd_geometry.hpp"
#include "sim/device/parity_plan.hpp"
#include "sim/device/presets.hpp"
#include "sim/device/stripe_map.hpp"
#include "tests/sim/device/drive.hpp"

namespace spillway::sim::device {

TEST_CASE("stripe map: every sector of every copy is where walking chunk by chunk puts it", "[sim][device]") {
  Random random{3, "stripe map"};
  for (const int members : {1, 2, 3, 5, 7, 12}) {
    for (const int copies : {1, 2, 3}) {
      if (copies > members) continue;
      const StripeShape shape{.chunk = 24, .members = members, .copies = copies};
      for (int trial = 0; trial < 60; ++trial) {
        const auto start = static_cast<std::int64_t>(random.below(2000));
        const auto length = static_cast<std::int64_t>(1 + random.below(900));
        std::multiset<std::pair<int, std::int64_t>> expected, got;
        for (std::int64_t s = start; s < start + length; ++s) {
          for (int copy = 0; copy < copies; ++copy) {  // md near layout, by definition
            const std::int64_t slot = s / shape.chunk * copies + copy;
            expected.insert({static_cast<int>(slot % members), slot / members * shape.chunk + s % shape.chunk});
          }
        }
        const auto runs = stripe_runs(shape, start, length);
        CHECK(runs.size() <= static_cast<std::size_t>(members));
        for (const auto& run : runs) {
          for (std::int64_t s = run.start; s < run.start + run.length; ++s) got.insert({run.member, s});
        }
        CAPTURE(members, copies, start, length);
        REQUIRE(got == expected);
      }
    }
  }
}

TEST_CASE("parity layout: parity rotates, and every member holds one block of every row", "[sim][device]") {
  for (const auto& [members, parity] : {std::pair{3, 1}, {5, 1}, {7, 1}, {12, 1}, {4, 2}, {5, 2}, {7, 2}, {12, 2}}) {
    const ParityShape shape{.chunk = 8, .members = members, .parity = parity};
    std::map<int, int> parity_on;
    for (std::int64_t row = 0; row < members; ++row) {
      std::set<int> used;
      for (int w = 0; w < parity; ++w) {
        used.insert(shape.parity_member(row, w));
        ++parity_on[shape.parity_member(row, w)];
      }
      for (int i = 0; i < shape.data(); ++i) used.insert(shape.data_member(row, i));
      CHECK(used.size() == static_cast<std::size_t>(members));
    }
    for (int m = 0; m < members; ++m) CHECK(parity_on[m] == parity);
  }
  // Left-symmetric on 3 disks, as in every description of it: data 0 1 P / 3 P 2 / P 4 5 by disk.
  const ParityShape three{.chunk = 8, .members = 3, .parity = 1};
  CHECK(three.parity_member(0, 0) == 2);
  CHECK(three.data_member(1, 0) == 2);
  CHECK(three.data_member(2, 0) == 1);
}

TEST_CASE("parity plan: reads and writes are those of the textbook table for every k, d and p", "[sim][device]") {
  for (const int p : {1, 2}) {
    for (const int d : {2, 3, 5, 7, 10, 12}) {
      for (int k = 1; k <= d; ++k) {
        const ParityShape shape{.chunk = 128, .members = d + p, .parity = p};
        Intervals dirty;  // the first 4 KiB block of k chunks
        for (int i = 0; i < k; ++i) dirty.add({i * 128, i * 128 + 8});
        const auto plan = plan_row_write(shape, 5, dirty, {}, true);
        std::int64_t reads = 0, writes = 0;
        for (const auto& io : plan.reads) reads += io.length / 8;
        for (const auto& io : plan.writes) writes += io.length / 8;
        CAPTURE(p, d, k);
        const int rmw = k + p, rcw = d - k;
        CHECK(reads == (k == d ? 0 : rmw < rcw ? rmw : rcw));
        CHECK(writes == k + p);
        CHECK(plan.full_rows == (k == d ? 1 : 0));
        CHECK(plan.rmw_rows == (k < d && rmw < rcw ? 1 : 0));
        CHECK(plan.reconstruct_rows == (k < d && rmw >= rcw ? 1 : 0));
        const auto always_reconstruct = plan_row_write(shape, 5, dirty, {}, false);
        CHECK(always_reconstruct.rmw_rows == 0);
      }
    }
  }
}

TEST_CASE("parity plan: a stretch over several chunks is planned height by height", "[sim][device]") {
  // 4 data chunks of 16 blocks; written: the last 4 blocks of chunk 1, all of chunk 2, the first 8 blocks of chunk 3.
  const ParityShape shape{.chunk = 128, .members = 5, .parity = 1};
  Intervals dirty;
  dirty.add({128 + 96, 3 * 128 + 64});
  const auto plan = plan_row_write(shape, 0, dirty, {}, true);
  // Heights 0..8: chunks 2 and 3 (k = 2: reconstruct 2 < 3); 8..12: chunk 2 (k = 1: rmw 2 < 3); 12..16: chunks 1, 2.
  CHECK(plan.rmw_rows == 4);
  CHECK(plan.reconstruct_rows == 12);
  std::int64_t reads = 0, writes = 0;
  for (const auto& io : plan.reads) reads += io.length / 8;
  for (const auto& io : plan.writes) writes += io.length / 8;
  CHECK(reads == 8 * 2 + 4 * 2 + 4 * 2);
  CHECK(writes == (4 + 16 + 8) + 16);
  // With the row's other blocks in the stripe cache nothing is read.
  RowContents cached;
  cached.data.add({0, 512});
  CHECK(plan_row_write(shape, 0, dirty, cached, true).reads.empty());
}

TEST_CASE("extent cache: agrees with a set of sectors under random writes, erasures and takes", "[sim][device]") {
  Random random{5, "extent cache"};
  ExtentCache cache;
  std::set<std::int64_t> model;
  for (int step = 0; step < 4000; ++step) {
    const auto start = static_cast<std::int64_t>(random.below(300));
    const auto end = start + 1 + static_cast<std::int64_t>(random.below(40));
    std::int64_t there = 0;
    for (auto s = start; s < end; ++s) there += static_cast<std::int64_t>(model.count(s));
    switch (random.below(4)) {
      case 0:
      case 1:
        CHECK(cache.add(start, end, {}, SimTime{}) == there);
        for (auto s = start; s < end; ++s) model.insert(s);
        break;
      case 2:
        CHECK(cache.erase(start, end) == there);
        for (auto s = start; s < end; ++s) model.erase(s);
        break;
      default:
        if (cache.empty()) break;
        const auto piece = cache.take(cache.map().begin()->first, 16);
        for (auto s = piece.start; s < piece.end; ++s) CHECK(model.erase(s) == 1);
    }
    REQUIRE(cache.sectors() == static_cast<std::int64_t>(model.size()));
    std::size_t runs = 0;
    for (const auto s : model) runs += model.count(s - 1) == 0 ? 1 : 0;
    REQUIRE(cache.runs() == runs);
    CHECK(cache.covers(start, end) == [&] {
      for (auto s = start; s < end; ++s) if (!model.count(s)) return false;
      return true;
    }());
  }
}

TEST_CASE("disk geometry: the next sector comes under the head when the last one has passed", "[sim][device]") {
  const HddParams params;
  const HddGeometry geometry{params, Duration{8'333'333}};
  Random random{6, "geometry"};
  for (int trial = 0; trial < 2000; ++trial) {
    const auto start = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(geometry.capacity() - 4096)));
    const auto length = static_cast<std::int64_t>(1 + random.below(2048));
    const auto p = geometry.position(start), q = geometry.position(start + length);
    if (p.sectors_per_track != q.sectors_per_track) continue;  // a zone ends in between
    const Duration end = geometry.angle(p) + geometry.transfer(p, length);
    Duration late = (geometry.angle(q) - end) % geometry.revolution();
    if (late < Duration{0}) late += geometry.revolution();
    // What is left is the wait for the next track's first sector if the run ends a track, else rounding.
    if (q.offset == 0) {
      CHECK(late >= geometry.seek(1, true));
      CHECK(late < geometry.seek(1, true) + std::chrono::microseconds{100});
    } else {
      CHECK((late < std::chrono::microseconds{5} || late > geometry.revolution() - std::chrono::microseconds{5}));
    }
  }
}

TEST_CASE("disk geometry: the mean seek of uniform requests is the average seek of the sheet", "[sim][device]") {
  const HddParams params;
  const HddGeometry geometry{params, Duration{8'333'333}};
  Random random{7, "seeks"};
  double sum = 0;
  constexpr int kTrials = 100'000;
  for (int i = 0; i < kTrials; ++i) {
    const auto a = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(geometry.tracks())));
    const auto b = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(geometry.tracks())));
    sum += to_seconds(geometry.seek(a - b, false));
  }
  // The curve's integral over random pairs of tracks: 0.2 t1 + 0.652 tavg + 0.148 tfull = 8.02 ms.
  CHECK(sum / kTrials * 1e3 == Approx(0.2 * 0.5 + 0.652 * 8.2 + 0.148 * 17.4).epsilon(0.01));
  CHECK(sum / kTrials * 1e3 == Approx(8.2).epsilon(0.05));
  CHECK(to_seconds(geometry.seek(geometry.tracks() / 3, false)) == Approx(8.2e-3).epsilon(1e-4));
  CHECK(geometry.seek(1, true) == params.write_seek_track);
}

TEST_CASE("device spec: scaled to a size it holds that size and little more", "[sim][device]") {
  for (const int disks : {4, 5, 7, 12}) {
    for (const auto level : {RaidLevel::linear, RaidLevel::raid0, RaidLevel::raid10, RaidLevel::raid5, RaidLevel::raid6}) {
      const Bytes size{2 * kGiB + 4096};
      const auto spec = scaled_to(behind_write_cache(Bytes{64 * kMiB}, raid(level, disks, Bytes{64 * kKiB}, hdd_7200_4tb())), size);
      const Bytes got = to_bytes(made(spec)->capacity());
      CAPTURE(spec.name);
      CHECK(got >= size);
      CHECK(got < size + Bytes{16 * kMiB});
    }
  }
}

TEST_CASE("device spec: what makes no sense is refused with the device's name", "[sim][device]") {
  DeviceSpec spec;
  spec.name = "odd";
  spec.model = Model::raid;
  spec.raid.level = RaidLevel::raid5;
  spec.members.push_back(DeviceSpec{});
  spec.disks = 2;
  const auto two = make_device(spec, 1);
  REQUIRE(!two);
  CHECK(two.error().what == "Device \"odd\": this RAID level needs at least 3 disks, and there are 2.");
  CHECK(two.error().kind == ErrorKind::bad_input);
  spec.disks = 3;
  CHECK(make_device(spec, 1));
  spec.raid.chunk = Bytes{5000};
  CHECK(!make_device(spec, 1));
  DeviceSpec disk;
  disk.model = Model::hdd;
  disk.hdd.inner_rate = BytesPerSec{0};
  CHECK(!make_device(disk, 1));
}

}  // namespace spillway::sim::device
