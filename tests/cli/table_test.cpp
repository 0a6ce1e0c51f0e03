#include "cli/campaign/campaign.hpp"
#include "cli/campaign/table.hpp"
#include "cli/campaign/table_log.hpp"
#include "tests/cli/fake_box.hpp"
#include "tests/cli/temporary_folder.hpp"

#include <catch2/catch.hpp>

#include <cstdio>
#include <csignal>
#include <fcntl.h>
#include <memory>
#include <random>
#include <spawn.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

extern char** environ;

using namespace spillway;
using namespace spillway::campaign;
using spillway::test::content_of;
using spillway::test::FakeBox;
using spillway::test::TemporaryFolder;

namespace {

namespace fs = std::filesystem;
const std::vector<std::string> kSwept = {"memory.dirty_bytes"};

struct Sweep {
  TemporaryFolder folder;
  std::size_t count = 40;
  int repeats = 2, threads = 1;
  Shard shard;
  std::string digest = "d";
  nlohmann::ordered_json parameters;
  std::size_t ran = 0;

  Result<Outcome> run(Order order = Order::written) {
    auto store = TableStore::open(folder.path(), {"fake", digest, count, kSwept, parameters}, repeats, shard, 42, false);
    if (!store) return std::unexpected(store.error());
    std::vector<FakeBox> boxes(static_cast<std::size_t>(threads));
    std::vector<Box*> pointers;
    for (FakeBox& box : boxes) pointers.push_back(&box);
    Options options;
    options.repeats = repeats;
    options.seed = 42;
    options.order = order;
    options.shard = shard;
    const CaseSource cases{count, [](std::size_t index) -> Result<Case> { return test::fake_case(index); }};
    auto outcome = run_campaign(cases, pointers, **store, options);
    ran = 0;
    for (const FakeBox& box : boxes) ran += box.runs.size();
    return outcome;
  }
  std::string table() {
    const auto merged = merge_tables(table_logs_below(folder.path()), folder.path() / "table.csv", false);
    REQUIRE(merged.has_value());
    CHECK(merged->missing == 0);
    return content_of(folder.path() / "table.csv");
  }
  fs::path log() const { return folder.path() / "fake" / "table.log"; }
};

/// Starts fake_campaign; its stdout goes to `output`.
pid_t start(const std::vector<std::string>& arguments, const fs::path& output) {
  std::vector<char*> argv;
  std::string program = SPILLWAY_FAKE_CAMPAIGN;
  argv.push_back(program.data());
  std::vector<std::string> copies = arguments;
  for (std::string& argument : copies) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  pid_t pid = 0;
  REQUIRE(posix_spawn(&pid, program.c_str(), &actions, nullptr, argv.data(), environ) == 0);
  posix_spawn_file_actions_destroy(&actions);
  return pid;
}

int wait_for(pid_t pid) {
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  return status;
}

/// All files below a folder but the locks, with their content.
std::map<std::string, std::string> files_below(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.path().extension() != ".lock") files[fs::relative(entry.path(), folder)] = content_of(entry.path());
  }
  return files;
}

}  // namespace

TEST_CASE("table: a row an untar, figures as in the record, an empty cell for what is not known", "[cli][table]") {
  const Case item = test::fake_case(0);
  FakeBox box;
  Record record = *box.run(item, {.repeat = 1, .seed = 14, .dir = {}, .live = {}});
  record.seed = 14;
  CHECK(table_header(kSwept) ==
        "case,memory.dirty_bytes,repeat,seed,box,part,number,name,start_s,elapsed_s,user_s,system_s,cpu_pct,runqueue_s,throttled_s,"
        "device_s,lock_s,log_s,unknown_s,longest_pause_s,data_mb,mb_per_s,iops,untars_end_s,durable_s\n");
  const std::string rows = table_rows(item, {0, 1}, record, kSwept);
  // Seed 14: 14 * untar / 7 is whole, so each untar takes 1 s; 1 MB at 40 MB/s is 0.025 s.
  CHECK(rows.substr(0, rows.find('\n')) ==
        "memory.dirty_bytes=1MB,1MB,1,14,simulated,untar,1,,0,1,0.25,0,25,0,0.75,0,0,0,0,0,10,10,,3,3.025");
  CHECK(std::count(rows.begin(), rows.end(), '\n') == 3);
}

TEST_CASE("table: commas, quotes and line ends in a cell are quoted", "[cli][table]") {
  Case item = test::fake_case(0);
  item.keys[0].second = "a,\"b\"\nc";
  Record record;
  record.box.kind = "simulated";
  const std::string rows = table_rows(item, {0, 1}, record, kSwept);
  CHECK(rows.find(",\"a,\"\"b\"\" c\",") != std::string::npos);
  CHECK(std::count(rows.begin(), rows.end(), '\n') == 1);
}

TEST_CASE("table: independent of threads, order of work and shards", "[cli][table]") {
  Sweep serial;
  REQUIRE(serial.run().has_value());
  const std::string expected = serial.table();
  CHECK(std::count(expected.begin(), expected.end(), '\n') == 1 + 40 * 2 * 3);

  Sweep other;
  other.threads = GENERATE(1, 2, 3, 7);
  const Order order = GENERATE(Order::written, Order::blocks);
  REQUIRE(other.run(order).has_value());
  CHECK(other.table() == expected);

  Sweep sharded;
  sharded.threads = other.threads;
  for (int i = 1; i <= 3; ++i) {
    sharded.shard = {i, 3};
    REQUIRE(sharded.run(order).has_value());
  }
  CHECK(sharded.table() == expected);
}

TEST_CASE("table: a log cut at any byte resumes to the same table", "[cli][table][resume]") {
  Sweep sweep;
  sweep.count = 4;
  sweep.repeats = 2;
  REQUIRE(sweep.run().has_value());
  const std::string expected = sweep.table();
  const std::string log = content_of(sweep.log());
  const std::size_t header = log.find('\n') + 1;
  for (std::size_t cut = header; cut < log.size(); cut += 7) {
    CAPTURE(cut);
    fs::resize_file(sweep.log(), 0);
    std::ofstream(sweep.log(), std::ios::binary) << log.substr(0, cut);
    const auto outcome = sweep.run();
    REQUIRE(outcome.has_value());
    CHECK(outcome->progress.kept + outcome->progress.run == 8);
    CHECK(sweep.ran == outcome->progress.run);
    CHECK(sweep.table() == expected);
  }
}

TEST_CASE("table: garbage in the middle of a log costs the points behind it, never a wrong row", "[cli][table][resume]") {
  Sweep sweep;
  REQUIRE(sweep.run().has_value());
  const std::string expected = sweep.table();
  std::string log = content_of(sweep.log());
  log[log.size() / 2] ^= 1;
  std::ofstream(sweep.log(), std::ios::binary) << log;
  const auto outcome = sweep.run();
  REQUIRE(outcome.has_value());
  CHECK(outcome->progress.run >= 30);
  CHECK(outcome->progress.kept >= 30);
  CHECK(sweep.table() == expected);
}

TEST_CASE("table: more repeats keep the points that are there", "[cli][table][resume]") {
  Sweep sweep;
  REQUIRE(sweep.run().has_value());
  sweep.repeats = 3;
  REQUIRE(sweep.run().has_value());
  CHECK(sweep.ran == 40);
  const std::string grown = sweep.table();
  Sweep at_once;
  at_once.repeats = 3;
  REQUIRE(at_once.run().has_value());
  CHECK(grown == at_once.table());
}

TEST_CASE("table: another sweep's log is refused, and logs of two sweeps are not merged", "[cli][table]") {
  Sweep sweep;
  REQUIRE(sweep.run().has_value());
  sweep.digest = "e";
  const auto outcome = sweep.run();
  REQUIRE_FALSE(outcome.has_value());
  CHECK(outcome.error().kind == ErrorKind::bad_input);
  CHECK(outcome.error().what.find("other parameters") != std::string::npos);
  Sweep other;
  other.digest = "e";
  REQUIRE(other.run().has_value());
  const auto merged = merge_tables({sweep.log(), other.log()}, sweep.folder.path() / "m.csv", false);
  REQUIRE_FALSE(merged.has_value());
  CHECK(merged.error().what.find("different sweeps") != std::string::npos);
  CHECK_FALSE(fs::exists(sweep.folder.path() / "m.csv"));
}

TEST_CASE("table: a shard of another sweep beside the others is refused when it starts, and the difference is named", "[cli][table]") {
  Sweep sweep;
  sweep.parameters = {{"seed", 1}, {"memory", {{"dirty_bytes", 5}}}};
  sweep.shard = {1, 2};
  REQUIRE(sweep.run().has_value());
  sweep.shard = {2, 2};
  sweep.digest = "e";
  sweep.parameters["memory"]["dirty_bytes"] = 6;
  const auto outcome = sweep.run();
  REQUIRE_FALSE(outcome.has_value());
  CHECK(outcome.error().what.find("memory.dirty_bytes = 5 there, 6 now") != std::string::npos);
  CHECK_FALSE(fs::exists(sweep.folder.path() / "fake" / "table.2-of-2.log"));
}

TEST_CASE("table: a swept seed is the seed of its case, and its column's name stands once", "[cli][table]") {
  Case swept = test::fake_case(0), plain = test::fake_case(0);
  swept.keys.emplace_back("seed", "7");
  swept.experiment.seed = 7;
  CHECK(seed_of_repeat(swept, 42, 1) == 7);
  CHECK(seed_of_repeat(swept, 42, 2) == seed_of_repeat(7, 2));
  CHECK(seed_of_repeat(plain, 42, 2) == seed_of_repeat(42, 2));
  CHECK(table_header({"memory.ram"}).find(",memory.ram,repeat,seed,box,") != std::string::npos);
  CHECK(table_header({"seed"}).find(",seed,repeat,repeat_seed,box,") != std::string::npos);
}

TEST_CASE("table: nothing is written while points are missing, unless asked", "[cli][table]") {
  Sweep sweep;
  sweep.shard = {2, 3};
  REQUIRE(sweep.run().has_value());
  const fs::path csv = sweep.folder.path() / "m.csv";
  auto merged = merge_tables(table_logs_below(sweep.folder.path()), csv, false);
  REQUIRE(merged.has_value());
  CHECK(merged->points == 27);
  CHECK(merged->missing == 53);
  REQUIRE(merged->first_missing.size() == 5);
  CHECK(merged->first_missing[0] == Point{0, 1});
  CHECK(merged->first_missing[1] == Point{1, 1});
  CHECK_FALSE(fs::exists(csv));
  merged = merge_tables(table_logs_below(sweep.folder.path()), csv, true);
  CHECK(fs::exists(csv));
}

TEST_CASE("table: what the simulated box cannot run is a row with its reason", "[cli][table]") {
  const TemporaryFolder folder;
  FakeBox box;
  box.on_check = [](const Case& item) -> Status {
    if (item.folder == "memory.dirty_bytes=2MB") return fail(ErrorKind::unsupported, "no uring here, use posix");
    return {};
  };
  Box* const boxes[] = {&box};
  const auto cases = test::fake_cases(3);
  auto store = TableStore::open(folder.path(), {"fake", "d", 3, kSwept}, 1, {}, 1, false);
  REQUIRE(store.has_value());
  REQUIRE(run_campaign(source_of(cases), boxes, **store, {}).has_value());
  REQUIRE(merge_tables(table_logs_below(folder.path()), folder.path() / "t.csv", false)->missing == 0);
  CHECK(content_of(folder.path() / "t.csv").find("memory.dirty_bytes=2MB,2MB,1,1,,failed,,\"no uring here, use posix\"") != std::string::npos);
}

TEST_CASE("campaign: killed in any point, before or after the box worked, it resumes to the same files", "[cli][campaign][resume]") {
  const std::string kind = GENERATE("records", "table");
  const TemporaryFolder undisturbed;
  const auto arguments = [&](const fs::path& out, int kill_at, const std::string& where) {
    return std::vector<std::string>{out, kind, "4", "2", kind == "table" ? "2" : "1", "1/1", std::to_string(kill_at), where, "0"};
  };
  REQUIRE(wait_for(start(arguments(undisturbed.path(), 0, "early"), "/dev/null")) == 0);
  const auto expected = files_below(undisturbed.path());
  for (const std::string where : {"early", "late"}) {
    for (int kill_at = 1; kill_at <= 8; ++kill_at) {
      CAPTURE(where, kill_at);
      const TemporaryFolder folder;
      const int status = wait_for(start(arguments(folder.path(), kill_at, where), "/dev/null"));
      REQUIRE(WIFSIGNALED(status));
      CHECK(WTERMSIG(status) == SIGKILL);
      REQUIRE(wait_for(start(arguments(folder.path(), 0, where), "/dev/null")) == 0);
      auto files = files_below(folder.path());
      if (kind == "table") CHECK(files["table.csv"] == expected.at("table.csv"));
      else CHECK(files == expected);
    }
  }
}

TEST_CASE("sweep: killed with SIGKILL at 20 random moments it resumes to the same table", "[cli][campaign][.long]") {
  const TemporaryFolder undisturbed;
  const auto arguments = [](const fs::path& out) {
    return std::vector<std::string>{out, "table", "3000", "2", "2", "1/1", "0", "early", "300"};
  };
  REQUIRE(wait_for(start(arguments(undisturbed.path()), "/dev/null")) == 0);
  const std::string expected = content_of(undisturbed.path() / "table.csv");
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const TemporaryFolder folder;
  int kills = 0;
  for (int i = 0; i < 20; ++i) {
    const pid_t pid = start(arguments(folder.path()), "/dev/null");
    std::this_thread::sleep_for(std::chrono::microseconds(std::uniform_int_distribution(5'000, 60'000)(random)));
    ::kill(pid, SIGKILL);
    if (WIFSIGNALED(wait_for(pid))) ++kills;
  }
  REQUIRE(wait_for(start(arguments(folder.path()), "/dev/null")) == 0);
  CHECK(kills == 20);
  CHECK(content_of(folder.path() / "table.csv") == expected);
}

TEST_CASE("sweep: 100,000 points stream with less than 300 MB of memory", "[cli][campaign][.long]") {
  const TemporaryFolder folder;
  const fs::path output = folder.path() / "stdout";
  REQUIRE(wait_for(start({folder.path(), "table", "50000", "2", "2", "1/1", "0", "early", "0"}, output)) == 0);
  std::size_t run = 0, kept = 0;
  long rss_kib = 0;
  REQUIRE(std::sscanf(content_of(output).c_str(), "run %zu kept %zu rss_kib %ld", &run, &kept, &rss_kib) == 3);
  CHECK(run == 100'000);
  CHECK(rss_kib < 300'000);
  WARN("peak resident: " << rss_kib / 1024 << " MiB");
}
