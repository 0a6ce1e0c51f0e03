#include "analysis/verdict/advice_map.hpp"

#include <catch2/catch.hpp>

#include "analysis/report/text.hpp"
#include "analysis/verdict/mechanism.hpp"
#include "analysis/verdict/validity.hpp"
#include "workload/record/notes.hpp"

using namespace spillway;
using namespace spillway::analysis;

namespace {

using Keys = std::vector<std::pair<std::string, std::string>>;

/// One untar with this account in a simulated box.
Record simulated(const Keys& keys, double system, double throttled, double device = 0) {
  Record record;
  record.box.kind = "simulated";
  record.box.target = "simulated";
  record.box.cpus = 8;
  record.case_keys = keys;
  UntarResult untar;
  untar.number = 1;
  untar.elapsed_s = system + throttled + device;
  untar.account = {.system_s = system, .throttled_s = throttled, .device_s = device};
  untar.pauses = throttled > 0 ? 40 : 0;
  record.untars.push_back(untar);
  record.untars_end_s = untar.elapsed_s;
  record.durable_s = untar.elapsed_s + 1;
  record.complete = true;
  return record;
}

Expectation claim() {
  Expectation e;
  e.metric = "total.untars_end_s";
  e.op = ExpectOp::down;
  e.of = {{"memory.dirty_bytes", "1GB"}};
  e.versus = CaseSelector{{"memory.dirty_bytes", "100MB"}};
  e.source = "a forum";
  return e;
}

/// Small data: no effect. Large data: true.
std::vector<Record> two_sets() {
  std::vector<Record> records;
  for (const char* rate : {"40MB/s", "160MB/s"}) {
    records.push_back(simulated({{"memory.dirty_bytes", "100MB"}, {"archive.bytes", "20MB"}, {"device.rate", rate}}, 0.1, 0));
    records.push_back(simulated({{"memory.dirty_bytes", "1GB"}, {"archive.bytes", "20MB"}, {"device.rate", rate}}, 0.1, 0));
    records.push_back(simulated({{"memory.dirty_bytes", "100MB"}, {"archive.bytes", "900MB"}, {"device.rate", rate}}, 1, 9));
    records.push_back(simulated({{"memory.dirty_bytes", "1GB"}, {"archive.bytes", "900MB"}, {"device.rate", rate}}, 1, 0.5));
  }
  return records;
}

}  // namespace

TEST_CASE("map: each cell has its word, its numbers and why; the key that decides is named", "[analysis][verdict][advice]") {
  const std::vector<Expectation> claims{claim()};
  const std::vector<Record> records = two_sets();
  const Verdict verdict = judge(claims, records);
  REQUIRE(verdict.judgements.size() == 4);
  CHECK(where_it_flips(verdict.judgements) == "flips with archive.bytes: 20MB no effect, 900MB true");
  const std::vector<NotRun> not_run{{"no such disk", 4}};
  const std::string map = advice_map("Advice: a larger limit", claims, verdict, not_run);
  CHECK(map.find("source: a forum") != std::string::npos);
  CHECK(map.find("true: archive.bytes 900MB, device.rate 40MB/s") != std::string::npos);
  CHECK(map.find("because: a mean untar: throttled 9.00 -> 0.50 s") != std::string::npos);
  CHECK(map.find("nobody is ever throttled") != std::string::npos);
  CHECK(map.find("not decidable here, 4 cases not run: no such disk") != std::string::npos);
  CHECK(widest_line(map) <= 72);
  MapCount count;
  for (const Judgement& j : verdict.judgements) count.add(j);
  CHECK(count.words() == "2 true, 0 false, 2 no effect, 0 not decidable here");
}

TEST_CASE("map: where no single key decides, those that do are named; where all agree, nothing flips", "[analysis][verdict][advice]") {
  std::vector<Record> records = two_sets();
  records[2].untars_end_s = 1;  // at 40 MB/s the large set is now worse with the advice
  const Verdict verdict = judge(std::vector{claim()}, records);
  CHECK(where_it_flips(verdict.judgements) == "flips with archive.bytes and device.rate together");
  CHECK(where_it_flips(std::span(verdict.judgements).first(1)).empty());
}

TEST_CASE("map: a file is advice only if every expectation compares cases", "[analysis][verdict][advice]") {
  Expectation value = claim();
  value.versus.reset();
  value.op = ExpectOp::value;
  CHECK(is_advice(std::vector{claim()}));
  CHECK_FALSE(is_advice(std::vector{claim(), value}));
  CHECK_FALSE(is_advice({}));
}

TEST_CASE("validity: a setting that the box notes as without effect is refused a verdict, on either side", "[analysis][verdict][validity]") {
  const auto with_options = [](const char* options) { return simulated({{"filesystem.mount_options", options}}, 1, 0); };
  std::vector<Record> records{with_options("[]"), with_options("[\"logbsize=256k\"]")};
  records[1].notes = {no_effect_note("logbsize=256k")};
  Expectation e = claim();
  e.of = {{"filesystem.mount_options", "[\"logbsize=256k\"]"}};
  e.versus = CaseSelector{{"filesystem.mount_options", "[]"}};
  const Verdict forward = judge(std::vector{e}, records);
  REQUIRE(forward.judgements.size() == 1);
  CHECK(forward.judgements[0].outcome == Outcome::refused);
  CHECK(forward.judgements[0].words.find("has no effect in the simulated box") != std::string::npos);
  CHECK(map_word(forward.judgements[0]) == "not decidable here");
  std::swap(e.of, *e.versus);
  CHECK(judge(std::vector{e}, records).judgements.at(0).outcome == Outcome::refused);
  records[1].notes.clear();
  CHECK(judge(std::vector{e}, records).judgements.at(0).outcome != Outcome::refused);
}

TEST_CASE("validity: layout needs a device with seeks, in a simulated box too; the number of extents does not", "[analysis][verdict][validity]") {
  const std::vector<std::pair<std::string, std::string>> compared{{"filesystem.mount_options", "[\"swalloc\"] []"}};
  Expectation e = claim();
  Record record = simulated({}, 1, 0);
  REQUIRE(why_not_valid(topics_of(e, compared), record));
  CHECK(why_not_valid(topics_of(e, compared), record)->find("no seeks") != std::string::npos);
  record.experiment["device"]["model"] = "raid6";
  CHECK_FALSE(why_not_valid(topics_of(e, compared), record));
  record.experiment["device"]["model"] = "limit";
  for (const char* counted : {"files.extents_mean", "device.ios"}) {
    e.metric = counted;
    CHECK_FALSE(why_not_valid(topics_of(e, compared), record));
  }
}

TEST_CASE("mechanism: parts that moved are named, largest first, and counts that moved with them", "[analysis][verdict]") {
  Record before = simulated({}, 1, 4);
  Record after = simulated({}, 1.01, 0, 3);
  before.device.write_ios = 400;
  after.device.write_ios = 2400;
  const CaseRecords a{.keys = {}, .box = "simulated", .simulated = true, .repeats = {&before}};
  const CaseRecords b{.keys = {}, .box = "simulated", .simulated = true, .repeats = {&after}};
  CHECK(mechanism_words(a, b) == "a mean untar: throttled 4.00 -> 0.00 s, device 0.00 -> 3.00 s; pauses 40 -> 0, device writes 400 -> 2400");
  CHECK(mechanism_words(CaseRecords{}, b).empty());
}
