#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <cstdlib>
#include <map>
#include <random>
#include <set>

#include "tests/workload/extract/scratch.hpp"
#include "tests/workload/extract/tar_maker.hpp"
#include "tests/workload/extract/tree_snapshot.hpp"
#include "workload/extract/extract.hpp"
#include "workload/extract/plan.hpp"

using namespace spillway;
using namespace spillway::extract;
using spillway::test::Scratch;
using spillway::test::snapshot;
using spillway::test::TarHeader;
using spillway::test::TarMaker;

TEST_CASE("plan: a directory's small files stay with one writer, directories spread", "[workload][extract]") {
  Plan plan(4);
  std::map<int, std::set<int>> writers_of;
  std::set<int> all;
  std::int64_t index = 0;
  for (int d = 0; d < 40; ++d) {
    (void)plan.place({index++, EntryType::directory, fmt::format("top/d{}", d), {}, 0});
    for (int f = 0; f < 200; ++f) {
      const auto placement = plan.place({index++, EntryType::file, fmt::format("top/d{}/f{}", d, f), {}, 4096});
      CHECK(placement.waits.empty());
      writers_of[d].insert(placement.writer);
      all.insert(placement.writer);
    }
  }
  for (const auto& [d, writers] : writers_of) CHECK(writers.size() == 1);
  CHECK(all.size() == 4);
}

TEST_CASE("plan: large files of one directory spread over the writers", "[workload][extract]") {
  Plan plan(4);
  std::map<int, int> given;
  for (int f = 0; f < 20; ++f) ++given[plan.place({f, EntryType::file, fmt::format("d/f{}", f), {}, 50'000'000}).writer];
  REQUIRE(given.size() == 4);
  for (const auto& [writer, files] : given) CHECK(files == 5);
}

TEST_CASE("plan: a path written twice is a collision and stays in order", "[workload][extract]") {
  Plan plan(2);
  const auto first = plan.place({0, EntryType::file, "d/f", {}, 10'000'000});
  (void)plan.place({1, EntryType::file, "d/g", {}, 1});
  const auto second = plan.place({2, EntryType::file, "d/f", {}, 10'000'000});
  CHECK_FALSE(first.collision);
  CHECK(second.collision);
  CHECK((second.writer == first.writer || second.waits == std::vector<Wait>{{first.writer, 0}}));
}

TEST_CASE("plan: a hard link goes to whoever makes its target, and later namesakes wait for it", "[workload][extract]") {
  Plan plan(2);
  (void)plan.place({0, EntryType::file, "x/big", {}, 100'000'000});
  const auto target = plan.place({1, EntryType::file, "a/t", {}, 2'000'000});
  const auto link = plan.place({2, EntryType::hard_link, "x/h", "a/t", 0});
  CHECK(link.writer == target.writer);
  // The target's name again, for the other writer: after the link, not only after the first.
  (void)plan.place({3, EntryType::file, "a/u", {}, 500'000'000});
  const auto again = plan.place({4, EntryType::file, "a/t", {}, 2'000'000});
  CHECK((again.writer == link.writer || again.waits == std::vector<Wait>{{link.writer, 2}}));
}

TEST_CASE("plan: where a directory and something else share a path, one writer does the rest", "[workload][extract]") {
  const bool link_first = GENERATE(true, false);
  Plan plan(4);
  std::int64_t index = 0;
  if (link_first) (void)plan.place({index++, EntryType::symlink, "d", {}, 0});
  const auto child = plan.place({index++, EntryType::file, "d/e/f", {}, 1});
  if (!link_first) {
    CHECK_FALSE(plan.serial());
    CHECK(plan.place({index++, EntryType::symlink, "d", {}, 0}).after_all);
  } else {
    CHECK(child.after_all);
  }
  CHECK(plan.serial());
  CHECK(plan.place({index++, EntryType::file, "other/f", {}, 100'000'000}).writer == 0);
}

namespace {

/// An archive whose members get in each other's way: few names, all types.
std::string quarrelsome_archive(unsigned seed, int members) {
  std::mt19937 random(seed);
  const auto pick = [&random](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  TarMaker maker;
  std::vector<std::string> names;
  const bool hostile = seed % 3 == 0;  // most archives have no directory and file of one name
  const auto name = [&](bool directory) {
    std::string path = fmt::format("t{}", pick(3));
    const int depth = pick(3);
    for (int i = 0; i < depth; ++i) path += fmt::format("/d{}", pick(3));
    if (directory) return path;
    return path + fmt::format("/{}{}", hostile ? "d" : "f", pick(6));
  };
  for (int i = 0; i < members; ++i) {
    switch (pick(10)) {
      case 0: maker.directory(name(true) + "/", pick(2) == 0 ? 0555 : 0755); break;
      case 1: maker.symlink(name(false), names.empty() || pick(2) == 0 ? "nowhere" : names[static_cast<std::size_t>(pick(static_cast<int>(names.size())))]); break;
      case 2:
      case 3:
        if (!names.empty()) {
          maker.hard_link(name(false), names[static_cast<std::size_t>(pick(static_cast<int>(names.size())))]);
          break;
        }
        [[fallthrough]];
      case 4: {
        TarHeader h;
        h.name = name(false);
        h.type = '6';
        maker.member(h);
        break;
      }
      case 5: {
        names.push_back(name(false));
        maker.file(names.back(), std::string(static_cast<std::size_t>(1'100'000 + pick(300'000)), static_cast<char>('a' + pick(26))));
        break;
      }
      default:
        names.push_back(name(false));
        maker.file(names.back(), fmt::format("{} {}", i, std::string(static_cast<std::size_t>(pick(3000)), 'x')), pick(2) == 0 ? 0600 : 0644);
    }
  }
  return maker.end().bytes();
}

}  // namespace

TEST_CASE("extract: any number of writers makes the tree that one makes", "[workload][extract]") {
  const Scratch scratch;
  const int seeds = std::getenv("SPILLWAY_LONG") != nullptr ? 400 : 40;
  for (int seed = 0; seed < seeds; ++seed) {
    const auto archive = scratch.file("q.tar", quarrelsome_archive(static_cast<unsigned>(seed), 150));
    std::vector<std::string> expected;
    std::int64_t errors = 0;
    std::int64_t collisions = 0;
    for (const int writers : {1, 2, 3, 8}) {
      const auto target = scratch.directory(fmt::format("q{}-{}", seed, writers));
      ExtractOptions options = default_options();
      options.writers = writers;
      options.existing = seed % 2 == 0 ? Existing::unlink : Existing::overwrite;
      const auto report = spillway::extract::extract(archive, target, options);
      REQUIRE(report.has_value());
      CAPTURE(seed, writers);
      const auto tree = snapshot(target, {.mtimes = false});
      if (writers == 1) {
        expected = tree;
        errors = report->error_count;
        collisions = report->collision_count;
      }
      CHECK(tree == expected);
      CHECK(report->error_count == errors);
      CHECK(report->collision_count == collisions);
      CHECK(report->entries == 150);
      std::filesystem::remove_all(target);
    }
  }
}
