#include "analysis/verdict/judge.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <iostream>

#include "tests/analysis/sample_record.hpp"
#include "tests/analysis/statistics/trials.hpp"

using namespace spillway;
using namespace spillway::analysis;
using namespace spillway::analysis::test;

namespace {

using Keys = std::vector<std::pair<std::string, std::string>>;

/// One untar of `elapsed` seconds in a box of this kind and target.
Record record_of(const std::string& kind, const std::string& target, const Keys& keys, int repeat, double elapsed) {
  Record record;
  record.box.kind = kind;
  record.box.target = target;
  record.box.cpus = 2;
  record.case_keys = keys;
  record.repeat = repeat;
  UntarResult untar;
  untar.number = 1;
  untar.elapsed_s = elapsed;
  untar.bytes = 100'000'000;
  untar.account.throttled_s = elapsed;
  record.untars.push_back(untar);
  record.untars_end_s = elapsed;
  record.durable_s = elapsed;
  record.complete = true;
  return record;
}

/// Repeats of two cases, at_once = 1 and 4.
std::vector<Record> two_cases(const std::string& kind, std::vector<double> one, std::vector<double> four) {
  std::vector<Record> records;
  for (std::size_t i = 0; i < one.size(); ++i) {
    records.push_back(record_of(kind, kind == "real" ? "loop" : "", {{"replay.at_once", "1"}}, static_cast<int>(i) + 1, one[i]));
  }
  for (std::size_t i = 0; i < four.size(); ++i) {
    records.push_back(record_of(kind, kind == "real" ? "loop" : "", {{"replay.at_once", "4"}}, static_cast<int>(i) + 1, four[i]));
  }
  return records;
}

Expectation claim(ExpectOp op) {
  Expectation e;
  e.metric = "untar[1].elapsed_s";
  e.op = op;
  e.of = {{"replay.at_once", "4"}};
  e.versus = CaseSelector{{"replay.at_once", "1"}};
  return e;
}

Judgement only(const std::vector<Expectation>& expectations, const std::vector<Record>& records) {
  const Verdict verdict = judge(expectations, records);
  REQUIRE(verdict.judgements.size() == 1);
  return verdict.judgements.front();
}

const std::vector<double> kTen{10.0, 10.1, 9.9, 10.05, 9.95};
const std::vector<double> kTwelve{12.0, 12.1, 11.9, 12.05, 11.95};

}  // namespace

TEST_CASE("verdict: a simulated box predicts and a real one measures, with the interval", "[analysis][verdict]") {
  const Judgement predicted = only({claim(ExpectOp::up)}, two_cases("simulated", kTen, kTwelve));
  CHECK(predicted.outcome == Outcome::met);
  CHECK(predicted.words.starts_with("predicted up 20 % ("));
  CHECK(predicted.words.find(" to ") != std::string::npos);
  const Judgement measured = only({claim(ExpectOp::up)}, two_cases("real", kTen, kTwelve));
  CHECK(measured.outcome == Outcome::met);
  CHECK(measured.words.starts_with("measured up 20 % ("));
  CHECK(measured.box == "real:loop");
  CHECK(map_word(measured) == "true");
}

TEST_CASE("verdict: a claim in the wrong direction is not met, no effect is said as such", "[analysis][verdict]") {
  const Judgement wrong = only({claim(ExpectOp::down)}, two_cases("real", kTen, kTwelve));
  CHECK(wrong.outcome == Outcome::not_met);
  CHECK(map_word(wrong) == "false");
  const Judgement nothing = only({claim(ExpectOp::up)}, two_cases("real", kTen, {10.02, 10.08, 9.92, 10.0, 10.0}));
  CHECK(nothing.outcome == Outcome::not_met);
  CHECK(nothing.words == "measured unchanged within 2 %");
  CHECK(map_word(nothing) == "no effect");
}

TEST_CASE("verdict: a prediction that moves by less than its floor moves nothing, however surely", "[analysis][verdict]") {
  const std::vector<double> a{10.0, 11.0, 12.0, 13.0}, b{9.97, 10.967, 11.964, 12.961};  // 0.3 % in every repeat
  auto records = two_cases("simulated", a, b);
  for (Record& record : records) record.experiment["order"] = "blocks";
  const Judgement small = only({claim(ExpectOp::down)}, records);
  CHECK(small.direction == Direction::unchanged);
  CHECK(map_word(small) == "no effect");
  for (Record& record : records) record.box.kind = "real";
  CHECK(only({claim(ExpectOp::down)}, records).direction == Direction::down);  // a measurement may be that sure
}

TEST_CASE("verdict: what is gone in every repeat is down, however much it varied before", "[analysis][verdict]") {
  const Judgement gone = only({claim(ExpectOp::down)}, two_cases("real", {1.0, 2.0, 3.0}, {0, 0, 0}));
  CHECK(gone.outcome == Outcome::met);
  CHECK(gone.words == "measured down 100 %");
  // In one repeat something is left: then it is a matter of the interval, which zeros do not have.
  CHECK(only({claim(ExpectOp::down)}, two_cases("real", {1.0, 2.0, 3.0}, {0, 0, 0.1})).outcome != Outcome::met);
}

TEST_CASE("verdict: too wide an interval is undecided and says how many more repeats", "[analysis][verdict]") {
  const Judgement open = only({claim(ExpectOp::up)}, two_cases("real", {10, 11, 9, 10.5, 9.5}, {10.8, 11.9, 9.6, 11.3, 10.2}));
  CHECK(open.outcome == Outcome::undecided);
  CHECK(open.words.starts_with("undecided: interval too wide (measured up "));
  REQUIRE(open.more_repeats);
  CHECK(open.words.find(std::to_string(*open.more_repeats) + " more repeats") != std::string::npos);
  CHECK(map_word(open) == "not decidable here");
}

TEST_CASE("verdict: one measured repeat decides nothing, one prediction does", "[analysis][verdict]") {
  CHECK(only({claim(ExpectOp::up)}, two_cases("real", {10}, {12})).outcome == Outcome::undecided);
  const Judgement point = only({claim(ExpectOp::up)}, two_cases("simulated", {10}, {12}));
  CHECK(point.outcome == Outcome::met);
  CHECK(point.words == "predicted up 20 %");
  CHECK_FALSE(point.interval);
  // A deterministic model is not good to half a percent.
  const Judgement tiny = only({claim(ExpectOp::up)}, two_cases("simulated", {10}, {10.05}));
  CHECK(tiny.outcome == Outcome::not_met);
  CHECK(tiny.words == "predicted unchanged within 1 %");
}

TEST_CASE("verdict: unchanged is met by equivalence only", "[analysis][verdict]") {
  Expectation e = claim(ExpectOp::unchanged);
  e.margin = 0.05;
  const Judgement same = only({e}, two_cases("real", kTen, {10.1, 10.2, 10.0, 10.15, 10.05}));
  CHECK(same.outcome == Outcome::met);
  CHECK(same.words == "measured unchanged within 5 %");
  CHECK(only({e}, two_cases("real", kTen, kTwelve)).outcome == Outcome::not_met);
  // Nothing significant, but nothing shown either.
  const Judgement noisy = only({e}, two_cases("real", {10, 11, 9, 10.5, 9.5}, {10, 11.1, 9.1, 10.4, 9.4}));
  CHECK(noisy.outcome == Outcome::undecided);
  // Significantly 3 % up is still within 5 %.
  CHECK(only({e}, two_cases("real", {10, 10.01, 9.99, 10, 10}, {10.3, 10.31, 10.29, 10.3, 10.3})).outcome == Outcome::met);
}

TEST_CASE("verdict: point values with tolerance, bounds and ratios", "[analysis][verdict]") {
  Expectation value;
  value.metric = "untar[1].elapsed_s";
  value.value = 11.0;
  value.tolerance = 0.1;
  value.of = {{"replay.at_once", "1"}};
  CHECK(only({value}, two_cases("real", kTen, kTwelve)).outcome == Outcome::met);
  value.tolerance = 0.08;
  CHECK(only({value}, two_cases("real", kTen, kTwelve)).outcome == Outcome::not_met);
  value.tolerance_abs = 1.5;
  CHECK(only({value}, two_cases("real", kTen, kTwelve)).outcome == Outcome::met);
  Expectation most = value;
  most.op = ExpectOp::at_most;
  most.value = 10.5;
  CHECK(only({most}, two_cases("real", kTen, kTwelve)).outcome == Outcome::met);
  most.value = 9.5;
  CHECK(only({most}, two_cases("real", kTen, kTwelve)).outcome == Outcome::not_met);
  most.value = 10.02;  // inside the interval of the mean
  const Judgement inside = only({most}, two_cases("real", kTen, kTwelve));
  CHECK(inside.outcome == Outcome::undecided);
  CHECK(inside.words.find("more repeats") != std::string::npos);
  Expectation ratio = claim(ExpectOp::at_least);
  ratio.value = 1.15;
  CHECK(only({ratio}, two_cases("simulated", {10}, {12})).outcome == Outcome::met);
  ratio.value = 1.25;
  CHECK(only({ratio}, two_cases("simulated", {10}, {12})).outcome == Outcome::not_met);
}

TEST_CASE("verdict: ordered cases of a sweep, in each group of the other keys", "[analysis][verdict]") {
  std::vector<Record> records;
  for (const std::string disk : {"hdd", "ssd"}) {
    for (const auto& [limit, elapsed] : std::vector<std::pair<std::string, double>>{{"250MB", 30}, {"500MB", 20}, {"1GB", disk == "ssd" ? 25.0 : 10.0}}) {
      records.push_back(record_of("simulated", "", {{"device.model", disk}, {"memory.dirty_bytes", limit}}, 1, elapsed));
    }
  }
  Expectation e;
  e.metric = "untar[1].elapsed_s";
  e.op = ExpectOp::ordered;
  e.order_key = "memory.dirty_bytes";
  e.order = {"1000MB", "500MB", "250MB"};
  const Verdict verdict = judge(std::vector{e}, records);
  REQUIRE(verdict.judgements.size() == 2);
  CHECK(verdict.judgements[0].outcome == Outcome::met);
  CHECK(verdict.judgements[1].outcome == Outcome::not_met);
  CHECK(verdict.judgements[1].words.find("1000MB to 500MB: predicted down 20 %") != std::string::npos);
  e.order = {"1GB", "2GB"};
  CHECK(judge(std::vector{e}, records).judgements.front().outcome == Outcome::missing);
}

TEST_CASE("verdict: versus keeps the other swept keys, and without of every case is held against the base", "[analysis][verdict]") {
  std::vector<Record> records;
  for (const std::string disk : {"hdd", "ssd"}) {
    for (const int writers : {1, 2, 4}) {
      const double elapsed = disk == "hdd" ? 10.0 * writers : 40.0 / writers;
      records.push_back(record_of("simulated", "", {{"device.model", disk}, {"replay.writers", std::to_string(writers)}}, 1, elapsed));
    }
  }
  Expectation e;
  e.metric = "untar[1].elapsed_s";
  e.op = ExpectOp::up;
  e.versus = CaseSelector{{"replay.writers", "1"}};
  const Verdict verdict = judge(std::vector{e}, records);
  REQUIRE(verdict.judgements.size() == 4);
  CHECK(verdict.judgements[0].words == "predicted up 100 %");
  CHECK(verdict.judgements[1].words == "predicted up 4.0-fold");
  CHECK(verdict.judgements[2].words == "predicted down 50 %");
  CHECK(verdict.judgements[3].words == "predicted down 75 %");
}

TEST_CASE("verdict: the knee, and none", "[analysis][verdict]") {
  Expectation e;
  e.metric = "knee.untar";
  e.op = ExpectOp::knee_at;
  e.value = 5;
  const Judgement found = only({e}, {founding_record()});
  CHECK(found.outcome == Outcome::met);
  CHECK(found.words.starts_with("measured a knee at untar 5 (5 to 6)"));
  e.value = 6;  // inside the interval
  CHECK(only({e}, {founding_record()}).outcome == Outcome::undecided);
  e.value = 3;
  CHECK(only({e}, {founding_record()}).outcome == Outcome::not_met);
  e.value = std::nullopt;
  CHECK(only({e}, {founding_record()}).outcome == Outcome::not_met);
  Record flat = founding_record();
  flat.untars.resize(4);
  CHECK(only({e}, {flat}).outcome == Outcome::met);
}

TEST_CASE("verdict: the bottleneck by name", "[analysis][verdict]") {
  Expectation e;
  e.metric = "bottleneck";
  e.op = ExpectOp::bottleneck;
  e.text = "throttled";
  CHECK(only({e}, {founding_record()}).outcome == Outcome::met);
  e.text = "log";
  CHECK(only({e}, {founding_record()}).outcome == Outcome::not_met);
}

TEST_CASE("verdict: what is missing is missing, not failed", "[analysis][verdict]") {
  Expectation e = claim(ExpectOp::up);
  CHECK(only({e}, {}).outcome == Outcome::missing);
  e.box = ExpectBox::real;
  const Judgement none = only({e}, two_cases("simulated", {10}, {12}));
  CHECK(none.outcome == Outcome::missing);
  CHECK(none.words.find("no real record") != std::string::npos);
  Expectation far;
  far.metric = "untar[9].elapsed_s";
  far.value = 1;
  far.of = {{"replay.at_once", "1"}};
  CHECK(only({far}, two_cases("simulated", {10}, {12})).outcome == Outcome::missing);
  std::vector<Record> unfinished = two_cases("simulated", {10}, {12});
  unfinished[1].complete = false;
  CHECK(only({claim(ExpectOp::up)}, unfinished).outcome == Outcome::missing);
}

TEST_CASE("verdict: where a verdict means nothing it is refused with the reason", "[analysis][verdict]") {
  const auto with = [](const std::string& target, const std::string& key, const std::string& a, const std::string& b) {
    std::vector<Record> records;
    for (int repeat = 1; repeat <= 5; ++repeat) {
      records.push_back(record_of("real", target, {{key, a}}, repeat, 10 + 0.01 * repeat));
      records.push_back(record_of("real", target, {{key, b}}, repeat, 12 + 0.01 * repeat));
    }
    return records;
  };
  const auto judged = [&](const std::string& target, const std::string& key, const std::string& a, const std::string& b) {
    Expectation e;
    e.metric = "untar[1].elapsed_s";
    e.op = ExpectOp::up;
    e.of = {{key, b}};
    e.versus = CaseSelector{{key, a}};
    return only({e}, with(target, key, a, b));
  };
  const Judgement log = judged("loop", "filesystem.mount_options", R"(["logbsize=32k"])", R"(["logbsize=256k"])");
  CHECK(log.outcome == Outcome::refused);
  CHECK(log.words.find("unthrottled") != std::string::npos);
  CHECK(judged("loop", "filesystem.log_size", "64MB", "512MB").outcome == Outcome::refused);
  CHECK(judged("loop", "filesystem.su", "64KiB", "128KiB").outcome == Outcome::refused);
  CHECK(judged("loop", "replay.writers", "1", "4").outcome == Outcome::refused);  // two cores and locks
  CHECK(judged("mount", "device.rate", "20MB/s", "40MB/s").outcome == Outcome::refused);
  CHECK(judged("loop", "device.rate", "20MB/s", "40MB/s").outcome == Outcome::met);
  CHECK(judged("loop", "memory.dirty_bytes", "1GB", "2GB").outcome == Outcome::met);
  CHECK(judged("modeled", "filesystem.su", "64KiB", "128KiB").outcome == Outcome::met);
}

TEST_CASE("verdict: disturbed repeats are left out while two good ones remain", "[analysis][verdict]") {
  std::vector<Record> records = two_cases("real", kTen, kTwelve);
  records[2].untars[0].elapsed_s = 40;
  records[2].disturbances.push_back("another program wrote 97 MB/s");
  const Judgement good = only({claim(ExpectOp::up)}, records);
  CHECK(good.outcome == Outcome::met);
  REQUIRE(good.notes.size() == 1);
  CHECK(good.notes[0].find("1 disturbed repeat") != std::string::npos);
  records[2].disturbances.clear();
  CHECK(only({claim(ExpectOp::up)}, records).outcome == Outcome::undecided);
}

TEST_CASE("verdict: repeats in blocks are paired", "[analysis][verdict]") {
  std::vector<Record> records = two_cases("real", {10, 11, 12.1, 13.3, 14.6}, {10.5, 11.6, 12.7, 14.0, 15.3});
  CHECK(only({claim(ExpectOp::up)}, records).outcome == Outcome::undecided);
  for (Record& record : records) record.experiment["order"] = "blocks";
  const Judgement paired = only({claim(ExpectOp::up)}, records);
  CHECK(paired.outcome == Outcome::met);
  CHECK(paired.interval->contains(1.05));
}

TEST_CASE("verdict: boxes that decide differently are named", "[analysis][verdict]") {
  std::vector<Record> records = two_cases("simulated", kTen, kTwelve);
  const std::vector<Record> real = two_cases("real", kTen, {10.02, 10.08, 9.92, 10.0, 10.0});
  records.insert(records.end(), real.begin(), real.end());
  const Verdict verdict = judge(std::vector{claim(ExpectOp::up)}, records);
  REQUIRE(verdict.judgements.size() == 2);
  REQUIRE(verdict.disagreements.size() == 1);
  CHECK(verdict.disagreements[0].starts_with("boxes disagree: "));
  CHECK(verdict.disagreements[0].find("simulated predicted up 20 %") != std::string::npos);
  CHECK(verdict.disagreements[0].find("real:loop measured unchanged within 2 %") != std::string::npos);
}

TEST_CASE("verdict: many measured claims about equals together hold a false one at most 5 times of 100", "[analysis][verdict]") {
  const std::uint64_t seed = 2000;
  const double wrong = share_of(400, seed, [](Random& random) {
    std::vector<Record> records;
    std::vector<Expectation> claims;
    for (int k = 0; k < 10; ++k) {
      for (const std::string side : {"a", "b"}) {
        for (int repeat = 1; repeat <= 5; ++repeat) {
          records.push_back(record_of("real", "loop", {{"knob", side}, {"piece", std::to_string(k)}}, repeat, 10 * (1 + 0.03 * random.normal())));
        }
      }
    }
    Expectation e;
    e.metric = "untar[1].elapsed_s";
    e.op = ExpectOp::up;
    e.of = {{"knob", "b"}};
    e.versus = CaseSelector{{"knob", "a"}};
    const Verdict verdict = judge(std::vector{e}, records);
    return std::ranges::any_of(verdict.judgements, [](const Judgement& j) { return j.direction == Direction::up || j.direction == Direction::down; });
  });
  std::cout << "ten A/A claims judged together: a false one in " << wrong << " (seed " << seed << ")\n";
  CHECK(wrong <= 0.05 + 0.02);
}

TEST_CASE("cases: values are the same as quantities, not only as text", "[analysis][verdict]") {
  CHECK(same_value("1GB", "1000MB"));
  CHECK(same_value("\"64KiB\"", "65536B"));
  CHECK(same_value("4", "4.0"));
  CHECK(same_value("30s", "30000ms"));
  CHECK_FALSE(same_value("1GB", "1GiB"));
  CHECK_FALSE(same_value("1GB", "1GB/s"));
  CHECK_FALSE(same_value("hdd", "ssd"));
  CHECK(same_value("10%", "10%"));
}
