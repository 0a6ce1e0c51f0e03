#include "workload/kernel/guest_results.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace spillway::kernel;

namespace {

// Lines as kernels 6.1 and 6.18 print them.
constexpr const char* kTrace =
    "# tracer: nop\n"
    "           guest-72      [000] .n...     1.500000: balance_dirty_pages: bdi 7:0: limit=122071 setpoint=106812 dirty=91646 bdi_setpoint=106757 "
    "bdi_dirty=91645 dirty_ratelimit=102400 task_ratelimit=217600 dirtied=128 dirtied_pause=64 paused=8 pause=20 period=24 think=4 cgroup_ino=1\n"
    " my-tar x y-73      [000] .....     1.600000: balance_dirty_pages: bdi 7:0: limit=1 setpoint=2 dirty=3 wb_setpoint=4 wb_dirty=5 "
    "dirty_ratelimit=6 task_ratelimit=7 dirtied=8 dirtied_pause=9 paused=0 pause=-10 period=0 think=10 cgroup_ino=33\n"
    "           guest-72      [000] .....     1.700000: balance_dirty_pages: bdi 0:15: limit=1 setpoint=1 dirty=1 bdi_setpoint=1 bdi_dirty=1 "
    "dirty_ratelimit=1 task_ratelimit=1 dirtied=1 dirtied_pause=1 paused=0 pause=90 period=0 think=0 cgroup_ino=1\n"
    "  kworker/u2:0-8       [000] .....     1.800000: bdi_dirty_ratelimit: bdi 7:0: write_bw=40000 awrite_bw=41000 dirty_rate=39000 "
    "dirty_ratelimit=42000 task_ratelimit=43000 balanced_dirty_ratelimit=44000 cgroup_ino=1\n"
    "  kworker/u2:0-8       [000] .....     1.900000: writeback_start: bdi 7:0: sb_dev 0:0 nr_pages=9223372036854775807 sync_mode=0 kupdate=0 "
    "range_cyclic=1 background=1 reason=background cgroup_ino=37\n"
    "CPU:0 [LOST 12 EVENTS]\n";

}  // namespace

TEST_CASE("kernel trace: throttle decisions of the device under test, in either kernel's field names", "[workload][kernel]") {
  const auto trace = parse_trace(kTrace, "7:0");
  REQUIRE(trace.throttle.size() == 2);
  CHECK(trace.throttle[0].comm == "guest");
  CHECK(trace.throttle[0].pid == 72);
  CHECK(trace.throttle[0].t_s == Approx(1.5));
  CHECK(trace.throttle[0].dirty == 91646);
  CHECK(trace.throttle[0].setpoint == 106812);
  CHECK(trace.throttle[0].wb_setpoint == 106757);
  CHECK(trace.throttle[0].wb_dirty == 91645);
  CHECK(trace.throttle[0].dirtied == 128);
  CHECK(trace.throttle[0].dirtied_pause == 64);
  CHECK(trace.throttle[0].paused_ms == 8);
  CHECK(trace.throttle[0].pause_ms == 20);
  CHECK(trace.throttle[1].comm == "my-tar x y");
  CHECK(trace.throttle[1].pid == 73);
  CHECK(trace.throttle[1].pause_ms == -10);
  CHECK(trace.throttle[1].wb_setpoint == 4);
  CHECK(trace.throttle[1].wb_dirty == 5);
  CHECK(trace.throttle[1].cgroup_ino == 33);
  REQUIRE(trace.rate_limit.size() == 1);
  CHECK(trace.rate_limit[0].avg_write_bw == 41000);
  CHECK(trace.rate_limit[0].balanced_dirty_ratelimit == 44000);
  CHECK(trace.flusher_starts == 1);
  CHECK(trace.flusher_cgroups == std::vector<std::uint64_t>{37});
  CHECK(trace.lost == 1);
}

TEST_CASE("kernel trace: the CSV starts with the columns of the reference runs and counts from the first untar", "[workload][kernel]") {
  const auto csv = throttle_csv(parse_trace(kTrace, "7:0"), 1.0);
  CHECK(csv.starts_with("t_ms,comm,pid,dirty_pg,setpoint_pg,limit_pg,dirty_ratelimit_kBps,task_ratelimit_kBps,dirtied_pg,dirtied_pause_pg,paused_ms,pause_ms,think_ms"));
  CHECK(csv.find("\n500.000,guest,72,91646,106812,122071,102400,217600,128,64,8,20,4,24,") != std::string::npos);
}

TEST_CASE("kernel results: times count from the first untar, and the parts of an untar add up", "[workload][kernel]") {
  const auto folder = std::filesystem::temp_directory_path() / ("spillway-guest-results-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const auto put = [&](const char* name, const std::string& text) { std::ofstream(folder / name) << text; };
  put("results.txt",
      "phase skeleton 500000000 900000000 0\n"
      "untar 2 73 1200000000 3200000000 0 5 6 700 0 0 10 1000 100000000 30000000 150 0 -\n"
      "untar 1 72 1000000000 1200000000 0 1 2 800 0 0 10 1000 180000000 0 0 0 -\n"
      "phase sync 3200000000 4200000000 0\n"
      "bdi 7:0\nt0 1000000000\nfailures 0\ndone\n");
  put("samples.csv",
      "t_ns,nr_dirty,nr_writeback,threshold,background,reclaimable_kb,write_sectors,write_ios,busy_ms,untar\n"
      "1000000000,0,0,1000,500,0,100,10,0,1\n"
      "2000000000,40,60,1000,500,160,2100,30,500,2\n");
  put("workers.tsv",
      "flushers_at_once\t2\n"
      "kworker/u2:0+flush-7:0\t20\t40\t1\t0\tD rq_qos_wait\t18\n"
      "kworker/u2:1+flush-7:0\t3\t40\t1\t0\tD x\t3\n"
      "kworker/0:1+xfs-conv/loop0\t2\t40\t1\t0\tR 0\t2\n");
  put("trace", kTrace);
  GuestPlan plan;
  plan.costs.file_ns = 1;
  const auto results = read_guest_results(folder, plan);
  REQUIRE(results);
  const auto& record = results->record;
  REQUIRE(record.untars.size() == 2);
  CHECK(record.untars[0].number == 1);
  CHECK(record.untars[0].start_s == Approx(0));
  CHECK(record.untars[1].start_s == Approx(0.2));
  CHECK(record.untars[1].elapsed_s == Approx(2.0));
  CHECK(record.untars[1].account.throttled_s == Approx(1.5));
  CHECK(record.untars[1].account.runqueue_s == Approx(0.03));
  CHECK(record.untars[1].account.total_s() == Approx(record.untars[1].elapsed_s));
  CHECK(record.untars[0].cpu_pct() == Approx(90));
  CHECK(record.untars[0].pauses == 1);
  CHECK(record.untars[0].longest_pause_s == Approx(0.02));
  CHECK(record.untars_end_s == Approx(2.2));
  CHECK(record.durable_s == Approx(3.2));
  REQUIRE(record.phases.size() == 2);
  CHECK(record.phases[0].start_s == Approx(-0.5));
  REQUIRE(results->timeline.rows.size() == 2);
  CHECK(results->timeline.rows[1].wb_reclaimable_pages == 40);
  CHECK(results->timeline.rows[1].device_write_bytes == 2000.0 * 512);
  CHECK(results->timeline.rows[1].device_busy_pct == Approx(50));
  CHECK(results->timeline.rows[1].freerun_pages == 750);
  REQUIRE(record.kworkers.size() == 2);
  CHECK(record.kworkers[0].queue == "writeback");
  CHECK(record.kworkers[0].count == 2);
  CHECK(record.kworkers[0].busiest_state == "D rq_qos_wait");
  CHECK(record.kworkers[1].queue == "xfs-conv");
  CHECK(record.flusher.count == 2);
  CHECK(record.device.write_ios == 20);
  std::filesystem::remove_all(folder);
}

TEST_CASE("kernel results: a guest that did not finish is an error with its last words", "[workload][kernel]") {
  const auto folder = std::filesystem::temp_directory_path() / ("spillway-guest-broken-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "guest.log") << "mkfs.xfs: no space\n";
  const auto results = read_guest_results(folder, GuestPlan{});
  REQUIRE_FALSE(results);
  CHECK(results.error().what.find("mkfs.xfs: no space") != std::string::npos);
  std::filesystem::remove_all(folder);
}
