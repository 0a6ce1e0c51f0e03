#include "cli/campaign/campaign.hpp"
#include "cli/campaign/folder.hpp"
#include "cli/campaign/lock.hpp"
#include "tests/cli/fake_box.hpp"
#include "tests/cli/temporary_folder.hpp"
#include "workload/record/record_io.hpp"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <set>
#include <unistd.h>

using namespace spillway;
using namespace spillway::campaign;
using spillway::test::FakeBox;
using spillway::test::TemporaryFolder;

namespace {

using Strings = std::vector<std::string>;

/// A campaign of three cases in a folder that can be resumed.
struct Bench {
  TemporaryFolder folder;
  std::vector<Case> cases = test::fake_cases(3);
  FakeBox box;
  Options options;
  bool fresh = false;

  Result<Outcome> run() {
    RecordStore store(folder.path(), "simulated", options.seed, fresh);
    Box* const boxes[] = {&box};
    return run_campaign(source_of(cases), boxes, store, options);
  }
  Result<Record> record(std::size_t case_index, int repeat) {
    return read_record(point_folder(folder.path(), cases[case_index], repeat));
  }
};

std::string folder_name(int megabytes, int repeat) { return fmt::format("memory.dirty_bytes={}MB r{}", megabytes, repeat); }

}  // namespace

TEST_CASE("campaign: runs case by case, repeat by repeat, as written", "[cli][campaign]") {
  Bench bench;
  bench.options.repeats = 2;
  const auto outcome = bench.run();
  REQUIRE(outcome.has_value());
  CHECK(bench.box.runs == Strings{folder_name(1, 1), folder_name(1, 2), folder_name(2, 1), folder_name(2, 2), folder_name(3, 1), folder_name(3, 2)});
  CHECK(outcome->progress.run == 6);
  CHECK(outcome->left == 0);
}

TEST_CASE("campaign: a record carries what was asked, and is complete", "[cli][campaign]") {
  Bench bench;
  bench.options.repeats = 2;
  bench.options.seed = 7;
  REQUIRE(bench.run().has_value());
  const auto record = bench.record(1, 2);
  REQUIRE(record.has_value());
  CHECK(record->complete);
  CHECK(record->experiment == bench.cases[1].effective);
  CHECK(record->case_keys == bench.cases[1].keys);
  CHECK(record->repeat == 2);
  CHECK(record->seed == seed_of_repeat(7, 2));
  CHECK(bench.record(1, 1)->seed == 7);
}

TEST_CASE("campaign: blocks hold every case once, each shuffled from the seed", "[cli][campaign]") {
  Bench bench;
  bench.cases = test::fake_cases(7);
  bench.options.repeats = 20;
  bench.options.order = Order::blocks;
  REQUIRE(bench.run().has_value());
  REQUIRE(bench.box.runs.size() == 140);
  std::set<Strings> orders;
  for (int block = 0; block < 20; ++block) {
    Strings order;
    for (int i = 0; i < 7; ++i) {
      const std::string& run = bench.box.runs[static_cast<std::size_t>(block * 7 + i)];
      CHECK(run.ends_with(fmt::format(" r{}", block + 1)));
      order.push_back(run.substr(0, run.find(' ')));
    }
    CHECK(std::set<std::string>(order.begin(), order.end()).size() == 7);
    orders.insert(order);
  }
  CHECK(orders.size() > 15);  // Of 5040 orders, 20 draws are nearly all different.

  Bench again;
  again.cases = bench.cases;
  again.options = bench.options;
  REQUIRE(again.run().has_value());
  CHECK(again.box.runs == bench.box.runs);
  Bench other;
  other.cases = bench.cases;
  other.options = bench.options;
  other.options.seed = 2;
  REQUIRE(other.run().has_value());
  CHECK(other.box.runs != bench.box.runs);
}

TEST_CASE("campaign: every case is first in a block about equally often", "[cli][campaign]") {
  std::vector<int> first(5);
  for (int block = 1; block <= 5000; ++block) ++first[block_order(5, block, 99).front()];
  for (const int count : first) CHECK(std::abs(count - 1000) < 120);  // 4 standard deviations of a binomial
}

TEST_CASE("campaign: complete repeats are kept, missing and incomplete ones are done", "[cli][campaign][resume]") {
  Bench bench;
  bench.options.repeats = 2;
  REQUIRE(bench.run().has_value());
  // One repeat was killed before its record, one record says incomplete, one is damaged.
  std::filesystem::remove(point_folder(bench.folder.path(), bench.cases[0], 2) / "record.json");
  std::ofstream(point_folder(bench.folder.path(), bench.cases[0], 2) / "leftover") << "x";
  auto record = *bench.record(1, 1);
  record.complete = false;
  REQUIRE(write_record(record, point_folder(bench.folder.path(), bench.cases[1], 1)).has_value());
  std::ofstream(point_folder(bench.folder.path(), bench.cases[2], 1) / "record.json") << "{\"schema\": \"spillw";
  bench.box.runs.clear();
  const auto outcome = bench.run();
  REQUIRE(outcome.has_value());
  CHECK(bench.box.runs == Strings{folder_name(1, 2), folder_name(2, 1), folder_name(3, 1)});
  CHECK(outcome->progress.kept == 3);
  CHECK(outcome->progress.run == 3);
  CHECK_FALSE(std::filesystem::exists(point_folder(bench.folder.path(), bench.cases[0], 2) / "leftover"));
  bench.box.runs.clear();
  CHECK(bench.run()->progress.kept == 6);
  CHECK(bench.box.runs.empty());
}

TEST_CASE("campaign: more repeats of the same experiment keep the first ones", "[cli][campaign][resume]") {
  Bench bench;
  for (Case& item : bench.cases) item.effective["repeats"] = 1;
  REQUIRE(bench.run().has_value());
  for (Case& item : bench.cases) item.effective["repeats"] = 2;
  bench.options.repeats = 2;
  bench.box.runs.clear();
  REQUIRE(bench.run().has_value());
  CHECK(bench.box.runs == Strings{folder_name(1, 2), folder_name(2, 2), folder_name(3, 2)});
}

TEST_CASE("campaign: a repeat of other parameters in the same folder is refused with a sentence", "[cli][campaign][resume]") {
  Bench bench;
  REQUIRE(bench.run().has_value());
  SECTION("another value") {
    bench.cases[1].effective["memory"]["dirty_bytes"] = 5;
    const auto outcome = bench.run();
    REQUIRE_FALSE(outcome.has_value());
    CHECK(outcome.error().kind == ErrorKind::bad_input);
    CHECK(outcome.error().what.find("holds a repeat of other parameters (memory.dirty_bytes = 2000000 there, 5 now)") != std::string::npos);
    CHECK(bench.record(1, 1)->experiment["memory"]["dirty_bytes"] == 2000000);
  }
  SECTION("a key more") {
    bench.cases[0].effective["replay"]["untars"] = 4;
    CHECK(bench.run().error().what.find("replay.untars not given there, 4 now") != std::string::npos);
  }
  SECTION("another seed") {
    bench.options.seed = 2;
    CHECK(bench.run().error().what.find("seed 1 there, 2 now") != std::string::npos);
  }
  SECTION("another box") {
    RecordStore store(bench.folder.path(), "real", 1, false);
    Box* const boxes[] = {&bench.box};
    CHECK(run_campaign(source_of(bench.cases), boxes, store, bench.options).error().what.find("box simulated there, real now") != std::string::npos);
  }
  SECTION("other words are not other parameters") {
    bench.cases[1].effective["title"] = "Renamed";
    CHECK(bench.run()->progress.kept == 3);
  }
  SECTION("fresh redoes it") {
    bench.cases[1].effective["memory"]["dirty_bytes"] = 5;
    bench.fresh = true;
    CHECK(bench.run()->progress.run == 3);
    CHECK(bench.record(1, 1)->experiment["memory"]["dirty_bytes"] == 5);
  }
}

TEST_CASE("campaign: the stop rule ends a case's repeats, in both orders", "[cli][campaign][stop]") {
  Bench bench;
  bench.options.repeats = 6;
  // Case N is content with N + 1 repeats.
  bench.options.stop = [&](const Case& item, const std::vector<Record>& records) {
    for (std::size_t i = 0; i < records.size(); ++i) CHECK(records[i].repeat == static_cast<int>(i) + 1);
    return records.size() == static_cast<std::size_t>(item.effective["memory"]["dirty_bytes"].get<int>() / 1'000'000 + 1);
  };
  bench.options.order = GENERATE(Order::written, Order::blocks);
  const auto outcome = bench.run();
  REQUIRE(outcome.has_value());
  CHECK(outcome->progress.run == 2 + 3 + 4);
  CHECK(outcome->progress.total == 9);
  CHECK(bench.record(0, 2).has_value());
  CHECK_FALSE(bench.record(0, 3).has_value());
  CHECK(bench.record(2, 4).has_value());
  CHECK_FALSE(bench.record(2, 5).has_value());
  // Resumed after losing one repeat: the rule sees kept and new records alike.
  std::filesystem::remove_all(point_folder(bench.folder.path(), bench.cases[2], 2));
  bench.box.runs.clear();
  CHECK(bench.run()->progress.kept == 8);
  CHECK(bench.box.runs == Strings{folder_name(3, 2)});
}

TEST_CASE("campaign: a full disk ends it, finished repeats stay, the reason is kept", "[cli][campaign][failure]") {
  Bench bench;
  bench.options.repeats = 2;
  bench.box.on_run = [](const Case& item, const RepeatContext& context) -> Status {
    if (item.folder == "memory.dirty_bytes=2MB" && context.repeat == 2) return fail(ErrorKind::refused, "the backing disk is full", 28);
    return {};
  };
  const auto outcome = bench.run();
  REQUIRE(outcome.has_value());
  CHECK(bench.box.runs.size() == 4);
  REQUIRE(outcome->failures.size() == 1);
  CHECK(outcome->failures[0].error.what == "the backing disk is full");
  CHECK(outcome->left == 2);
  CHECK(bench.record(1, 1).has_value());
  const std::string kept = test::content_of(point_folder(bench.folder.path(), bench.cases[1], 2) / "failed.json");
  CHECK(kept.find("the backing disk is full") != std::string::npos);
  CHECK(kept.find("refused") != std::string::npos);
  // Space was made: the rest is done, and nothing of the failure is left.
  bench.box.on_run = nullptr;
  bench.box.runs.clear();
  CHECK(bench.run()->progress.kept == 3);
  CHECK(bench.box.runs.size() == 3);
  CHECK_FALSE(std::filesystem::exists(point_folder(bench.folder.path(), bench.cases[1], 2) / "failed.json"));
}

TEST_CASE("campaign: a case that the box cannot run does not stop the others", "[cli][campaign][failure]") {
  Bench bench;
  bench.options.repeats = 2;
  bench.box.on_check = [](const Case& item) -> Status {
    if (item.folder == "memory.dirty_bytes=1MB") return fail(ErrorKind::unsupported, "no such disk here");
    return {};
  };
  bool with_rule = GENERATE(false, true);
  if (with_rule) bench.options.stop = [](const Case&, const std::vector<Record>& records) { return records.size() == 2; };
  const auto outcome = bench.run();
  REQUIRE(outcome.has_value());
  CHECK(bench.box.runs.size() == 4);
  CHECK(outcome->unsupported == (with_rule ? 1 : 2));  // With a rule there is no point in asking a second time.
  CHECK(outcome->failures.front().error.what == "no such disk here");
}

TEST_CASE("campaign: Ctrl-C keeps what is done and starts nothing more", "[cli][campaign]") {
  Bench bench;
  bool pressed = false;
  bench.options.interrupted = [&] { return pressed; };
  bench.box.on_run = [&](const Case& item, const RepeatContext&) -> Status {
    if (item.folder != "memory.dirty_bytes=2MB") return {};
    pressed = true;
    return fail(ErrorKind::refused, "interrupted; the box is put back");
  };
  const auto outcome = bench.run();
  REQUIRE(outcome.has_value());
  CHECK(outcome->interrupted);
  CHECK(outcome->failures.empty());
  CHECK(outcome->left == 2);
  CHECK(bench.record(0, 1).has_value());
  pressed = false;
  bench.box.on_run = nullptr;
  bench.box.runs.clear();
  CHECK_FALSE(bench.run()->interrupted);
  CHECK(bench.box.runs == Strings{folder_name(2, 1), folder_name(3, 1)});
}

TEST_CASE("campaign: a time budget starts no point that would end too late", "[cli][campaign]") {
  Bench bench;
  bench.cases = test::fake_cases(50);
  bench.options.budget = std::chrono::milliseconds(60);
  bench.box.on_run = [](const Case&, const RepeatContext&) -> Status {
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(10);
    while (std::chrono::steady_clock::now() < until) {}
    return {};
  };
  const auto outcome = bench.run();
  REQUIRE(outcome.has_value());
  CHECK(outcome->out_of_budget);
  CHECK(outcome->progress.run >= 1);
  CHECK(outcome->progress.run <= 6);
  CHECK(outcome->left == 50 - outcome->progress.run);
}

TEST_CASE("campaign: events tell what starts, lives, ends, and how far it is", "[cli][campaign]") {
  Bench bench;
  Strings told;
  bench.options.event = [&](const Options::Event& event) {
    static constexpr const char* kinds[] = {"started", "live", "done", "kept", "failed"};
    told.push_back(fmt::format("{} {} {}/{}", kinds[static_cast<int>(event.kind)], event.text, event.progress.ended(), event.progress.total));
  };
  bench.box.on_run = [](const Case&, const RepeatContext& context) -> Status {
    context.live({"untar 1 of 3"});
    return {};
  };
  bench.cases.resize(1);
  REQUIRE(bench.run().has_value());
  CHECK(told == Strings{"started memory.dirty_bytes=1MB r1 0/1", "live memory.dirty_bytes=1MB r1: untar 1 of 3 0/1", "done memory.dirty_bytes=1MB r1 1/1"});
}

TEST_CASE("campaign: shards split the points without loss or overlap", "[cli][campaign][shard]") {
  std::multiset<std::string> all;
  Bench whole;
  whole.options.repeats = 3;
  REQUIRE(whole.run().has_value());
  for (int i = 1; i <= 4; ++i) {
    Bench bench;
    bench.options.repeats = 3;
    bench.options.shard = {i, 4};
    bench.options.order = GENERATE(Order::written, Order::blocks);
    const auto outcome = bench.run();
    REQUIRE(outcome.has_value());
    CHECK(outcome->progress.total == bench.box.runs.size());
    CHECK(outcome->left == 0);
    all.insert(bench.box.runs.begin(), bench.box.runs.end());
  }
  CHECK(all == std::multiset<std::string>(whole.box.runs.begin(), whole.box.runs.end()));
}

TEST_CASE("shard: i/n is read, anything else is answered with an example", "[cli][shard]") {
  CHECK(parse_shard("2/8")->index == 2);
  CHECK(parse_shard("2/8")->count == 8);
  CHECK(parse_shard("1/1")->whole());
  for (const char* bad : {"", "2", "0/8", "9/8", "-1/8", "2/8x", "a/b", "2/", "/8", "2 / 8"}) {
    CAPTURE(bad);
    const auto shard = parse_shard(bad);
    REQUIRE_FALSE(shard.has_value());
    CHECK(shard.error().kind == ErrorKind::bad_input);
    CHECK(shard.error().what.find("--shard 2/8") != std::string::npos);
  }
}

TEST_CASE("lock: one campaign per folder, many shards, nothing stale", "[cli][lock]") {
  const TemporaryFolder folder;
  {
    const auto first = Lock::take(folder.path());
    REQUIRE(first.has_value());
    const auto second = Lock::take(folder.path());
    REQUIRE_FALSE(second.has_value());
    CHECK(second.error().kind == ErrorKind::refused);
    CHECK(second.error().what.find(fmt::format("process {}", ::getpid())) != std::string::npos);
    CHECK_FALSE(Lock::take(folder.path(), {1, 2}).has_value());
  }
  const auto one = Lock::take(folder.path(), {1, 2});
  REQUIRE(one.has_value());
  CHECK(Lock::take(folder.path(), {2, 2}).has_value());
  CHECK_FALSE(Lock::take(folder.path(), {1, 2}).has_value());
  CHECK_FALSE(Lock::take(folder.path()).has_value());
}

TEST_CASE("progress: rate and time left come from this call's points alone", "[cli][progress]") {
  Progress progress{.total = 100, .kept = 40, .run = 0, .failed = 0, .elapsed = std::chrono::seconds{10}};
  CHECK_FALSE(time_left(progress).has_value());
  CHECK(progress_text(progress) == "40 of 100 (40 kept)");
  progress.run = 20;
  progress.elapsed = std::chrono::seconds{600};
  CHECK(*time_left(progress) == std::chrono::seconds{1200});
  CHECK(progress_text(progress) == "60 of 100 (40 kept), 2.0 a minute, 20 min 00 s left");
  CHECK(duration_text(std::chrono::seconds{59}) == "59 s");
  CHECK(duration_text(std::chrono::seconds{3600 + 65}) == "1 h 01 min");
}
