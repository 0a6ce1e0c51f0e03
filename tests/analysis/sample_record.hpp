#pragma once
/// Records made by hand for the tests of analysis/.

#include <string>
#include <vector>

#include "workload/record/record.hpp"

namespace spillway::analysis::test {

/// The founding mail's first series: 3.4 GB in 5000 files, eight times; sync 222.95 s after it.
inline Record founding_record() {
  Record record;
  record.experiment_title = "Eight untars of one tree";
  record.experiment_name = "xfs-untar";
  record.box.kind = "real";
  record.box.target = "device";
  record.box.kernel = "3.2";
  record.box.cpus = 8;
  struct Row {
    double elapsed, user, system;
  };
  const std::vector<Row> rows{{5.03, 0.12, 4.90}, {5.17, 0.12, 5.03},  {5.36, 0.13, 5.21},  {5.35, 0.15, 5.17},
                              {7.36, 0.12, 5.69}, {27.81, 0.16, 6.76}, {85.54, 0.21, 7.33}, {101.64, 0.25, 7.88}};
  double at = 0;
  for (const Row& row : rows) {
    UntarResult untar;
    untar.number = static_cast<int>(record.untars.size()) + 1;
    untar.start_s = at;
    untar.elapsed_s = row.elapsed;
    untar.user_s = row.user;
    untar.system_s = row.system;
    untar.bytes = 3'400'000'000;
    untar.files = 5000;
    const double rest = row.elapsed - row.user - row.system;
    untar.account = {.user_s = row.user, .system_s = row.system, .throttled_s = 0.9 * rest, .unknown_s = 0.1 * rest};
    untar.account_sources = {{"throttled", "taskstats blkio_delay_total"}};
    untar.longest_pause_s = 0.2;
    untar.pauses = 10;
    record.untars.push_back(untar);
    at += row.elapsed;
  }
  record.phases = {{.name = "remove", .start_s = -8.67, .elapsed_s = 1.82, .user_s = 0.07, .system_s = 12.91},
                   {.name = "sync", .start_s = at, .elapsed_s = 222.95, .user_s = 0.0, .system_s = 0.23}};
  record.untars_end_s = at;
  record.durable_s = at + 222.95;
  record.device.write_bytes = 27'200'000'000;
  record.complete = true;
  return record;
}

}  // namespace spillway::analysis::test
