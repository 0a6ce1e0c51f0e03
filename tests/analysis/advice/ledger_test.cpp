#include "analysis/advice/ledger.hpp"

#include <catch2/catch.hpp>

#include "analysis/report/text.hpp"

using namespace spillway;
using namespace spillway::analysis;

namespace {

Prediction prediction() {
  return {.id = "quick-1", .made = "2026-12-01T01:00:00Z", .experiment = "quick", .check = "quick-1", .metric = "total.untars_end_s",
          .base = {{"memory.dirty_bytes", "1GB"}}, .advised = {{"memory.dirty_bytes", "2.4GB"}}, .base_value = 10, .advised_value = 4, .low = 0.35, .high = 0.5};
}

Record measured(const std::string& limit, int repeat, double end, const std::string& time) {
  Record record;
  record.experiment_name = "quick-1";
  record.box.kind = "real";
  record.box.target = "loop";
  record.case_keys = {{"memory.dirty_bytes", limit}};
  record.repeat = repeat;
  record.untars_end_s = end;
  record.durable_s = end;
  record.host["wall_clock"] = time;
  record.complete = true;
  return record;
}

}  // namespace

TEST_CASE("ledger: what is written is read again", "[analysis][advice]") {
  Score one{.id = "quick-1", .box = "real:loop", .made = "2026-12-01T02:00:00Z", .ratio = 0.45, .interval = Interval{0.4, 0.5, 0.95}, .repeats = 5, .share_of_gain = 0.92, .inside = true};
  const auto ledger = read_ledger(ledger_line(prediction()) + ledger_line(one), "ledger.jsonl");
  REQUIRE(ledger);
  REQUIRE(ledger->predictions.size() == 1);
  REQUIRE(ledger->scores.size() == 1);
  CHECK(ledger->predictions[0].advised == prediction().advised);
  CHECK(ledger->predictions[0].ratio() == Approx(0.4));
  CHECK(ledger->scores[0].interval->high == Approx(0.5));
  CHECK(ledger_text(*ledger).find("1 hit, 0 misses, 0 not run") != std::string::npos);
  CHECK(widest_line(ledger_text(*ledger)) <= 72);
}

TEST_CASE("ledger: a line that is none is named, and nothing is read past it", "[analysis][advice]") {
  const auto bad = read_ledger(ledger_line(prediction()) + "{\"schema\": \"other\"}\n", "ledger.jsonl");
  REQUIRE_FALSE(bad);
  CHECK(bad.error().what.starts_with("ledger.jsonl, line 2: its schema is not"));
  CHECK_FALSE(read_ledger("not json\n", "x"));
  CHECK_FALSE(read_ledger("{\"schema\":\"spillway.ledger/1\",\"what\":\"prediction\"}\n", "x"));
}

TEST_CASE("ledger: half of the predicted gain is a hit, less is a miss, more the wrong way is worse than none", "[analysis][advice]") {
  const auto one = [](double advised) {
    const std::vector<Record> records{measured("1000MB", 1, 10, "2026-12-01T02:00:00Z"), measured("2.4GB", 1, advised, "2026-12-01T02:01:00Z")};
    return score(prediction(), records).at(0);
  };
  CHECK(one(7.0).share_of_gain == Approx(0.5));
  CHECK(one(7.0).hit());
  CHECK_FALSE(one(7.1).hit());
  CHECK(one(4.0).inside);
  CHECK_FALSE(one(6.0).inside);
  CHECK(one(12.0).share_of_gain < 0);
}

TEST_CASE("ledger: records older than the prediction, simulated ones and those of other experiments score nothing", "[analysis][advice]") {
  std::vector<Record> records{measured("1GB", 1, 10, "2026-12-01T00:59:59Z"), measured("2.4GB", 1, 4, "2026-12-01T00:59:59Z")};
  std::vector<std::string> left_out;
  CHECK(score(prediction(), records, &left_out).empty());
  REQUIRE(left_out.size() == 1);
  CHECK(left_out[0].starts_with("2 records of quick-1 are older"));
  for (Record& record : records) record.host["wall_clock"] = "2026-12-01T03:00:00Z";
  CHECK(score(prediction(), records).size() == 1);
  records[0].experiment_name = "quick-2";
  CHECK(score(prediction(), records).empty());
  records[0].experiment_name = "quick-1";
  for (Record& record : records) record.box.kind = "simulated";
  CHECK(score(prediction(), records).empty());
}

TEST_CASE("ledger: a prediction that nobody checked stays open, a miss stays a miss", "[analysis][advice]") {
  Prediction open = prediction();
  open.id = "quick-2";
  Score miss{.id = "quick-1", .box = "real:loop", .made = "2026-12-01T02:00:00Z", .ratio = 0.99, .interval = {}, .repeats = 1, .share_of_gain = 0.02, .inside = false};
  const std::string text = ledger_text({.predictions = {prediction(), open}, .scores = {miss}});
  CHECK(text.find("MISS: measured down 1.0 %") != std::string::npos);
  CHECK(text.find("0 hits, 1 miss, 1 not run") != std::string::npos);
}
