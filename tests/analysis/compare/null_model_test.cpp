#include "analysis/null_model.hpp"

#include <catch2/catch.hpp>

using namespace spillway;
using namespace spillway::analysis;

TEST_CASE("null model: one untar that fits is at full speed and the sync is what it left", "[analysis][compare]") {
  const NullResult r = run_null_model({.untars = {{100, 1.0}}, .at_once = 1, .device_bytes_per_s = 10, .cap_bytes = 1000});
  CHECK(r.elapsed_s[0] == Approx(1.0));
  CHECK(r.sync_s == Approx(9.0));  // 90 left at 10
  CHECK(r.durable_s() == Approx(10.0));
  CHECK(r.level_at(0.5) == Approx(45));
  CHECK(r.level_at(5.5) == Approx(45));
}

TEST_CASE("null model: over the cap the device's rate rules", "[analysis][compare]") {
  // Net 90 a second: full at 50 after 0.5556 s with 55.56 written; the other 44.44 at 10 a second.
  const NullResult r = run_null_model({.untars = {{100, 1.0}, {100, 1.0}}, .at_once = 1, .device_bytes_per_s = 10, .cap_bytes = 50});
  CHECK(r.elapsed_s[0] == Approx(0.5 / 0.9 + (100 - 50 / 0.9) / 10));
  CHECK(r.elapsed_s[1] == Approx(10));
  CHECK(r.sync_s == Approx(5));
  CHECK(r.durable_s() == Approx(20));  // 200 at 10 a second, always
}

TEST_CASE("null model: a device faster than the writer never holds it back", "[analysis][compare]") {
  const NullResult r = run_null_model({.untars = {{100, 1.0}, {100, 2.0}}, .at_once = 1, .device_bytes_per_s = 1000, .cap_bytes = 50});
  CHECK(r.elapsed_s[0] == Approx(1));
  CHECK(r.elapsed_s[1] == Approx(2));
  CHECK(r.sync_s == 0);
}

TEST_CASE("null model: untars at once share, and the total stays the device's", "[analysis][compare]") {
  const NullResult r = run_null_model({.untars = {{100, 1.0}, {100, 1.0}, {100, 1.0}}, .at_once = 2, .device_bytes_per_s = 10, .cap_bytes = 50});
  CHECK(r.start_s[1] == 0);
  CHECK(r.elapsed_s[0] == Approx(r.elapsed_s[1]));
  CHECK(r.start_s[2] == Approx(r.elapsed_s[0]));
  CHECK(r.durable_s() == Approx(30));
}

TEST_CASE("null model: the total of the standard run on a real kernel, within two percent", "[analysis][compare]") {
  // Published beside the reference runs: eight untars of 150 MB, 41.94 MB/s, limit 500 MB, background 250 MB; real medians:
  // untars end 18.0 s, steady untars 3.67 to 3.73 s. The transition it cannot do: real 1.31 and 1.93 s.
  NullModel model{.untars = {}, .at_once = 1, .device_bytes_per_s = 41'943'040, .cap_bytes = 437.5e6};
  for (int i = 0; i < 8; ++i) model.untars.push_back({150e6, 0.2});
  const NullResult r = run_null_model(model);
  CHECK(r.untars_end_s == Approx(18.0).epsilon(0.02));
  CHECK(r.elapsed_s[7] == Approx(3.58).margin(0.01));
  CHECK(r.elapsed_s[1] == Approx(0.2));
}

TEST_CASE("null model: from a record, or a sentence that says what is missing", "[analysis][compare]") {
  Record record;
  CHECK_FALSE(null_model_for(record, nullptr));
  UntarResult untar;
  untar.bytes = 1'000'000;
  untar.user_s = 0.01;
  untar.system_s = 0.09;
  record.untars = {untar, untar};
  record.durable_s = 10;
  CHECK(null_model_for(record, nullptr).error().what.find("device") != std::string::npos);
  record.experiment["device"]["rate"] = "40MB/s";
  CHECK(null_model_for(record, nullptr).error().what.find("limit") != std::string::npos);
  record.experiment["memory"]["dirty_bytes"] = "1GB";
  record.experiment["memory"]["dirty_background_bytes"] = "500MB";
  const auto model = null_model_for(record, nullptr);
  REQUIRE(model);
  CHECK(model->device_bytes_per_s == Approx(40e6));
  CHECK(model->cap_bytes == Approx(875e6));  // freerun 750, limit 1000
  CHECK(model->untars[0].full_speed_s == Approx(0.1));
  Timeline timeline;
  timeline.rows.resize(1);
  timeline.rows[0].thresh_pages = 1000;
  timeline.rows[0].background_pages = 500;
  CHECK(null_model_for(record, &timeline)->cap_bytes == Approx(875 * 4096));
}
