#include "analysis/metrics/metric_value.hpp"

#include <catch2/catch.hpp>

#include "tests/analysis/sample_record.hpp"

using namespace spillway;
using namespace spillway::analysis;

TEST_CASE("metrics: values of the founding mail, worked out by hand", "[analysis][metrics]") {
  const Record record = test::founding_record();
  const auto [name, expected] = GENERATE(table<std::string, double>({
      {"untar[8].elapsed_s", 101.64},
      {"untar[last].elapsed_s", 101.64},
      {"untar[first].system_s", 4.90},
      {"untar[5].cpu_pct", 100 * 5.81 / 7.36},
      {"untar[1].mb_per_s", 3400 / 5.03},
      {"untar[2].end_s", 5.03 + 5.17},
      {"untar[all].elapsed_s", 243.26},
      {"untar[all].cpu_s", 1.26 + 47.97},
      {"untar[all].cpu_pct", 100 * 49.23 / 243.26},
      {"untar[all].mb_per_s", 27'200 / 243.26},
      {"untar[all].pauses", 80},
      {"untar[8].throttled", 0.9 * (101.64 - 8.13)},
      {"untar[8].unknown_s", 0.1 * (101.64 - 8.13)},
      {"phase[sync].elapsed_s", 222.95},
      {"phase[remove].cpu_pct", 100 * 12.98 / 1.82},
      {"total.untars_end_s", 243.26},
      {"total.durable_s", 466.21},
      {"total.mb_per_s", 27'200 / 466.21},
      {"device.write_mb", 27'200},
      {"stall.longest_s", 0.2},
      {"knee.untar", 5},
  }));
  CAPTURE(name);
  const auto value = metric_value(record, name);
  REQUIRE(value);
  CHECK(*value == Approx(expected));
}

TEST_CASE("metrics: what a record has not is an error that says so, never a zero", "[analysis][metrics]") {
  const Record record = test::founding_record();
  const auto [name, kind, word] = GENERATE(table<std::string, ErrorKind, std::string>({
      {"untar[9].elapsed_s", ErrorKind::bad_input, "8 untars"},
      {"phase[skeleton].elapsed_s", ErrorKind::bad_input, "skeleton"},
      {"job[dd].mb_per_s", ErrorKind::bad_input, "dd"},
      {"stage[1].cpu_pct", ErrorKind::bad_input, "stage"},
      {"kworker[xfs-cil].cpu_pct", ErrorKind::bad_input, "queue"},
      {"files.extents_mean", ErrorKind::unsupported, "extents"},
      {"total.cpu_s", ErrorKind::unsupported, "CPU"},
      {"device.efficiency_pct", ErrorKind::unsupported, "sequential"},
      {"untar[1].elapsd_s", ErrorKind::bad_input, "elapsed_s"},
      {"bottleneck", ErrorKind::bad_input, "word"},
  }));
  CAPTURE(name);
  const auto value = metric_value(record, name);
  REQUIRE_FALSE(value);
  CHECK(value.error().kind == kind);
  CHECK(value.error().what.find(word) != std::string::npos);
}

TEST_CASE("metrics: every number in the table has a value in a record that has everything", "[analysis][metrics]") {
  Record record = test::founding_record();
  record.jobs.push_back({.name = "dd", .elapsed_s = 1, .mb_per_s = 5, .account = {}});
  record.stages.push_back({.name = "fuse", .threads = 1, .cpu_pct = 100, .requests = 10});
  record.kworkers.push_back({.queue = "writeback", .name = "kworker/0:1", .count = 2, .cpu_s = 1, .cpu_pct = 3, .busiest_state = ""});
  record.kworkers.push_back({.queue = "writeback", .name = "kworker/1:1", .count = 1, .cpu_s = 1, .cpu_pct = 4, .busiest_state = ""});
  record.extents_mean = 1.5;
  record.cpu_total_s = 60;
  record.device.sequential_mb_per_s = 1000;
  for (const MetricInfo& info : all_metrics()) {
    MetricName name{.group = std::string{info.group}, .selector = "", .field = std::string{info.field}, .info = &info};
    if (info.group == "untar") name.selector = "all";
    if (info.group == "phase") name.selector = "sync";
    if (info.group == "job" || info.group == "stage") name.selector = "1";
    if (info.group == "kworker") name.selector = "writeback";
    CAPTURE(name.text());
    if (info.unit == "account key") {
      CHECK(metric_word(record, name));
    } else {
      CHECK(metric_value(record, name));
    }
  }
  CHECK(*metric_value(record, "kworker[writeback].count") == 3);
  CHECK(*metric_value(record, "kworker[writeback].cpu_pct") == 7);
  CHECK(*metric_value(record, "total.cpu_s_per_gb") == Approx(60 / 27.2));
  CHECK(*metric_value(record, "device.efficiency_pct") == Approx(100 * 27'200 / 466'210.0));
}

TEST_CASE("metrics: no knee is no number", "[analysis][metrics]") {
  Record record = test::founding_record();
  record.untars.resize(4);
  const auto value = metric_value(record, "knee.untar");
  REQUIRE_FALSE(value);
  CHECK(value.error().kind == ErrorKind::unsupported);
}
