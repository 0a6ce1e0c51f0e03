#include "workload/experiment/parse.hpp"
#include "workload/record/record_io.hpp"
#include "workload/simulated/box.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <unistd.h>

#include "tests/support/temp_dir.hpp"

namespace fs = std::filesystem;
using namespace spillway;

namespace {

struct Scratch : test::TempDir {
  Scratch() : TempDir("simulated") {}
};

// quick.toml's question at half the size.
const std::string kHalf = R"(
[archive]
files = 1200
bytes = "150MB"
[replay]
untars = 8
[memory]
dirty_bytes = "500MB"
dirty_background_bytes = "250MB"
[device]
rate = "40MiB/s"
[box]
profile = "reference-vm"
)";

Record run(const std::string& text, const RepeatContext& context = {}) {
  const auto file = parse_experiment(text, "half.toml");
  if (!file) FAIL(file.error().what);
  const auto box = simulated::make_simulated_box();
  const auto record = box->run(file->cases.at(0), context);
  if (!record) FAIL(record.error().what);
  return *record;
}

}  // namespace

TEST_CASE("simulated box: eight untars collapse as on the real kernel", "[workload][simulated]") {
  const Scratch scratch;
  const Record r = run(kHalf, {.repeat = 2, .seed = 7, .dir = scratch.path, .live = {}});
  REQUIRE(r.untars.size() == 8);
  CHECK(r.complete);
  CHECK(r.repeat == 2);
  CHECK(r.seed == 7);
  CHECK(r.box.kind == "simulated");
  CHECK(r.box.kernel == "6.18");
  CHECK(r.untars[0].cpu_pct() >= 90);
  CHECK(r.untars[7].cpu_pct() <= 30);
  CHECK(r.untars[7].elapsed_s >= 4 * r.untars[0].elapsed_s);
  // In the steady state an untar takes its bytes at the device's rate, and so does the whole.
  CHECK(r.untars[6].elapsed_s == Approx(150e6 / (40 * 1048576.0)).epsilon(0.1));
  CHECK(r.durable_s == Approx(8 * 150e6 / (40 * 1048576.0)).epsilon(0.1));
  CHECK(r.untars[0].start_s == 0);
  CHECK(r.untars_end_s == Approx(r.untars[7].start_s + r.untars[7].elapsed_s).margin(1e-6));
  CHECK(r.device.write_bytes >= 8 * 150'000'000LL);
  REQUIRE(r.phases.size() == 1);
  CHECK(r.phases[0].name == "sync");

  // The parts of the account add up to the elapsed time.
  for (const UntarResult& u : r.untars) {
    CHECK(u.account.total_s() == Approx(u.elapsed_s).epsilon(1e-6));
    CHECK(u.bytes == 150'000'000);
  }
  CHECK(r.untars[7].account.throttled_s > 0.8 * r.untars[7].elapsed_s);

  // The record and the timeline are ones that the readers take.
  REQUIRE(write_record(r, scratch.path));
  CHECK(read_record(scratch.path));
  const auto timeline = read_timeline(scratch.path / "timeline.csv");
  REQUIRE(timeline);
  CHECK(timeline->rows.size() > 100);
  double most = 0;
  for (const auto& row : timeline->rows) most = std::max(most, row.nr_dirty_pages.value_or(0) + row.nr_writeback_pages.value_or(0));
  CHECK(most * 4096 > 375e6);   // beyond freerun
  CHECK(most * 4096 < 510e6);   // never far beyond the limit
}

TEST_CASE("simulated box: equal case and seed give the same record, byte for byte", "[workload][simulated]") {
  CHECK(to_json(run(kHalf)).dump() == to_json(run(kHalf)).dump());
}

TEST_CASE("simulated box: an unknown state before the run is a range, not a figure", "[workload][simulated]") {
  const Record r = run(kHalf + "[target]\ncold = false\n");
  REQUIRE_FALSE(r.notes.empty());
  CHECK_THAT(r.notes.back(), Catch::StartsWith("the state before the run is not known (completion share): over 3 other states"));
  CHECK(r.counters.at("range.untar_3.elapsed_s.high") > r.counters.at("range.untar_3.elapsed_s.low"));
  for (const UntarResult& u : r.untars) {
    const std::string key = "range.untar_" + std::to_string(u.number) + ".elapsed_s.";
    CHECK(r.counters.at(key + "low") <= u.elapsed_s);
    CHECK(r.counters.at(key + "high") >= u.elapsed_s);
  }
  // Of a new device everything is known but what others completed just before.
  const Record fresh = run(kHalf);
  REQUIRE_FALSE(fresh.notes.empty());
  CHECK_THAT(fresh.notes.back(), Catch::StartsWith("the state before the run is not known (completions of other devices): over 4 other states"));
  CHECK(fresh.counters.at("range.untar_4.elapsed_s.high") > fresh.counters.at("range.untar_4.elapsed_s.low"));
}

TEST_CASE("simulated box: plan says that nothing is changed; check lets a plain case pass", "[workload][simulated]") {
  const auto file = parse_experiment(kHalf, "half.toml").value();
  const auto box = simulated::make_simulated_box();
  CHECK(box->name() == "simulated");
  CHECK(box->check(file.cases[0]));
  const auto plan = box->plan(file.cases[0]);
  REQUIRE(plan);
  CHECK_THAT(plan->at(0), Catch::Contains("8 untars of 1200 files, 150MB, on a limit of 40MiB/s") && Catch::Contains("nothing on this machine is changed"));
}

TEST_CASE("simulated box: repeats after the first begin in a drawn state, the same for equal seeds", "[workload][simulated]") {
  const auto repeat = [](int number, std::uint64_t seed) { return run(kHalf, {.repeat = number, .seed = seed, .dir = {}, .live = {}}); };
  const Record first = repeat(1, 1), second = repeat(2, 77), again = repeat(2, 77), third = repeat(3, 78);
  CHECK(second.untars_end_s == again.untars_end_s);
  CHECK(second.untars_end_s != third.untars_end_s);
  CHECK(first.state_before.completion_phase_s != second.state_before.completion_phase_s);
  const auto drawn = [](const Record& r) {
    return std::any_of(r.notes.begin(), r.notes.end(), [](const std::string& note) { return note.find("drawn from what is not known") != std::string::npos; });
  };
  CHECK(drawn(second));
  CHECK_FALSE(drawn(first));
  // What was drawn is known for that repeat: it has no range of its own.
  CHECK(second.counters.count("range.durable_s.high") == 0);
}

TEST_CASE("simulated box: jobs are in the record, group by group, and their accounts add up", "[workload][simulated]") {
  const Record r = run(R"(
[[job]]
name = "writers"
rw = "write"
size = "60MB"
numjobs = 3
[[job]]
name = "reader"
rw = "read"
file = "old"
size = "100MB"
start = "100ms"
[[job]]
name = "again"
rw = "read"
file = "old"
size = "100MB"
after = "reader"
[memory]
dirty_bytes = "100MB"
dirty_background_bytes = "50MB"
[device]
model = "ssd"
rate = "40MB/s"
read_rate = "100MB/s"
[box]
profile = "reference-vm"
)");
  REQUIRE(r.jobs.size() == 3);
  CHECK(r.untars.empty());
  CHECK(r.jobs[0].name == "writers");
  CHECK(r.jobs[0].write_bytes == 3 * 14649 * 4096);  // 60 MB are 14,648.4 pages
  CHECK(r.jobs[0].operations == 3 * 58);              // 1 MiB each
  CHECK(r.jobs[0].account.throttled_s > 0);
  CHECK(r.jobs[1].start_s == Approx(0.1).margin(0.001));
  CHECK(r.jobs[1].read_bytes == 24415 * 4096);
  CHECK(r.jobs[1].elapsed_s >= 1.0);
  CHECK(r.jobs[2].start_s >= r.jobs[1].start_s + r.jobs[1].elapsed_s);
  CHECK(r.jobs[2].elapsed_s < 0.2);
  for (const JobResult& j : r.jobs) {
    if (j.name != "writers") CHECK(j.account.total_s() == Approx(j.elapsed_s).epsilon(1e-6));
    CHECK(j.mb_per_s == Approx(static_cast<double>(j.read_bytes + j.write_bytes) * 1e-6 / j.elapsed_s));
    CHECK(j.lat_ms_max >= j.lat_ms_p99);
  }
  CHECK(r.counters.at("job.again.read_from_cache_bytes") == 24415 * 4096);
  CHECK(r.counters.at("job.reader.read_from_device_bytes") == 24415 * 4096);
  CHECK(r.durable_s >= r.jobs[0].elapsed_s);
}
