// XFS allocation: geometry, free space, preallocation and the choice of blocks, against values worked out by hand from
// the kernel's formulas, and conservation under random use.

#include <catch2/catch.hpp>
#include <fstream>
#include <map>

#include "sim/random.hpp"
#include "sim/xfs/allocator.hpp"
#include "sim/xfs/preallocation.hpp"

using namespace spillway;
using namespace spillway::sim;
using namespace spillway::sim::xfs;

namespace {

Geometry geometry_of(const FilesystemInputs& in) {
  auto g = make_geometry(in);
  INFO((g ? std::string{} : g.error().what));
  REQUIRE(g);
  return *g;
}

FilesystemInputs striped(Bytes size) {
  FilesystemInputs in;
  in.size = size;
  in.stripe_unit = Bytes{64 * kKiB};
  in.stripe_width = Bytes{768 * kKiB};
  return in;
}

}  // namespace

TEST_CASE("xfs geometry: groups and log as mkfs.xfs makes them", "[sim][xfs]") {
  CHECK(default_allocation_groups(Bytes{4 * kGiB}, false) == 4);
  CHECK(default_allocation_groups(Bytes{3 * kTiB}, false) == 4);
  CHECK(default_allocation_groups(Bytes{10 * kTiB}, false) == 10);
  CHECK(default_allocation_groups(Bytes{8 * kGiB}, true) == 8);
  CHECK(default_allocation_groups(Bytes{20 * kGiB}, true) == 16);
  CHECK(default_allocation_groups(Bytes{1 * kTiB}, true) == 32);
  CHECK(default_allocation_groups(Bytes{40 * kTiB}, true) == 40);
  CHECK(default_log_size(Bytes{20 * kGiB}) == Bytes{64 * kMiB});
  CHECK(default_log_size(Bytes{1 * kTiB}) == Bytes{512 * kMiB});
  CHECK(default_log_size(Bytes{8 * kTiB}) == Bytes{2 * kGiB - 4096});

  // 24 GiB / 16 = 393,216 blocks = 2,048 widths of 192: one stripe unit (16 blocks) less, so that groups rotate over disks.
  CHECK(geometry_of(striped(Bytes{24 * kGiB})).ag_blocks == 393'200);
  const Geometry g = geometry_of(striped(Bytes{20 * kGiB}));
  CHECK(g.ag_blocks == 327'680);  // no multiple of 192
  CHECK(g.log_ag == 8);
  CHECK(g.log_start % 16 == 0);
  CHECK(g.sector(1, 0) == Sectors{327'680 * 8});
  CHECK(g.log_stripe_unit == 64 * kKiB);
  FilesystemInputs coarse = striped(Bytes{20 * kGiB});
  coarse.stripe_unit = Bytes{512 * kKiB};
  coarse.stripe_width = Bytes{4 * kMiB};
  CHECK(geometry_of(coarse).log_stripe_unit == 32 * kKiB);  // a log stripe unit ends at 256 KiB

  FilesystemInputs bad;
  bad.allocation_groups = 400;
  bad.size = Bytes{20 * kGiB};
  bad.log_size = Bytes{64 * kMiB};
  const auto refused = make_geometry(bad);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what.find("does not fit") != std::string::npos);
}

TEST_CASE("xfs free space: where in a free extent an allocation goes", "[sim][xfs]") {
  const auto at = [](AgBlock want, std::int64_t length, std::int64_t align, bool data, AgExtent free) {
    const auto p = place_near(want, length, align, data, free);
    REQUIRE(p);
    return std::pair{p->at, p->distance};
  };
  CHECK(at(50, 10, 1, true, {100, 100}) == std::pair<AgBlock, std::int64_t>{100, 50});
  CHECK(at(150, 10, 1, true, {100, 100}) == std::pair<AgBlock, std::int64_t>{150, 0});
  // Before the wanted block: file data at the front, so that the file can grow; metadata at the near end.
  CHECK(at(100, 10, 1, true, {10, 30}) == std::pair<AgBlock, std::int64_t>{10, 90});
  CHECK(at(100, 10, 1, false, {10, 30}) == std::pair<AgBlock, std::int64_t>{30, 70});
  // Aligned to 16 around 150: 144 is nearer than 160.
  CHECK(at(150, 10, 16, true, {100, 100}) == std::pair<AgBlock, std::int64_t>{144, 6});
  // 155: 160 is nearer, but an end at 165 leaves only 5 blocks there, so it is 144.
  CHECK(at(155, 10, 16, true, {100, 65}) == std::pair<AgBlock, std::int64_t>{144, 11});
  CHECK_FALSE(place_near(50, 10, 64, true, {100, 20}));  // no multiple of 64 in [100, 120)
}

TEST_CASE("xfs free space: taking and giving back", "[sim][xfs]") {
  FreeSpace space{10, 1000};
  CHECK(space.free_blocks() == 990);
  CHECK(space.take_exact(10, 100, 100) == AgExtent{10, 100});
  CHECK_FALSE(space.take_exact(50, 1, 10));  // taken
  CHECK(space.take_near(500, 50, 50, 1, true) == AgExtent{500, 50});
  // 110..500 and 550..1000 are free. 400 blocks fit only behind.
  CHECK(space.take_near(300, 400, 400, 1, true) == AgExtent{550, 400});
  // Best fit: the shortest extent that holds 40 is [950, 1000).
  CHECK(space.take_by_size(40, 40, 1) == AgExtent{950, 40});
  // Aligned to 64: 40 + 63 blocks are surely enough only in [110, 500): block 128.
  CHECK(space.take_by_size(40, 40, 64) == AgExtent{128, 40});
  // The longest piece is [168, 500) = 332: a wish for 1000 with at least 100 gets that.
  CHECK(space.longest() == 332);
  CHECK(space.take_near(0, 100, 1000, 1, true) == AgExtent{168, 332});
  space.give({128, 40});
  CHECK(space.by_start().at(110) == 58);  // joined with [110, 128)
  space.give({168, 332});
  space.give({500, 50});
  space.give({550, 400});
  CHECK(space.longest() == 840);  // 110..950 is one again
  space.give({950, 40});
  space.give({10, 100});
  CHECK(space.extents() == 1);
  CHECK(space.free_blocks() == 990);
}

TEST_CASE("xfs preallocation: reservations of a growing file", "[sim][xfs]") {
  const PreallocationRules dynamic;
  const auto stream = [](const PreallocationRules& rules, std::int64_t step, std::int64_t until) {
    // Reservation ends, in blocks, of a file written in pieces of `step` bytes.
    std::vector<std::int64_t> ends;
    std::int64_t end = 0;
    for (std::int64_t at = 0; at < until; at += step) {
      if (at + step <= end * 4096) continue;
      end = reservation_end(rules, {at, end > 0 && end * 4096 >= at, end, 1 << 24, 1 << 24}, at, step);
      ends.push_back(end);
    }
    return ends;
  };
  // 64 KiB at a time. The first gets no more than it writes; then twice what is there, rounded down to a power of two and
  // counted from the last full 64 KiB: 16 + 32, 48 + 64, 112 + 128, 240 + 256.
  CHECK(stream(dynamic, 64 * kKiB, 1 * kMiB) == std::vector<std::int64_t>{16, 48, 112, 240, 496});
  // A mount with allocsize=128k: 32 blocks from the last 128 KiB boundary on, always, tiny files included.
  const PreallocationRules fixed{.allocsize = 32};
  CHECK(reservation_end(fixed, {0, false, 0, 1 << 24, 1 << 24}, 0, 10240) == 32);
  CHECK(reservation_end(fixed, {131072, true, 32, 1 << 24, 1 << 24}, 131072, 10240) == 64);
  // Once the file has reached the alignment (768 KiB = 192 blocks), reservations end on it: 192 + 32 = 224 becomes 384.
  const PreallocationRules aligned{.allocsize = 32, .stripe_unit = 16, .eof_alignment = 192};
  CHECK(reservation_end(aligned, {786432, true, 192, 1 << 24, 1 << 24}, 786432, 10240) == 384);
  CHECK(reservation_end(aligned, {131072, true, 32, 1 << 24, 1 << 24}, 131072, 10240) == 64);
  // A small file gets nothing; one behind a hole gets the minimum of 64 KiB.
  CHECK(preallocation(dynamic, {4096, true, 1, 1000, 1000}, 4096) == 0);
  CHECK(preallocation(dynamic, {1 << 20, false, 0, 1 << 20, 1 << 20}, 1 << 20) == 16);
  // 4.5 % free: a quarter. 2 x 1,000 = 2,000, / 4 = 500, down to 256. At 0.5 %: / 64 = 31, down to 16.
  CHECK(preallocation(dynamic, {1 << 30, true, 1000, 45'000, 1'000'000}, 1 << 30) == 256);
  CHECK(preallocation(dynamic, {1 << 30, true, 1000, 5'000, 1'000'000}, 1 << 30) == 16);
  // Twice 2^20 is more than an extent can hold: the offset instead (2^28 blocks), cut to an extent's 2^21 - 1.
  CHECK(preallocation(dynamic, {std::int64_t{1} << 40, true, 1 << 20, 1 << 30, 1 << 30}, std::int64_t{1} << 40) == 2'097'151);
}

TEST_CASE("xfs allocation: right behind the file, aligned, then anywhere", "[sim][xfs]") {
  Allocator a{geometry_of(striped(Bytes{20 * kGiB}))};
  const AgBlock first = a.geometry().first_free;
  // 100 blocks near the inode, aligned to the width of 192.
  const auto one = a.allocate({.length = 100, .ag = 3, .target = first, .alignment = 192});
  REQUIRE(one);
  CHECK(*one == BlockRange{3, 192, 100});
  // The file grows: the next block exactly.
  CHECK(a.allocate({.length = 50, .ag = 3, .target = 292, .adjacent = true, .alignment = 192}) == BlockRange{3, 292, 50});
  // A small file is packed in front of it.
  CHECK(a.allocate({.length = 4, .ag = 3, .target = first}) == BlockRange{3, first, 4});
  // The next large one: 384 (342 is where the last ended).
  CHECK(a.allocate({.length = 100, .ag = 3, .target = first, .alignment = 192}) == BlockRange{3, 384, 100});
  // [484, 327680) is left there, 327,196 blocks. More than that fits in the next group only.
  const auto large = a.allocate({.length = 327'300, .ag = 3, .target = first});
  REQUIRE(large);
  CHECK(large->ag == 4);
  // What no group holds comes in pieces: the longest first.
  const auto piece = a.allocate({.length = 400'000, .ag = 0, .target = first});
  REQUIRE(piece);
  CHECK(piece->length < 327'680);
  CHECK(piece->length >= 327'000);
}

TEST_CASE("xfs allocation: an AGF that somebody holds is passed over", "[sim][xfs]") {
  Allocator a{geometry_of(striped(Bytes{20 * kGiB}))};
  std::vector<bool> held(16, false);
  held[5] = true;
  CHECK(a.shortest_acceptable(5, 100, [&](int ag) { return held[static_cast<std::size_t>(ag)]; }) == 100);
  // All held: content with a single block, so that the walk that waits gets anything.
  CHECK(a.shortest_acceptable(5, 100, [](int) { return true; }) == 1);
}

TEST_CASE("xfs allocation: blocks are neither lost nor given twice, new and aged", "[sim][xfs]") {
  const double filled = GENERATE(0.0, 0.5, 0.9);
  FilesystemInputs in = striped(Bytes{2 * kGiB});
  in.log_size = Bytes{16 * kMiB};
  Allocator a{geometry_of(in)};
  const std::int64_t empty = a.free_blocks();
  a.age(filled, Random{7, "age"});
  const std::int64_t before = a.free_blocks();
  CHECK(static_cast<double>(before) == Approx(static_cast<double>(empty) * (1 - filled)).margin(static_cast<double>(empty) * 0.01));
  Random random{11, "test: allocation"};
  std::vector<BlockRange> files;
  std::map<std::int64_t, std::int64_t> taken;  // start -> end, over all groups
  std::int64_t used = 0;
  const auto global = [&](const BlockRange& r) { return r.ag * a.geometry().ag_blocks + r.start; };
  for (int i = 0; i < 4000; ++i) {
    if (files.size() > 300 && random.below(2) == 0) {
      const std::size_t victim = random.below(files.size());
      a.give(files[victim]);
      taken.erase(global(files[victim]));
      used -= files[victim].length;
      files[victim] = files.back();
      files.pop_back();
      continue;
    }
    const auto length = static_cast<std::int64_t>(1 + random.below(150));
    const auto got = a.allocate({.length = length, .ag = static_cast<int>(random.below(8)),
                                 .target = static_cast<AgBlock>(random.below(60'000)),
                                 .alignment = length >= 16 && random.below(2) ? 192 : 1});
    REQUIRE(got);
    REQUIRE(got->length <= length);
    const auto start = global(*got);
    const auto above = taken.upper_bound(start);
    REQUIRE((above == taken.end() || above->first >= start + got->length));
    if (above != taken.begin()) REQUIRE(std::prev(above)->second <= start);
    taken[start] = start + got->length;
    used += got->length;
    files.push_back(*got);
  }
  CHECK(a.free_blocks() == before - used);
  for (const auto& f : files) a.give(f);
  CHECK(a.free_blocks() == before);
}

TEST_CASE("xfs allocation: an aged file system has its free space in small pieces", "[sim][xfs]") {
  FilesystemInputs in;
  in.size = Bytes{20 * kGiB};
  const auto pieces = [&](double filled) {
    Allocator a{geometry_of(in)};
    a.age(filled, Random{1, "age"});
    std::size_t extents = 0;
    for (int ag = 0; ag < 4; ++ag) extents += a.group(ag).extents();
    return static_cast<double>(a.free_blocks()) / static_cast<double>(extents);
  };
  const double half = pieces(0.5), most = pieces(0.9), nearly_all = pieces(0.97);
  CAPTURE(half, most, nearly_all);
  CHECK(half < 1'000'000);
  CHECK(most < half);
  CHECK(nearly_all < most);
}
