/// advise, and what must come full circle in the simulated box: the check that advise writes, the experiment that a mail holds.

#include "analysis/account/account.hpp"
#include "analysis/account/pause_trace.hpp"
#include "analysis/report/effective_toml.hpp"
#include "analysis/report/mail.hpp"
#include "analysis/report/text.hpp"
#include "cli/advise/check_experiment.hpp"
#include "cli/advise/search.hpp"
#include "tests/cli/temporary_folder.hpp"
#include "workload/record/record_io.hpp"

#include <catch2/catch.hpp>

using namespace spillway;
using namespace spillway::cli;
using spillway::test::TemporaryFolder;

namespace {

namespace fs = std::filesystem;

/// Four untars of 30 MB against a limit of 40 MB and a device of 40 MB/s: throttled from the second one on.
constexpr const char* kTight = R"(
title = "Four small untars"
[archive]
files = 250
bytes = "30MB"
[replay]
untars = 4
[memory]
ram = "2GiB"
dirty_bytes = "40MB"
dirty_background_bytes = "20MB"
[device]
rate = "40MB/s"
)";

fs::path write(const fs::path& folder, const std::string& text) {
  const fs::path file = folder / "tight.toml";
  std::ofstream(file) << text;
  return file;
}

SearchQuestion question(const fs::path& file, const std::string& aim = "total.untars_end_s") {
  SearchQuestion q{.file = file.string(), .set = {}, .aims = {aim}, .best = 3, .box = {}};
  q.box.name = "simulated";
  q.box.threads = 1;
  return q;
}

Record simulate(const Case& item, const fs::path& folder) {
  auto boxes = make_boxes(question("").box);
  REQUIRE(boxes);
  const auto record = boxes->front()->run(item, {.repeat = 1, .seed = 1, .dir = folder, .live = {}});
  if (!record) FAIL(record.error().what);
  return *record;
}

}  // namespace

TEST_CASE("advise: a limit that holds all the data is found, with gain, range and a check that says the same", "[cli][advise]") {
  const TemporaryFolder folder;
  const auto result = search_settings(question(write(folder.path(), kTight)));
  if (!result) FAIL(result.error().what);
  REQUIRE_FALSE(result->advice.empty());
  const Advice& best = result->advice.front();
  // By hand: 120 MB at 40 MB/s take about 3 s less what the cache takes; without throttling they take the CPU's time.
  CHECK(best.ratio < 0.5);
  CHECK(best.low <= best.ratio);
  CHECK(best.high >= best.ratio);
  CHECK(best.variations.size() >= 4);
  CHECK(std::ranges::any_of(best.settings, [](const auto& one) { return one.first == "memory.dirty_bytes"; }));

  const auto check = check_experiment(*result, best, "tight-check", "total.untars_end_s");
  REQUIRE(check);
  const auto file = parse_experiment(check->text, folder.path() / "tight-check.toml");
  if (!file) FAIL(file.error().what);
  CHECK(file->base.name == "tight-check");
  CHECK(file->base.order == "blocks");
  CHECK(file->base.expectations.size() == 2);
  REQUIRE(file->cases.size() == 2);
  // The check's two cases are the base and the advice: they come out as predicted.
  const Record base = simulate(file->cases[0], folder.path());
  const Record advised = simulate(file->cases[1], folder.path());
  CHECK(base.untars_end_s == Approx(result->base.untars_end_s));
  CHECK(advised.untars_end_s == Approx(best.record.untars_end_s));
}

TEST_CASE("advise: a box where nothing is throttled has nothing to gain", "[cli][advise]") {
  const TemporaryFolder folder;
  std::string roomy = kTight;
  roomy.replace(roomy.find("40MB\"\ndirty"), 4, "1GB");
  roomy.replace(roomy.find("\"20MB"), 5, "\"500MB");
  SearchQuestion q = question(write(folder.path(), roomy));
  q.set = {"replay.engine=posix", "replay.writers=8"};
  const auto result = search_settings(q);
  if (!result) FAIL(result.error().what);
  for (const Advice& advice : result->advice) {
    // Whatever gains here is not a limit of dirty memory.
    CHECK(std::ranges::none_of(advice.settings, [](const auto& one) { return one.first == "memory.dirty_bytes"; }));
  }
}

TEST_CASE("advise: several cases, a file without untars and a wrong metric get a sentence", "[cli][advise]") {
  const TemporaryFolder folder;
  const auto swept = search_settings(question(write(folder.path(), std::string{kTight} + "[[sweep]]\nkey = \"replay.at_once\"\nvalues = [1, 2]\n")));
  REQUIRE_FALSE(swept);
  CHECK(swept.error().what.find("has 2 cases") != std::string::npos);
  CHECK(swept.error().what.find("--set") != std::string::npos);
  CHECK_FALSE(search_settings(question(folder.path() / "none.toml")));
}

TEST_CASE("advise: settings without effect in the box are named as not judged, never as useless", "[cli][advise]") {
  const TemporaryFolder folder;
  const auto result = search_settings(question(write(folder.path(), kTight)));
  REQUIRE(result);
  CHECK(std::ranges::any_of(result->not_judged, [](const std::string& sentence) { return sentence.find("noatime") != std::string::npos; }));
}

TEST_CASE("report: the experiment cut out of the mail runs, and gives the same record", "[cli][report]") {
  const TemporaryFolder folder;
  const auto file = load_experiment(write(folder.path(), kTight));
  REQUIRE(file);
  const std::vector<Record> records{simulate(file->cases.front(), folder.path())};
  const auto timeline = read_timeline(folder.path() / "timeline.csv");
  REQUIRE(timeline);
  for (const std::string& source : {file->source_text, analysis::effective_toml(records.front().experiment)}) {
    const auto mail = analysis::report_mail({.records = records, .timeline = &*timeline, .experiment_source = source, .command = "spillway simulate tight.toml", .verdict = {}});
    REQUIRE(mail);
    CHECK(analysis::widest_line(*mail) <= 72);
    const auto cut = analysis::cut_experiment(*mail);
    REQUIRE(cut);
    const auto again = parse_experiment(*cut, folder.path() / "again.toml");
    if (!again) FAIL(again.error().what);
    REQUIRE(again->cases.size() == 1);
    const Record repeated = simulate(again->cases.front(), folder.path());
    CHECK(repeated.untars_end_s == records.front().untars_end_s);
    CHECK(repeated.durable_s == records.front().durable_s);
    REQUIRE(repeated.untars.size() == records.front().untars.size());
    CHECK(repeated.untars.back().elapsed_s == records.front().untars.back().elapsed_s);
  }
}

TEST_CASE("account: in quick.toml the parts add up to the elapsed time within 2 %, per untar and per second", "[cli][account]") {
  const TemporaryFolder folder;
  const auto file = load_experiment(fs::path{SPILLWAY_SOURCE_DIR} / "experiments/quick.toml");
  REQUIRE(file);
  const Record record = simulate(file->cases.front(), folder.path());
  for (const auto& bar : analysis::account_per_untar(record)) CHECK(std::abs(bar.residue_pct) < 2);
  const auto pauses = analysis::read_pauses(test::content_of(folder.path() / "bdp.csv"), record);
  REQUIRE(pauses.size() > 10);
  const auto bars = analysis::account_per_step(record, 1, pauses);
  REQUIRE(bars.size() >= 10);
  double throttled = 0;
  for (const auto& bar : bars) {
    CAPTURE(bar.from_s);
    CHECK(std::abs(bar.residue_pct) < 2);
    throttled += bar.account.throttled_s;
  }
  CHECK(throttled == Approx(analysis::account_of_all(record)->account.throttled_s).epsilon(0.02));
  // What is known of the run: nobody is throttled while all fits below freerun, the last second is nearly all throttling.
  CHECK(analysis::account_per_step(record, 0.2, pauses).front().account.throttled_s == 0);
  CHECK(bars[bars.size() - 2].account.throttled_s > 0.7);
  // Booked and dated agree: a sleep lasts what was asked for, and up to a tick (HZ 250) more.
  double asked = 0;
  int sleeps = 0;
  for (const auto& pause : pauses) {
    asked += pause.pause_s;
    if (pause.pause_s > 0) ++sleeps;
  }
  const double slept = analysis::account_of_all(record)->account.throttled_s;
  CHECK(asked <= slept);
  CHECK(slept <= asked + sleeps * 0.0041);
}
