#pragma once
/// A record with the shape of a real run, made by hand: walls and CPU of a baseline run on a 40 MiB/s loop, limit
/// 500 MB, background 250 MB, and a timeline that follows from them by straight lines.

#include "analysis/account/pause_trace.hpp"
#include "plots/sweep.hpp"
#include "workload/record/record.hpp"
#include "workload/record/timeline.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace spillway::test {

inline Record reference_record(double scale = 1.0) {
  Record record;
  record.experiment_title = "Eight untars of one tree, one after another";
  record.experiment_name = "quick";
  record.case_keys = {{"memory.dirty_bytes", "500MB"}};
  record.box.kind = "real";
  record.box.kernel = "6.18.44";
  record.box.device = "loop over loop, 40 MiB/s";
  const double walls[] = {0.18, 0.16, 1.31, 1.93, 3.34, 3.71, 3.73, 3.67};
  const double cpu[] = {98, 98, 13, 10, 6, 5, 6, 6};
  double t = 0;
  for (int i = 0; i < 8; ++i) {
    UntarResult untar;
    untar.number = i + 1;
    untar.start_s = t;
    untar.elapsed_s = walls[i] * scale;
    untar.system_s = untar.elapsed_s * cpu[i] / 100;
    untar.bytes = 150'000'000;
    untar.files = 1200;
    untar.account.system_s = untar.system_s;
    untar.account.throttled_s = (untar.elapsed_s - untar.system_s) * 0.97;
    untar.account.device_s = (untar.elapsed_s - untar.system_s) * 0.02;
    untar.account.unknown_s = (untar.elapsed_s - untar.system_s) * 0.01;
    t += untar.elapsed_s;
    record.untars.push_back(untar);
  }
  record.untars_end_s = t;
  record.durable_s = t + 11.4;
  PhaseResult sync;
  sync.name = "sync";
  sync.start_s = t;
  sync.elapsed_s = 11.4;
  record.phases.push_back(sync);
  record.device.split_pct = {{"transfer", 42.0}, {"seek", 21.5}, {"rotation", 12.0}, {"metadata", 7.5}, {"log", 5.0}, {"idle", 12.0}};
  const char* queues[] = {"flush", "xfs-conv", "xfs-cil", "loop", "dio", "kblockd", "writeback"};
  for (int i = 0; i < 7; ++i) {
    KworkerResult worker;
    worker.queue = queues[i];
    worker.count = i == 1 ? 4 : 1;
    worker.cpu_pct = 3.0 / (i + 1);
    record.kworkers.push_back(worker);
  }
  record.extents_mean = 1.13;
  record.counters = {{"files_by_extents.1", 1100}, {"files_by_extents.2", 80}, {"files_by_extents.4", 17}, {"files_by_extents.8", 3}};
  record.complete = true;
  return record;
}

/// Sleeps of 150 ms every 160 ms from the third untar on.
inline std::vector<analysis::DatedPause> reference_pauses() {
  std::vector<analysis::DatedPause> pauses;
  for (double t = 0.4; t < 18.0; t += 0.16) pauses.push_back({t, 0.15});
  return pauses;
}

/// Looks five times a second at eight queues; the first is always busy, the others now and then.
inline std::string reference_workers() {
  std::string csv = "t_s,queue,busy,cpu_s\n";
  const char* queues[] = {"writeback", "xfs-conv", "xfs-cil", "loop", "dio", "kblockd", "events", "xfs-inodegc"};
  for (int i = -5; i < 145; ++i) {
    for (int q = 0; q < 8; ++q) {
      const bool busy = q == 0 ? i >= 0 : i % (q + 2) == 0;
      csv += std::to_string(0.2 * i) + "," + queues[q] + "," + (busy ? (q == 1 ? "2" : "1") : "0") + "," + std::to_string(0.01 * i) + "\n";
    }
  }
  return csv;
}

/// Two keys: dirty limit x writers.
inline std::vector<plots::SweepPoint> reference_sweep() {
  std::vector<plots::SweepPoint> points;
  const double limits[] = {125, 250, 500, 1000};
  const double ends[] = {26.3, 23.6, 18.0, 7.2};
  for (int writers = 1; writers <= 4; writers *= 2) {
    for (int i = 0; i < 4; ++i) {
      const double y = ends[i] / (1 + 0.1 * writers);
      points.push_back({limits[i], std::to_string(static_cast<int>(limits[i])) + "MB", std::to_string(writers), y, y * 0.95, y * 1.04});
    }
  }
  return points;
}

inline Timeline reference_timeline() {
  Timeline timeline;
  for (int i = -3; i <= 294; ++i) {
    TimelineRow row;
    row.t_s = i * 0.1;
    const double filled = std::clamp(row.t_s / 0.6, 0.0, 1.0) * 375 + std::clamp((row.t_s - 0.6) / 5.0, 0.0, 1.0) * 90;
    const double drained = std::max(0.0, (row.t_s - 18.0) * 41.9);
    const double both = std::max(0.0, filled - drained);
    row.nr_writeback_pages = std::min(both, 23.0) * 1e6 / 4096;
    row.nr_dirty_pages = both * 1e6 / 4096 - *row.nr_writeback_pages;
    row.thresh_pages = 122070;
    row.background_pages = 61035;
    row.limit_pages = 122070;
    row.device_write_bytes = std::max(0.0, row.t_s) * 41.9e6;
    row.write_bandwidth_pages_per_s = (41.9 + 62.9 * std::exp(-std::max(0.0, row.t_s) / 4)) * 1e6 / 4096;
    timeline.rows.push_back(row);
  }
  return timeline;
}

}  // namespace spillway::test
