#include "workload/real/modeled_disk/report.hpp"

#include <nlohmann/json.hpp>

namespace spillway::real {

namespace {

using Json = nlohmann::ordered_json;

Json times(const ServiceTimes& t) {
  Json out;
  out["count"] = t.count();
  out["mean_us"] = t.mean_us();
  out["p50_us"] = t.quantile_us(0.5);
  out["p99_us"] = t.quantile_us(0.99);
  out["max_us"] = t.max_us();
  int last = 0;
  for (int k = 0; k < ServiceTimes::kBuckets; ++k) {
    if (t.buckets()[static_cast<std::size_t>(k)] > 0) last = k + 1;
  }
  Json buckets = Json::array();
  for (int k = 0; k < last; ++k) buckets.push_back(t.buckets()[static_cast<std::size_t>(k)]);
  out["below_power_of_two_us"] = buckets;
  return out;
}

Json split(const sim::device::TimeSplit& s) {
  return {{"data_s", to_seconds(s.data)},
          {"metadata_s", to_seconds(s.metadata)},
          {"redundancy_s", to_seconds(s.redundancy)},
          {"read_modify_write_s", to_seconds(s.read_modify_write)},
          {"alignment_s", to_seconds(s.alignment)},
          {"seek_s", to_seconds(s.seek)},
          {"rotation_s", to_seconds(s.rotation)},
          {"flush_s", to_seconds(s.flush)},
          {"overhead_s", to_seconds(s.overhead)},
          {"idle_s", to_seconds(s.idle)}};
}

}  // namespace

std::string to_json(const ModeledDiskReport& report) {
  const auto& c = report.counters;
  Json out;
  out["schema"] = "spillway.modeled_disk/1";
  out["device"] = report.device;
  out["seed"] = report.seed;
  out["size_bytes"] = report.size.value();
  out["elapsed_s"] = to_seconds(report.elapsed);
  out["sequential_write_bytes_per_s"] = report.sequential_write_rate.value();
  out["efficiency"] = report.elapsed > Duration{0} && report.sequential_write_rate.value() > 0
                          ? sim::device::efficiency(c, report.elapsed, report.sequential_write_rate)
                          : 0.0;
  out["host"] = {{"reads", c.reads},
                 {"writes", c.writes},
                 {"flushes", c.flushes},
                 {"read_bytes", c.read.value()},
                 {"written_bytes", c.written.value()},
                 {"full_rows", c.full_rows},
                 {"rmw_rows", c.rmw_rows},
                 {"reconstruct_rows", c.reconstruct_rows},
                 {"bitmap_writes", c.bitmap_writes},
                 {"cache_full_waits", c.cache_full_waits},
                 {"cache_dirty_bytes", c.cache_dirty.value()},
                 {"absorbed_bytes", c.absorbed.value()}};
  out["time_split"] = split(c.split());
  out["disks"] = Json::array();
  for (const auto& d : c.disks) {
    out["disks"].push_back({{"reads", d.reads},
                            {"writes", d.writes},
                            {"flushes", d.flushes},
                            {"read_bytes", d.read.value()},
                            {"written_bytes", d.written.value()},
                            {"busy_s", to_seconds(d.busy)},
                            {"seeks", d.seeks},
                            {"seek_s", to_seconds(d.seek_time)},
                            {"rotation_s", to_seconds(d.rotation_time)},
                            {"rmw_reads", d.rmw_reads},
                            {"rmw_writes", d.rmw_writes},
                            {"rmw_read_bytes", d.rmw_read.value()},
                            {"rmw_written_bytes", d.rmw_written.value()},
                            {"cache_hits", d.cache_hits},
                            {"time_split", split(d.split)}});
  }
  out["service"] = {{"requested", times(report.requested)},
                    {"delivered", times(report.delivered)},
                    {"late", times(report.late)}};
  return out.dump(2) + "\n";
}

}  // namespace spillway::real
