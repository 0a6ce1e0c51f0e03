#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include "workload/real/modeled_disk/report.hpp"

namespace spillway::real {

using namespace std::chrono_literals;

TEST_CASE("service times: quantiles lie in the right power of two", "[real][modeled_disk]") {
  ServiceTimes times;
  CHECK(times.quantile_us(0.5) == 0);
  for (int i = 0; i < 90; ++i) times.add(100us);
  for (int i = 0; i < 10; ++i) times.add(5ms);
  CHECK(times.count() == 100);
  CHECK(times.mean_us() == Approx(590));
  CHECK(times.quantile_us(0.5) == 128);
  CHECK(times.quantile_us(0.90) == 128);
  CHECK(times.quantile_us(0.91) == 5000);  // the bucket's edge is 8192, and nothing was above 5000
  CHECK(times.max_us() == 5000);
  times.add(-1us);  // an answer is never early; rounding may say so
  CHECK(times.buckets()[0] == 1);
  times.add(std::chrono::hours{10});
  CHECK(times.buckets()[ServiceTimes::kBuckets - 1] == 1);
}

TEST_CASE("modeled disk report: is JSON with units in the names", "[real][modeled_disk]") {
  ModeledDiskReport report{.device = "a \"quoted\" disk", .seed = 7, .size = Bytes{1 << 20}, .elapsed = 2s,
                           .sequential_write_rate = BytesPerSec{100}};
  report.counters.written = Bytes{50};
  report.counters.disks.resize(3);
  report.requested.add(1ms);
  const auto json = nlohmann::ordered_json::parse(to_json(report));
  CHECK(json["schema"] == "spillway.modeled_disk/1");
  CHECK(json["device"] == "a \"quoted\" disk");
  CHECK(json["disks"].size() == 3);
  CHECK(json["efficiency"] == 0.25);
  CHECK(json["service"]["requested"]["count"] == 1);
}

}  // namespace spillway::real
