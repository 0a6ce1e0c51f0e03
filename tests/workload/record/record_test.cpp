#include "workload/record/file_io.hpp"
#include "workload/record/record_io.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <unistd.h>

#include "tests/support/temp_dir.hpp"

namespace fs = std::filesystem;
using namespace spillway;

namespace {

/// A folder of its own that goes away with the test.
struct Scratch : test::TempDir {
  Scratch() : TempDir("record") {}
};

/// Counts the members of an aggregate, so that a member forgotten in the JSON is noticed.
struct Anything {
  template <class T>
  operator T() const;
};
template <class T, class... Args>
constexpr std::size_t members() {
  if constexpr (requires { T{Args{}..., Anything{}}; }) {
    return members<T, Args..., Anything>();
  } else {
    return sizeof...(Args);
  }
}

/// Every member has a value that differs from its default and from its neighbours.
Record full_record() {
  Record r;
  r.experiment_title = "Eight untars \"quoted\", with umlauts: ä";
  r.experiment_name = "quick";
  r.experiment = nlohmann::ordered_json{{"zulu", 1}, {"alpha", {{"files", 2500}}}};
  r.case_keys = {{"replay.at_once", "2"}, {"memory.dirty_bytes", "1GB"}};
  r.repeat = 3;
  r.seed = 18446744073709551615ULL;
  r.box = {.kind = "simulated", .name = "n", .kernel = "6.18.44", .hz = 250, .cpus = 2, .numa_nodes = 1,
           .ram_bytes = 25'000'000'000, .device = "a limit of 40 MB/s", .target = "loop",
           .profile = {{"copy", 0.65}}, .environment = {{"vm.dirty_bytes", "500000000"}}};
  r.state_before = {.completion_share = 0.25, .completion_phase_s = 1.5, .device_completions_pages = 11, .global_completions_pages = 44,
                    .dirty_ratelimit_pages_per_s = 25600,
                    .avg_write_bandwidth_pages_per_s = 25601, .write_bandwidth_pages_per_s = 25602,
                    .balanced_dirty_ratelimit_pages_per_s = 25603, .bandwidth_stamp_age_s = 7.5,
                    .dirty_limit_pages = 122070, .dirtyable_pages = 5'000'000, .foreign_dirty_pages = 17,
                    .foreign_completions_pages_per_s = 45.5, .foreign_cpus = 0.25,
                    .free_pages = 4'000'000, .file_pages = 900'000, .uptime_s = 12.5, .throttle_slice_age_s = 0.0, .cold = true};
  const Account account{.user_s = 0.125, .system_s = 5.69, .runqueue_s = 0.01, .throttled_s = 1.1, .device_s = 0.2,
                        .lock_s = 0.03, .log_s = 0.04, .unknown_s = 0.001};
  r.untars = {{.number = 1, .start_s = 0.5, .elapsed_s = 7.36, .user_s = 0.12, .system_s = 5.69, .bytes = 3'400'000'000,
               .files = 5000, .max_rss_bytes = 4096, .voluntary_switches = 38, .involuntary_switches = 42,
               .exit_status = 2, .account = account,
               .account_sources = {{"throttled", "taskstats"}}, .pauses = 88, .longest_pause_s = 0.2}};
  r.phases = {{.name = "sync", .start_s = 18.0, .elapsed_s = 11.4, .user_s = 0.1, .system_s = 0.23, .device_busy_s = 11.2}};
  r.jobs = {{.name = "dd", .start_s = 1, .elapsed_s = 2, .user_s = 3, .system_s = 4, .read_bytes = 5, .write_bytes = 6,
             .operations = 7, .mb_per_s = 8, .iops = 9, .lat_ms_mean = 10, .lat_ms_p50 = 11, .lat_ms_p99 = 12,
             .lat_ms_max = 13, .account = account}};
  r.stages = {{.name = "fuse", .threads = 1, .cpu_pct = 88.0, .cpu_pct_max = 87.5, .requests = 12, .lock_wait_s = 0.5,
               .lock_held_pct = 70, .wakeup_delay_us_mean = 4, .wakeup_delay_us_p99 = 24.3, .wakeup_delay_us_max = 99,
               .context_switches = 5}};
  r.kworkers = {{.queue = "writeback", .name = "kworker/u8:2+flush-7:0", .count = 2, .cpu_s = 0.5, .cpu_pct = 1.5,
                 .busiest_state = "D rq_qos_wait"}};
  r.flusher = {.count = 4, .cpu_s = 0.4, .cpu_pct = 1.25, .blocked_s = 29.0, .pages_written = 300'000};
  r.device = {.write_bytes = 1, .read_bytes = 2, .write_ios = 3, .read_ios = 4, .seeks = 5, .rmw_reads = 6, .flushes = 7,
              .busy_s = 8.5, .busy_pct = 99.5, .sequential_mb_per_s = 1000, .efficiency_pct = 6.5,
              .split_pct = {{"seek", 60.0}, {"transfer", 40.0}}, .members = {{{"busy_s", 3.7}}, {{"busy_s", 5.8}}}};
  r.log = {.transactions = 1, .log_writes = 2, .log_bytes = 3, .forces = 4, .ail_pushes = 5, .space_wait_s = 0.75};
  r.extents_mean = 1.25;
  r.untars_end_s = 18.0;
  r.durable_s = 29.38;
  r.cpu_total_s = 2.5;
  r.marks = {{.t_s = 0.1 + 0.2, .what = "untar 1 start"}};
  r.disturbances = {"another program wrote 97 MB/s to vda"};
  r.notes = {"HZ is assumed"};
  r.counters = {{"lost_events", 0.0}, {"mkdir", 12.0}};
  r.files = {"timeline.csv"};
  r.complete = true;
  r.host = {{"name", "box"}};
  return r;
}

}  // namespace

TEST_CASE("record: every member survives JSON and disk", "[workload][record]") {
  const Scratch scratch;
  const Record before = full_record();
  REQUIRE(write_record(before, scratch.path / "a" / "r3"));
  const auto after = read_record(scratch.path / "a" / "r3");
  REQUIRE(after);
  CHECK(to_json(*after).dump() == to_json(before).dump());

  // to_json could forget a member on both ways: spot-check values, and count members below.
  CHECK(after->seed == 18446744073709551615ULL);
  CHECK(after->case_keys == before.case_keys);
  CHECK(after->marks.at(0).t_s == 0.1 + 0.2);  // doubles come back bit for bit
  CHECK(after->experiment.dump() == R"({"zulu":1,"alpha":{"files":2500}})");
  CHECK(after->untars.at(0).account.total_s() == before.untars.at(0).account.total_s());
  CHECK(after->state_before.completion_share == 0.25);
  CHECK(after->device.members.size() == 2);
  CHECK(after->complete);
  CHECK_FALSE(fs::exists(scratch.path / "a" / "r3" / "record.json.tmp"));
  CHECK(std::distance(fs::directory_iterator{scratch.path / "a" / "r3"}, {}) == 1);
}

TEST_CASE("record: no member is forgotten in the JSON", "[workload][record]") {
  const auto json = to_json(full_record());
  CHECK(json["untars"][0].size() == members<UntarResult>());
  CHECK(json["untars"][0]["account"].size() == members<Account>());
  CHECK(json["phases"][0].size() == members<PhaseResult>());
  CHECK(json["jobs"][0].size() == members<JobResult>());
  CHECK(json["stages"][0].size() == members<StageResult>());
  CHECK(json["kworkers"][0].size() == members<KworkerResult>());
  CHECK(json["flusher"].size() == members<FlusherResult>());
  CHECK(json["device"].size() == members<DeviceResult>());
  CHECK(json["log"].size() == members<LogResult>());
  CHECK(json["state_before"].size() == members<BoxState>());
  CHECK(json["marks"][0].size() == members<Mark>());
  CHECK(json["box"].size() == 11);                 // kind, name, kernel, hz, cpus, numa_nodes, ram_bytes, device, target, profile, environment
  CHECK(json.size() == 27 + 1);                    // Record's 27 members and the schema
}

TEST_CASE("record: what is unknown stays unknown, not 0", "[workload][record]") {
  Record record;
  record.experiment_name = "x";
  record.box.kind = "real";
  const auto json = to_json(record);
  CHECK_FALSE(json.contains("cpu_total_s"));
  CHECK_FALSE(json["state_before"].contains("completion_share"));
  const auto after = record_from_json(json, "memory");
  REQUIRE(after);
  CHECK_FALSE(after->cpu_total_s);
  CHECK_FALSE(after->extents_mean);
  CHECK_FALSE(after->state_before.completion_share);
}

TEST_CASE("record: a number that is not finite is refused with its place", "[workload][record]") {
  const Scratch scratch;
  Record record = full_record();
  record.untars[0].account.lock_s = std::numeric_limits<double>::quiet_NaN();
  const Status written = write_record(record, scratch.path);
  REQUIRE_FALSE(written);
  CHECK_THAT(written.error().what, Catch::Contains("\"untars[0].account.lock_s\" is not a finite number"));
  CHECK_FALSE(fs::exists(scratch.path / "record.json"));
}

TEST_CASE("record: bad input is answered with file, key and what was expected", "[workload][record]") {
  auto json = to_json(full_record());
  const auto sentence = [&json] {
    const auto result = record_from_json(json, "out/r1/record.json");
    REQUIRE_FALSE(result);
    CHECK(result.error().kind == ErrorKind::bad_input);
    return result.error().what;
  };
  SECTION("wrong type") {
    json["untars"][0]["elapsed_s"] = "7.36";
    CHECK(sentence() == "out/r1/record.json: key \"untars[0].elapsed_s\" should be a number, found \"7.36\"");
  }
  SECTION("nested wrong type") {
    json["untars"][0]["account"] = 3;
    CHECK(sentence() == "out/r1/record.json: key \"untars[0].account\" should be an object, found 3");
  }
  SECTION("a fraction where a whole number is due") {
    json["repeat"] = 1.5;
    CHECK(sentence() == "out/r1/record.json: key \"repeat\" should be a whole number, found 1.5");
  }
  SECTION("too large for the member") {
    json["repeat"] = 5'000'000'000;
    CHECK(sentence() == "out/r1/record.json: key \"repeat\" should be a smaller whole number, found 5000000000");
  }
  SECTION("a required key is missing") {
    json.erase("complete");
    CHECK(sentence() == "out/r1/record.json: key \"complete\" is missing");
  }
  SECTION("no schema") {
    json.erase("schema");
    CHECK(sentence() == "out/r1/record.json: not a record: key \"schema\" is missing, \"spillway.record/1\" was expected");
  }
  SECTION("another schema") {
    json["schema"] = "spillway.record/9";
    CHECK(sentence() == "out/r1/record.json: schema is \"spillway.record/9\", this program reads \"spillway.record/1\"; "
                        "repeat the run or use the program version that wrote it");
  }
  SECTION("a list instead of an object") {
    json = nlohmann::ordered_json::array();
    CHECK(sentence() == "out/r1/record.json: not a record: an object was expected");
  }
}

TEST_CASE("record: a damaged or missing file is one sentence", "[workload][record]") {
  const Scratch scratch;
  std::ofstream{scratch.path / "record.json"} << "{\"schema\": \"spillway.rec";
  CHECK_THAT(read_record(scratch.path).error().what, Catch::Contains("not JSON (cut off or damaged?)"));
  const auto missing = read_record(scratch.path / "nowhere");
  REQUIRE_FALSE(missing);
  CHECK_THAT(missing.error().what, Catch::Contains("nowhere: No such file or directory"));
}

TEST_CASE("record: a folder of records is read in natural order, incomplete ones named", "[workload][record]") {
  const Scratch scratch;
  Record record = full_record();
  for (const int repeat : {10, 2, 1}) {
    record.repeat = repeat;
    REQUIRE(write_record(record, scratch.path / "case" / ("r" + std::to_string(repeat))));
  }
  record.complete = false;
  REQUIRE(write_record(record, scratch.path / "case" / "r3"));
  fs::create_directories(scratch.path / "case" / "r4");
  std::ofstream{scratch.path / "case" / "r4" / "record.json"} << "{";

  std::vector<std::string> skipped;
  const auto records = read_records_below(scratch.path, &skipped);
  REQUIRE(records);
  REQUIRE(records->size() == 3);
  CHECK((*records)[0].second.repeat == 1);
  CHECK((*records)[1].second.repeat == 2);
  CHECK((*records)[2].second.repeat == 10);
  REQUIRE(skipped.size() == 2);
  CHECK_THAT(skipped[0], Catch::Contains("r3/record.json: incomplete"));
  CHECK_THAT(skipped[1], Catch::Contains("r4/record.json: not JSON"));

  CHECK_THAT(read_records_below(scratch.path / "none").error().what, Catch::Contains("is not a folder"));
}

TEST_CASE("timeline: rows survive the CSV; an empty cell is unknown", "[workload][record]") {
  const Scratch scratch;
  Timeline before;
  TimelineRow row;
  row.t_s = -0.1;
  row.nr_dirty_pages = 122070;
  row.device_write_bytes = 123456789012345.0;
  row.cpu_user_pct = 1.0 / 3.0;
  row.untar = 0;
  before.rows.push_back(row);
  before.rows.push_back(TimelineRow{});
  REQUIRE(write_timeline(before, scratch.path / "timeline.csv"));
  const auto after = read_timeline(scratch.path / "timeline.csv");
  REQUIRE(after);
  REQUIRE(after->rows.size() == 2);
  CHECK(after->rows[0].t_s == -0.1);
  CHECK(after->rows[0].nr_dirty_pages == 122070.0);
  CHECK(after->rows[0].device_write_bytes == 123456789012345.0);
  CHECK(after->rows[0].cpu_user_pct == 1.0 / 3.0);
  CHECK(after->rows[0].untar == 0.0);
  CHECK_FALSE(after->rows[0].nr_writeback_pages);
  CHECK_FALSE(after->rows[1].nr_dirty_pages);
  // One column per member: t_s and 25 optional ones.
  const std::string header = timeline_csv_header();
  CHECK(std::count(header.begin(), header.end(), ',') == 25);
  CHECK(static_cast<std::size_t>(std::count(header.begin(), header.end(), ',')) + 1 == members<TimelineRow>());
}

TEST_CASE("timeline: any subset of columns in any order; a row cut off by a kill is left out", "[workload][record]") {
  const Scratch scratch;
  const fs::path csv = scratch.path / "t.csv";
  std::ofstream{csv} << "new_column,untar,t_s\r\n7,1,0.5\r\n8,,0.6\n9,2,0";
  const auto timeline = read_timeline(csv);
  REQUIRE(timeline);
  REQUIRE(timeline->rows.size() == 2);
  CHECK(timeline->rows[0].t_s == 0.5);
  CHECK(timeline->rows[0].untar == 1.0);
  CHECK_FALSE(timeline->rows[1].untar);
}

TEST_CASE("timeline: bad rows are named by line", "[workload][record]") {
  const Scratch scratch;
  const fs::path csv = scratch.path / "t.csv";
  const auto sentence = [&csv](const char* text) {
    std::ofstream{csv} << text;
    const auto result = read_timeline(csv);
    REQUIRE_FALSE(result);
    return result.error().what.substr(csv.string().size());
  };
  CHECK(sentence("") == ": no header line");
  CHECK(sentence("untar\n1\n") == ": the header has no column t_s");
  CHECK(sentence("t_s,untar\n0,1\n0.1\n") == ", line 3: 1 cells, the header has 2");
  CHECK(sentence("t_s,untar\n0,one\n") == ", line 2: \"one\" is not a number");
  CHECK(sentence("t_s,untar\n,1\n") == ", line 2: \"\" is not a number");
}

TEST_CASE("file: a failed write leaves the old file and no debris", "[workload][record]") {
  const Scratch scratch;
  const fs::path target = scratch.path / "x";
  fs::create_directories(target / "occupied");  // a folder that is not empty cannot be renamed over
  CHECK_FALSE(write_file_atomically(target, "text"));
  CHECK(std::distance(fs::directory_iterator{scratch.path}, {}) == 1);
  REQUIRE(write_file_atomically(scratch.path / "y", "one"));
  REQUIRE(write_file_atomically(scratch.path / "y", "two"));
  CHECK(read_file(scratch.path / "y").value() == "two");
  CHECK_THAT(read_file(scratch.path).error().what, Catch::Contains("is a folder, a file was expected"));
}
