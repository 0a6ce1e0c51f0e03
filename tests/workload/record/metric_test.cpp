#include "workload/record/metric.hpp"

#include <catch2/catch.hpp>
#include <set>

using namespace spillway;

TEST_CASE("metric: names of the design are known and read back to the same text", "[workload][record][metric]") {
  const std::string text = GENERATE(
      "untar[1].elapsed_s", "untar[first].cpu_pct", "untar[last].system_s", "untar[all].user_s", "untar[8].throttled_s",
      "phase[remove].elapsed_s", "phase[sync].elapsed_s", "job[1].mb_per_s", "job[dd].iops", "job[dd].lat_ms_p99",
      "stage[2].cpu_pct", "total.untars_end_s", "total.durable_s", "total.mb_per_s", "total.cpu_s_per_gb",
      "device.busy_pct", "device.ios", "device.seeks", "device.read_mb", "device.efficiency_pct", "flusher.cpu_pct",
      "flusher.count", "kworker[xfs-conv].cpu_pct", "kworker[writeback].count", "files.extents_mean", "log.forces",
      "knee.untar", "stall.longest_s", "bottleneck");
  CAPTURE(text);
  const auto name = parse_metric(text);
  REQUIRE(name);
  CHECK(name->text() == text);
  CHECK(name->info != nullptr);
}

TEST_CASE("metric: an account field may come without its unit", "[workload][record][metric]") {
  CHECK(parse_metric("untar[8].throttled")->text() == "untar[8].throttled_s");
  CHECK(parse_metric("untar[8].user")->text() == "untar[8].user_s");
  CHECK(parse_metric("untar[8].throttled")->number() == 8);
  CHECK_FALSE(parse_metric("untar[last].throttled")->number());
}

TEST_CASE("metric: a wrong name is answered with what is near", "[workload][record][metric]") {
  const auto [text, sentence] = GENERATE(table<std::string, std::string>({
      {"untra[1].elapsed_s", "metric \"untra[1].elapsed_s\" is not known; the nearest begins with \"untar\""},
      {"untar[1].elapsed", "metric \"untar[1].elapsed\" is not known: untar has no \"elapsed\", the nearest is \"elapsed_s\""},
      {"untar.elapsed_s", "metric \"untar.elapsed_s\" needs to say which: untar[K|first|last|all]"},
      {"untar[0].elapsed_s", "metric \"untar[0].elapsed_s\" has \"0\" where a number from 1, first, last or all was expected"},
      {"untar[1", "metric \"untar[1\" has no closing \"]\""},
      {"untar[].elapsed_s", "metric \"untar[].elapsed_s\" has nothing between \"[\" and \"]\""},
      {"untar[1]elapsed_s", "metric \"untar[1]elapsed_s\" has \"elapsed_s\" where \".\" was expected"},
      {"total[1].mb_per_s", "metric \"total[1].mb_per_s\" should have no \"[1]\""},
      {"total", "metric \"total\" needs a field, for example total.untars_end_s"},
      {"", "metric \"\" is not known; `spillway keys` lists the metrics"},
  }));
  CAPTURE(text);
  const auto name = parse_metric(text);
  REQUIRE_FALSE(name);
  CHECK(name.error().what == sentence);
}

TEST_CASE("metric: every account key is a field of untar", "[workload][record][metric]") {
  for (const auto key : account_keys()) CHECK(parse_metric("untar[1]." + std::string{key}));
  std::set<std::string> seen;
  for (const MetricInfo& info : all_metrics()) {
    CHECK(seen.insert(std::string{info.group} + "." + std::string{info.field}).second);
  }
}

TEST_CASE("edit distance: known distances", "[workload][record][metric]") {
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("untra", "untar") == 1);  // a swap of neighbours counts once
  CHECK(edit_distance("same", "same") == 0);
}
