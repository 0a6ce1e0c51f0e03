#include <catch2/catch.hpp>

#include <algorithm>
#include <fstream>

#include "tests/support/temp_dir.hpp"
#include "workload/real/replay/jobs.hpp"

namespace spillway::real {

TEST_CASE("jobs: what fio reports is taken from the direction that did more", "[real][jobs]") {
  const test::TempDir folder{"jobs"};
  const auto file = folder.path / "job.json";
  // The members of fio 3.33's JSON that are read, after a note of fio's as it prints them.
  std::ofstream{file} << R"(note: both iodepth >= 1 and synchronous I/O engine are selected, queue depth will be capped at 1
{"fio version": "fio-3.33", "jobs": [{"jobname": "j", "read": {"io_bytes": 1048576, "bw_bytes": 1000000, "iops": 250.5, "total_ios": 256,
 "clat_ns": {"min": 1, "max": 1, "mean": 1.0}},
 "write": {"io_bytes": 3145728, "bw_bytes": 3000000, "iops": 750.0, "total_ios": 768,
 "clat_ns": {"min": 1000, "max": 9000000, "mean": 1500000.0, "percentile": {"50.000000": 1000000, "99.000000": 8000000}}}}]})";
  JobSpec job;
  job.name = "j";
  job.rw = "randrw";
  const auto result = read_job(job, file);
  REQUIRE(result);
  CHECK(result->read_bytes == 1048576);
  CHECK(result->write_bytes == 3145728);
  CHECK(result->operations == 1024);
  CHECK(result->mb_per_s == Approx(4.0));
  CHECK(result->iops == Approx(1000.5));
  CHECK(result->lat_ms_mean == Approx(1.5));
  CHECK(result->lat_ms_p50 == Approx(1));
  CHECK(result->lat_ms_p99 == Approx(8));
  CHECK(result->lat_ms_max == Approx(9));
  std::ofstream{file} << "fio: failed\n";
  CHECK_FALSE(read_job(job, file));
}

TEST_CASE("jobs: fio's own terms go to fio unchanged", "[real][jobs]") {
  JobSpec job;
  job.name = "j";
  job.rw = "randwrite";
  job.bs = Bytes{4096};
  job.size = Bytes{1'000'000};
  job.numjobs = 3;
  job.iodepth = 8;
  job.ioengine = "libaio";
  job.direct = true;
  job.fsync = 5;
  job.end_fsync = true;
  job.runtime = std::chrono::milliseconds{1500};
  const auto words = fio_command(job, "/data", "/out");
  const auto has = [&](std::string_view word) { return std::ranges::find(words, word) != words.end(); };
  for (const char* word : {"--name=j", "--directory=/data", "--output=/out", "--rw=randwrite", "--bs=4096", "--size=1000000", "--numjobs=3", "--iodepth=8",
                           "--ioengine=libaio", "--direct=1", "--fsync=5", "--end_fsync=1", "--runtime=1500ms", "--time_based"}) {
    CAPTURE(word);
    CHECK(has(word));
  }
}

}  // namespace spillway::real
