#include <catch2/catch.hpp>

#include "analysis/compare/comparable.hpp"
#include "analysis/compare/comparison.hpp"
#include "analysis/compare/simulation_score.hpp"
#include "analysis/report/text.hpp"
#include "tests/analysis/sample_record.hpp"

using namespace spillway;
using namespace spillway::analysis;
using namespace spillway::analysis::test;

namespace {

std::vector<const Record*> pointers(const std::vector<Record>& records) {
  std::vector<const Record*> out;
  for (const Record& record : records) out.push_back(&record);
  return out;
}

/// The founding record with every time multiplied.
Record scaled(double factor, const std::string& kind = "real") {
  Record record = founding_record();
  record.box.kind = kind;
  for (UntarResult& one : record.untars) {
    one.start_s *= factor;
    one.elapsed_s *= factor;
  }
  for (PhaseResult& one : record.phases) one.elapsed_s *= factor;
  record.untars_end_s *= factor;
  record.durable_s *= factor;
  return record;
}

}  // namespace

TEST_CASE("compare: ratio per untar with an interval, corrected for the number of rows", "[analysis][compare]") {
  std::vector<Record> a;
  std::vector<Record> b;
  for (const double wobble : {0.99, 1.0, 1.01, 1.005, 0.995}) {
    a.push_back(scaled(wobble));
    b.push_back(scaled(1.2 * wobble));
  }
  const auto comparison = compare_records(pointers(a), pointers(b));
  REQUIRE(comparison);
  const auto& row = comparison->rows[7];
  CHECK(row.what == "untar 8");
  CHECK(row.ratio == Approx(1.2));
  REQUIRE(row.interval);
  CHECK(row.interval->contains(1.2));
  CHECK(row.interval->low > 1.15);
  REQUIRE(row.p);
  CHECK(*row.p < 0.05);
  const std::string table = comparison_table(*comparison);
  CHECK(table.find("untars end") != std::string::npos);
  CHECK(table.find("1.200 (1.1") != std::string::npos);
  CHECK(widest_line(table) <= 72);
}

TEST_CASE("compare: apples and oranges are refused with a sentence unless told to", "[analysis][compare]") {
  const std::vector<Record> a{founding_record()};
  std::vector<Record> b{founding_record()};
  b[0].untars.resize(4);
  for (UntarResult& one : b[0].untars) one.bytes = 150'000'000;
  const auto refused = compare_records(pointers(a), pointers(b));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what.find("8 untars of 3400 MB") != std::string::npos);
  CHECK(refused.error().what.find("4 untars of 150 MB") != std::string::npos);
  CHECK(compare_records(pointers(a), pointers(b), {.force = true})->rows.size() >= 4);
}

TEST_CASE("compare: settings that differ are named, words and boxes are not settings", "[analysis][compare]") {
  Record a = founding_record();
  Record b = founding_record();
  a.experiment["title"] = "one";
  b.experiment["title"] = "two";
  a.experiment["box"]["cpus"] = 2;
  b.experiment["box"]["cpus"] = 4;
  a.experiment["memory"]["dirty_bytes"] = "1GB";
  b.experiment["memory"]["dirty_bytes"] = "1000MB";
  CHECK(differing_keys(a, b).empty());
  b.experiment["memory"]["dirty_bytes"] = "2GB";
  b.experiment["replay"]["engine"] = "posix";
  const auto keys = differing_keys(a, b);
  REQUIRE(keys.size() == 2);
  CHECK(keys[0] == "memory.dirty_bytes (1GB, 2GB)");
  CHECK(keys[1] == "replay.engine (unset, posix)");
  CHECK(why_not_same_experiment(a, b)->find("memory.dirty_bytes") != std::string::npos);
  CHECK_FALSE(why_not_same_experiment(a, a));
}

TEST_CASE("score: a simulation ten percent slow has ten percent error everywhere", "[analysis][compare]") {
  const std::vector<Record> real{scaled(1.0), scaled(1.02)};
  std::vector<Record> simulated{scaled(1.01 * 1.1, "simulated")};
  const auto real_pointers = pointers(real);
  const auto simulated_pointers = pointers(simulated);
  const auto score = score_simulation({.records = real_pointers}, {.records = simulated_pointers});
  REQUIRE(score);
  CHECK(score->simulated.untars_pct == Approx(10));
  CHECK(score->simulated.finish_pct == Approx(10));
  CHECK(score->simulated.untars_end_pct == Approx(10));
  CHECK(*score->simulated.sync_pct == Approx(10));
  CHECK(*score->simulated.throttled_pct == Approx(10));
  CHECK(*score->untars[3].spread_pct == Approx(100 * 0.01414 / 1.01).epsilon(0.01));
  CHECK(score->cpu_s_pct == Approx(0).margin(1e-9));
  // CPU % of untar 1: 99.8 real (mean of two), lower by 1.1 simulated: about 9 points; of untar 8 about 0.7.
  CHECK(score->cpu_points > 1);
  CHECK(score->cpu_points < 9.5);
  CHECK_FALSE(score->null);
  CHECK(score->null_missing.find("limit") != std::string::npos);
  CHECK(widest_line(score_table(*score)) <= 72);
}

TEST_CASE("score: the null model stands beside it where its inputs are known", "[analysis][compare]") {
  std::vector<Record> real{founding_record()};
  real[0].experiment["memory"]["dirty_bytes"] = "20GB";
  real[0].experiment["memory"]["dirty_background_bytes"] = "10GB";
  std::vector<Record> simulated = real;
  simulated[0].box.kind = "simulated";
  const auto real_pointers = pointers(real);
  const auto simulated_pointers = pointers(simulated);
  const auto score = score_simulation({.records = real_pointers}, {.records = simulated_pointers});
  REQUIRE(score);
  CHECK(score->simulated.untars_pct == Approx(0).margin(1e-9));
  REQUIRE(score->null);
  CHECK(score->null->untars_pct > 5);
  // A leaky bucket at the measured mean rate empties when the real device does.
  CHECK(score->null->durable_pct < 1);
  const std::string table = score_table(*score);
  CHECK(table.find("transition") != std::string::npos);
  CHECK(widest_line(table) <= 72);
}

TEST_CASE("score: the timeline error is a share of the limit", "[analysis][compare]") {
  const auto flat = [](double dirty) {
    Timeline timeline;
    timeline.rows.resize(11);
    for (std::size_t i = 0; i < timeline.rows.size(); ++i) {
      timeline.rows[i].t_s = static_cast<double>(i);
      timeline.rows[i].nr_dirty_pages = dirty;
      timeline.rows[i].nr_writeback_pages = 100;
      timeline.rows[i].thresh_pages = 2000;
    }
    return timeline;
  };
  CHECK(*timeline_error_pct(flat(1000), flat(1060), 10) == Approx(3));
  CHECK(*timeline_error_pct(flat(1000), flat(1000), 10) == Approx(0));
  CHECK_FALSE(timeline_error_pct(flat(1000), Timeline{}, 10));
}

TEST_CASE("score: another experiment is refused, and names the key", "[analysis][compare]") {
  std::vector<Record> real{founding_record()};
  std::vector<Record> simulated{founding_record()};
  real[0].experiment["memory"]["dirty_bytes"] = "20GB";
  simulated[0].experiment["memory"]["dirty_bytes"] = "10GB";
  const auto real_pointers = pointers(real);
  const auto simulated_pointers = pointers(simulated);
  const auto refused = score_simulation({.records = real_pointers}, {.records = simulated_pointers});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what.find("memory.dirty_bytes (20GB, 10GB)") != std::string::npos);
  CHECK(score_simulation({.records = real_pointers}, {.records = simulated_pointers}, {.force = true}));
}
