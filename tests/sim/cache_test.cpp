// The page cache against values worked out by hand: read-ahead windows, lists, placement on nodes, reclaim.

#include <catch2/catch.hpp>

#include "sim/cache/anonymous_buffer.hpp"
#include "sim/cache/page_cache.hpp"
#include "sim/cache/read_ahead.hpp"
#include "sim/random.hpp"

using namespace spillway;
using namespace spillway::sim;

namespace {

/// A cache on its own: the engine never runs.
struct Bench {
  explicit Bench(std::int64_t pages, int nodes = 1, DirtySettings dirty = {})
      : cpus(engine, {.cores = 4, .numa_nodes = nodes}), cache(engine, cpus, {.pages = pages, .nodes = nodes, .dirty = dirty}) {}
  ~Bench() { engine.destroy_roots(); }
  Inode& file(std::int64_t pages) {
    inodes.push_back(std::make_unique<Inode>());
    inodes.back()->id = static_cast<std::int32_t>(inodes.size());
    inodes.back()->size_pages = pages;
    return *inodes.back();
  }
  /// Brings [first, end) in as a read on node `home` does.
  bool bring_in(Inode& inode, std::int64_t first, std::int64_t end, int home = 0) {
    Placement got;
    if (!cache.try_allocate(home, end - first, PageCache::Use::file, got)) return false;
    cache.insert(cache.file_of(inode), first, end, home, got);
    CHECK(cache.adds_up());
    return true;
  }
  Engine engine{{.seed = 1}};
  CpuSet cpus;
  PageCache cache;
  std::vector<std::unique_ptr<Inode>> inodes;
};

}  // namespace

TEST_CASE("read-ahead: the first window is four, two or one times the request, windows then double to the limit", "[sim][cache]") {
  CHECK(initial_window(1, 32) == 4);     // 1 <= 32/32
  CHECK(initial_window(2, 32) == 4);     // 2 <= 32/4
  CHECK(initial_window(8, 32) == 16);    // still 8 <= 32/4
  CHECK(initial_window(9, 32) == 32);    // 16 > 8
  CHECK(initial_window(3, 1024) == 16);  // 4 <= 32
  CHECK(next_window(1, 32) == 4);        // below 1/16 of the limit
  CHECK(next_window(4, 32) == 8);
  CHECK(next_window(32, 32) == 32);
}

TEST_CASE("read-ahead: a sequential reader starts the next window at the marker of this one", "[sim][cache]") {
  ReadAhead ahead{32, 32};
  const auto first = ahead.missed(0, 4);
  CHECK(first.first == 0);
  CHECK(first.end == 8);
  CHECK(ahead.marker() == 4);  // size 8 less the 4 asked for are ahead of need
  const auto second = ahead.came_to_marker(4);
  CHECK(second.first == 8);
  CHECK(second.end == 24);
  CHECK(ahead.marker() == 8);
  const auto third = ahead.came_to_marker(4);
  CHECK(third.first == 24);
  CHECK(third.end == 56);
}

TEST_CASE("read-ahead: a jump reads what was asked for, a large request up to one I/O of the device", "[sim][cache]") {
  ReadAhead jump{32, 320};
  const auto window = jump.missed(1000, 4);
  CHECK(window.first == 1000);
  CHECK(window.end == 1004);
  CHECK(jump.marker() == INT64_MAX);
  ReadAhead large{32, 320};
  CHECK(large.missed(0, 1000).end == 320);  // more than read_ahead_kb, up to max_sectors_kb
}

TEST_CASE("lists: the inactive list is low below 1/int_sqrt(10 x GiB) of the active one", "[sim][cache]") {
  CHECK(inactive_is_low(100, 101));
  CHECK_FALSE(inactive_is_low(100, 100));
  // 10 GiB: int_sqrt(100) = 10.
  CHECK(inactive_is_low(238'312, 2'383'128));
  CHECK_FALSE(inactive_is_low(238'313, 2'383'127));
}

TEST_CASE("page cache: what came in first goes first", "[sim][cache]") {
  Bench b{1000};
  Inode &a = b.file(400), &c = b.file(400), &d = b.file(400);
  REQUIRE(b.bring_in(a, 0, 400));
  REQUIRE(b.bring_in(c, 0, 400));
  REQUIRE(b.bring_in(d, 0, 400));  // 200 are free: the rest in steps of 32, the least that reclaim takes
  CHECK(b.cache.cached(a) == 400 - 7 * 32);
  CHECK(b.cache.cached(c) == 400);
  CHECK(b.cache.cached(d) == 400);
  CHECK(b.cache.evicted() == 7 * 32);
  CHECK(b.cache.find(b.cache.file_of(a), 7 * 32 - 1) == nullptr);  // from the front of the file
  CHECK(b.cache.find(b.cache.file_of(a), 7 * 32) != nullptr);
}

TEST_CASE("page cache: a page read twice is active and stays, one read once goes", "[sim][cache]") {
  Bench b{1000};
  Inode &a = b.file(300), &c = b.file(300), &d = b.file(600);
  REQUIRE(b.bring_in(a, 0, 300));
  REQUIRE(b.bring_in(c, 0, 300));
  b.cache.touch(b.cache.file_of(a), 0, 300);
  b.cache.touch(b.cache.file_of(c), 0, 300);
  CHECK(b.cache.nodes()[0].active.pages() == 0);
  b.cache.touch(b.cache.file_of(a), 100, 200);
  CHECK(b.cache.nodes()[0].active.pages() == 100);
  CHECK(b.cache.adds_up());
  REQUIRE(b.bring_in(d, 0, 600));  // 400 free, 200 to find: a's first 100 pages, its last 100, c's
  CHECK(b.cache.where(b.cache.file_of(a), 100, 200).pages() == 100);
  CHECK(b.cache.where(b.cache.file_of(a), 0, 100).pages() == 0);
}

TEST_CASE("page cache: dirty pages are not taken; when nothing else is left, nobody gets a page", "[sim][cache]") {
  Bench b{1000};
  Inode &a = b.file(600), &c = b.file(400), &d = b.file(500);
  REQUIRE(b.bring_in(a, 0, 600));
  REQUIRE(b.bring_in(c, 0, 400));
  a.dirty.add({0, 600});
  REQUIRE(b.bring_in(d, 0, 300));
  CHECK(b.cache.cached(a) == 600);
  CHECK(b.cache.cached(c) <= 100);
  Placement got;
  CHECK_FALSE(b.cache.try_allocate(0, 401, PageCache::Use::file, got));
  CHECK(got.pages() == 0);
  CHECK(b.cache.adds_up());
  // Under writeback is no better: 600 pages before the flusher's place.
  a.dirty.clear();
  a.writeback_pages = 600;
  a.writeback_index = 600;
  CHECK_FALSE(b.cache.try_allocate(0, 401, PageCache::Use::file, got));
  a.writeback_pages = 0;
  CHECK(b.cache.try_allocate(0, 401, PageCache::Use::file, got));
}

TEST_CASE("page cache: pages come from the near node, then from the other; buffers remember where", "[sim][cache]") {
  Bench b{2000, 2};
  Placement got;
  REQUIRE(b.cache.try_allocate(1, 1300, PageCache::Use::anonymous, got));
  CHECK(got.on[1] == 1000);
  CHECK(got.on[0] == 300);
  AnonymousBuffer buffer;
  buffer.append(got, 1, 2);
  CHECK(buffer.away_from(1, 0, 1000) == 0);
  CHECK(buffer.away_from(1, 900, 1100) == 100);
  CHECK(buffer.away_from(0, 0, 1300) == 1000);
  b.cache.free_anonymous(buffer.placement());
  CHECK(b.cache.adds_up());
}

TEST_CASE("page cache: a node takes dirty pages up to its share of the limit, the next ones go elsewhere", "[sim][cache]") {
  Bench b{2000, 2, {.dirty_ratio = 40, .background_ratio = 10}};
  Placement got;
  REQUIRE(b.cache.try_allocate(0, 500, PageCache::Use::file_to_dirty, got));
  CHECK(got.on[0] == 401);  // 40 % of 1000, and the one that reaches it
  CHECK(got.on[1] == 99);
  Inode& a = b.file(500);
  b.cache.insert(b.cache.file_of(a), 0, 500, 0, got);
  b.cache.dirtied(b.cache.where(b.cache.file_of(a), 0, 500));
  REQUIRE(b.cache.try_allocate(0, 10, PageCache::Use::file_to_dirty, got));
  CHECK(got.on[1] == 10);
  b.cache.give_back(got);
  b.cache.cleaned_ever = [] { return std::int64_t{101}; };  // the oldest 101 are written: they were on node 0
  REQUIRE(b.cache.try_allocate(0, 101, PageCache::Use::file_to_dirty, got));
  CHECK(got.on[0] == 101);
}

TEST_CASE("page cache: pages add up through random reads, touches, evictions and drops", "[sim][cache]") {
  Bench b{3000, 3};
  Random random{77, "test: cache"};
  for (int i = 0; i < 6; ++i) b.file(1500);
  for (int step = 0; step < 3000; ++step) {
    Inode& inode = *b.inodes[random.below(6)];
    const auto first = static_cast<std::int64_t>(random.below(1400));
    const std::int64_t end = first + 1 + static_cast<std::int64_t>(random.below(100));
    CachedFile& file = b.cache.file_of(inode);
    switch (random.below(6)) {
      case 0: b.cache.touch(file, first, end); break;
      case 1: if (random.below(20) == 0) { inode.dirty.clear(); b.cache.drop(inode); } break;
      case 2: inode.dirty.remove({first, end}); break;
      case 3: if (b.cache.missing(file, first, end) == 0) inode.dirty.add({first, end}); break;
      default: {
        Placement got;
        const int home = static_cast<int>(random.below(3));
        const std::int64_t absent = b.cache.missing(file, first, end);
        if (absent == 0 || !b.cache.try_allocate(home, absent, PageCache::Use::file, got)) break;
        if (b.cache.missing(file, first, end) != absent) b.cache.give_back(got);  // reclaim took some of these very pages
        else b.cache.insert(file, first, end, home, got);
      }
    }
    CAPTURE(step);
    REQUIRE(b.cache.adds_up());
    const PageRange dirty = inode.dirty.next(0);  // what is dirty is cached
    if (dirty.pages() > 0) REQUIRE(b.cache.missing(file, dirty.first, dirty.end) == 0);
  }
  CHECK(b.cache.evicted() > 0);
}
