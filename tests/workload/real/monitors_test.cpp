#include <catch2/catch.hpp>

#include <cstring>

#include <linux/taskstats.h>

#include "workload/real/monitors/account.hpp"
#include "workload/real/monitors/kernel_views.hpp"
#include "workload/real/monitors/off_cpu.hpp"
#include "workload/real/monitors/taskstats.hpp"
#include "workload/real/monitors/tracer.hpp"
#include "workload/real/state/kernel_writeback.hpp"
#include "workload/real/state/state.hpp"

namespace spillway::real {

TEST_CASE("kernel views: vmstat gives pages, and nr_dirty is not nr_dirty_threshold", "[real][monitors]") {
  const auto view = parse_vmstat_dirty("nr_free_pages 5\nnr_dirty_threshold 400\nnr_dirty 12\nnr_dirty_background_threshold 200\nnr_writeback 7\n");
  REQUIRE(view);
  CHECK(view->dirty == 12);
  CHECK(view->writeback == 7);
  CHECK(view->thresh == 400);
  CHECK(view->background == 200);
  CHECK_FALSE(parse_vmstat_dirty("nr_free_pages 5\n"));
}

TEST_CASE("kernel views: bdi stats are kilobytes there and pages here", "[real][monitors]") {
  const auto view = parse_bdi_stats(
      "BdiWriteback:             4096 kB\nBdiReclaimable:          40960 kB\nBdiDirtyThresh:         195316 kB\n"
      "DirtyThresh:            195316 kB\nBackgroundThresh:        97660 kB\nBdiDirtied:             475300 kB\n"
      "BdiWritten:             366908 kB\nBdiWriteBandwidth:       48860 kBps\nb_dirty:                  290\n"
      "b_io:                      378\nb_more_io:                   3\nb_dirty_time:                0\nbdi_list:                    1\nstate:                       1\n");
  REQUIRE(view);
  CHECK(view->writeback_pages == 1024);
  CHECK(view->reclaimable_pages == 10240);
  CHECK(view->wb_thresh_pages == 48829);
  CHECK(view->bandwidth_pages_per_s == 12215);
  CHECK(view->b_dirty == 290);
  CHECK(view->b_io == 378);
  CHECK(view->b_more_io == 3);
}

TEST_CASE("kernel views: dirtyable memory adds free pages less reserves and the file lists of each node", "[real][state]") {
  // Two zones, one node. Reserve: (high + largest protection), at most what the zone has.
  const char* zoneinfo =
      "Node 0, zone      DMA\n  per-node stats\n      nr_inactive_file 100\n      nr_active_file 50\n"
      "  pages free     3840\n        min      32\n        low      40\n        high     48\n        managed  3840\n"
      "        protection: (0, 2900, 24000, 24000)\n    cpu: 0\n              count:    0\n              high:     378\n"
      "Node 0, zone   Normal\n  pages free     20000\n        min      300\n        low      400\n        high     500\n        managed  60000\n"
      "        protection: (0, 0, 0, 0)\n";
  const auto view = parse_zoneinfo(zoneinfo);
  REQUIRE(view);
  CHECK(view->free_pages == 23840);
  CHECK(view->file_pages == 150);
  CHECK(view->reserve_pages == 3840 + 500);  // the DMA zone reserves more than it has: all of it
  CHECK(view->dirtyable() == 23840 - 4340 + 150 + 1);
}

TEST_CASE("kernel views: the flusher is told from other workers by what it calls itself", "[real][monitors]") {
  CHECK(queue_of("kworker/u8:2+flush-7:65") == "flush");
  CHECK(queue_of("kworker/u8:2-flush-254:0") == "flush");
  CHECK(queue_of("kworker/1:2-xfs-conv/loop65") == "xfs-conv");
  CHECK(queue_of("kworker/u8:2+loop64") == "loop");
  CHECK(queue_of("kworker/1:1H-kblockd") == "kblockd");
  CHECK(queue_of("xfsaild/loop65") == "xfsaild");
  CHECK_FALSE(queue_of("kworker/u9:0"));
  CHECK_FALSE(queue_of("bash"));
}

TEST_CASE("kernel views: block, cpu, xfs and pressure lines", "[real][monitors]") {
  const auto block = parse_block_stat("   95203    15093  4957474    53015    44620   228867 15530232   212959        3    35376   275888    10515       67  4408848     8784     2187     1129\n");
  REQUIRE(block);
  CHECK(block->read_ios == 95203);
  CHECK(block->write_sectors == 15530232);
  CHECK(block->in_flight == 3);
  CHECK(block->busy_ms == 35376);
  CHECK(block->flushes == 2187);
  const auto cpu = parse_cpu("cpu  10 1 20 300 40 2 3 4 0 0\ncpu0 5 0 0 0 0 0 0 0 0 0\nctxt 77\n");
  REQUIRE(cpu);
  CHECK(cpu->busy() == 36);
  CHECK(cpu->total() == 380);
  CHECK(cpu->switches == 77);
  const auto xfs = parse_xfs_stat("extent_alloc 4 5 6 7\ntrans 1 20 300\nlog 35 2210 1 4 5\npush_ail 9 8 7 6 5 4 3 2 1 0\nxstrat 11 2\nrw 0 0\n");
  REQUIRE(xfs);
  CHECK(xfs->transactions == 21);
  CHECK(xfs->log_writes == 35);
  CHECK(xfs->log_blocks == 2210);
  CHECK(xfs->ail_pushes == 7);
  CHECK(xfs->delalloc_conversions == 13);
  const auto pressure = parse_pressure("some avg10=0.00 avg60=0.10 avg300=0.00 total=123456\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=99\n");
  REQUIRE(pressure);
  CHECK(pressure->some_us == 123456);
  CHECK(pressure->full_us == 99);
}

TEST_CASE("taskstats: a message is read by its length, longer or shorter than our header", "[real][monitors]") {
  taskstats stats{};
  stats.cpu_delay_total = 11;
  stats.blkio_delay_total = 3'520'000'000;
  stats.ac_pid = 42;
  stats.ac_ppid = 7;
  std::strcpy(stats.ac_comm, "tar");
  std::vector<std::byte> bytes(sizeof stats + 64);
  std::memcpy(bytes.data(), &stats, sizeof stats);
  const auto longer = parse_taskstats(bytes);
  REQUIRE(longer);
  CHECK(longer->blkio_ns == 3'520'000'000);
  CHECK(longer->pid == 42);
  CHECK(longer->comm == "tar");
  // What an old kernel leaves out reads as 0; what the account needs must be there.
  const auto shorter = parse_taskstats(std::span{bytes}.first(offsetof(taskstats, freepages_delay_total)));
  REQUIRE(shorter);
  CHECK(shorter->reclaim_ns == 0);
  CHECK(shorter->blkio_ns == 3'520'000'000);
  CHECK_FALSE(parse_taskstats(std::span{bytes}.first(40)));
}

TEST_CASE("account: a stack decides why a task slept", "[real][monitors]") {
  CHECK(classify_stack({"__schedule", "schedule", "schedule_timeout", "io_schedule_timeout", "balance_dirty_pages", "iomap_file_buffered_write"}) == Wait::throttled);
  CHECK(classify_stack({"__schedule", "io_schedule", "folio_wait_bit_common", "filemap_read"}) == Wait::device);
  CHECK(classify_stack({"__schedule", "schedule", "rwsem_down_write_slowpath", "down_write", "xfs_ilock"}) == Wait::lock);
  CHECK(classify_stack({"__schedule", "schedule", "xlog_grant_head_wait", "xlog_grant_head_check", "xfs_log_reserve"}) == Wait::log);
  CHECK(classify_stack({"__schedule", "schedule", "xfs_log_force_seq", "xfs_fsync"}) == Wait::log);
  CHECK(classify_stack({"__schedule", "schedule", "pipe_read"}) == Wait::other);
  CHECK(classify_stack({}) == Wait::other);
}

TEST_CASE("off-CPU time: a sleep ends at the switch back, and without one at the wake-up or the next sign of life", "[real][monitors]") {
  TraceTotals totals;
  const std::map<int, std::int64_t> since{{7, 0}};
  OffCpu off{since, totals};
  const auto sleeps = [&](std::int64_t at) {
    off.switched(at, 7, 7, false, 0);
    off.slept_at(7, {Wait::throttled, "balance_dirty_pages"});
  };
  sleeps(1'000);
  off.woken(1'500, 7);
  off.switched(1'600, 0, 0, true, 7);  // seen: 500 asleep, 100 waiting for a core
  CHECK(totals.switches_missing == 0);
  sleeps(2'000);
  off.woken(2'700, 7);
  off.alive(2'800, 7);                 // the switch back is missing, the wake-up is not: 700
  sleeps(3'000);
  sleeps(3'900);                       // both are missing: the next sleep's beginning shows that the first has ended, 900
  off.woken(4'000, 7);
  off.switched(4'000, 0, 0, true, 7);  // 100
  CHECK(totals.switches_missing == 2);
  CHECK(totals.tasks.at(7).off_cpu_ns.at(Wait::throttled) == 500 + 700 + 900 + 100);
  CHECK(totals.tasks.at(7).off_cpu_ns.at(Wait::wakeup) == 100);
  CHECK(totals.tasks.at(7).longest_throttle_ns == 900);
  // Not tracked: no account. A child of a tracked task is.
  off.switched(5'000, 8, 8, false, 0);
  off.switched(6'000, 0, 0, true, 8);
  CHECK_FALSE(totals.tasks.contains(8));
  off.forked(7, 9);
  off.switched(6'100, 9, 9, true, 7);
  off.switched(6'300, 7, 7, true, 9);
  CHECK(totals.tasks.at(9).off_cpu_ns.at(Wait::preempted) == 200);
  CHECK(totals.tasks.at(9).parent == 7);
}

TEST_CASE("account: the parts add up to the elapsed time, whatever the sources", "[real][monitors]") {
  UntarResult untar;
  untar.elapsed_s = 3.0;
  untar.user_s = 0.1;
  untar.system_s = 0.2;
  TaskTrace trace;
  trace.switches_seen = true;
  trace.pauses = 4;
  trace.longest_throttle_ns = 200'000'000;
  trace.off_cpu_ns = {{Wait::throttled, 2'000'000'000}, {Wait::wakeup, 100'000'000}, {Wait::preempted, 50'000'000}, {Wait::lock, 300'000'000}};
  TaskDelays delays;
  delays.blkio_ns = 2'100'000'000;
  SECTION("from a trace") {
    fill_account(untar, {trace}, {delays});
    // The 0.1 s of block I/O delay that the trace did not show are throttling, not unknown.
    CHECK(untar.account.throttled_s == Approx(2.1));
    CHECK(untar.account_sources.at("throttled").find("taskstats") != std::string::npos);
    CHECK(untar.account.runqueue_s == Approx(0.15));
    CHECK(untar.account.lock_s == Approx(0.3));
    CHECK(untar.account.unknown_s == Approx(0.15));
    CHECK(untar.longest_pause_s == Approx(0.2));
  }
  SECTION("from taskstats alone") {
    fill_account(untar, {}, {delays});
    CHECK(untar.account.throttled_s == Approx(2.1));
    CHECK(untar.account_sources.at("throttled").find("taskstats") == 0);
  }
  SECTION("from nothing") {
    fill_account(untar, {}, {});
    CHECK(untar.account.unknown_s == Approx(2.7));
    CHECK(untar.account_sources.at("throttled") == "not seen");
  }
  CHECK(untar.account.total_s() == Approx(untar.elapsed_s));
}

TEST_CASE("state: the kernel's own counters, brought to the present halving period", "[real][state]") {
  KernelWriteback seen;
  seen.jiffies = 1'000'000;
  seen.global_events = 40'000;
  seen.global_period = 12;
  seen.device_events = 80'000;
  seen.device_period = 10;  // two halvings behind: 20,000 of the 40,000 are the device's
  seen.period_time = 1'000'125;
  seen.bw_time_stamp = 999'500;
  seen.write_bandwidth = 10'000, seen.avg_write_bandwidth = 11'000, seen.dirty_ratelimit = 12'000, seen.balanced_dirty_ratelimit = 13'000;
  seen.dirty_limit = 122'071;
  BoxState state;
  set_from_kernel(state, seen, 250);
  CHECK(state.device_completions_pages == 20'000);
  CHECK(state.global_completions_pages == 40'000);
  CHECK(state.completion_share == 0.5);
  CHECK(state.completion_phase_s == 2.5);
  CHECK(state.bandwidth_stamp_age_s == 2.0);
  CHECK(state.balanced_dirty_ratelimit_pages_per_s == 13'000);
  CHECK(state.dirty_limit_pages == 122'071);
  // The period timer rests when everything has aged out.
  seen.period_time = 0;
  set_from_kernel(state, seen, 250);
  CHECK_FALSE(state.completion_phase_s);
  // A late deferrable timer: due now.
  seen.period_time = 999'000;
  set_from_kernel(state, seen, 250);
  CHECK(state.completion_phase_s == 3.0);
}

TEST_CASE("state: a cold device has no share, a warm one the share that its limit shows", "[real][state]") {
  StateInputs inputs;
  inputs.vmstat = "nr_dirty 12\nnr_writeback 0\nnr_dirty_threshold 48829\nnr_dirty_background_threshold 24415\n";
  // The floor on 6.18: (48829 - 12) / 8 = 6102 pages = 24408 kB.
  inputs.bdi_stats = "BdiWriteback: 0 kB\nBdiReclaimable: 0 kB\nBdiDirtyThresh: 24408 kB\nBdiWriteBandwidth: 0 kBps\n";
  inputs.cold = true;
  const auto cold = state_from(inputs);
  CHECK(cold.completion_share == 0.0);
  CHECK(cold.dirty_ratelimit_pages_per_s == 25600);
  CHECK(cold.foreign_dirty_pages == 12);
  inputs.cold = false;
  CHECK_FALSE(state_from(inputs).completion_share);  // anything from 0 to 1/8: not known
  inputs.bdi_stats = "BdiWriteback: 0 kB\nBdiReclaimable: 0 kB\nBdiDirtyThresh: 97656 kB\nBdiWriteBandwidth: 0 kBps\n";
  const auto warm = state_from(inputs);
  REQUIRE(warm.completion_share);
  CHECK(*warm.completion_share == Approx(0.5).epsilon(0.001));
}

TEST_CASE("state: others' dirty pages and cores mark a repeat above the limit, not at it", "[real][state]") {
  std::vector<TimelineRow> rows(3);
  for (int i = 0; i < 3; ++i) {
    rows[static_cast<std::size_t>(i)].t_s = i;
    rows[static_cast<std::size_t>(i)].nr_dirty_pages = 1000 + 256;
    rows[static_cast<std::size_t>(i)].nr_writeback_pages = 100;
    rows[static_cast<std::size_t>(i)].wb_reclaimable_pages = 1000;
    rows[static_cast<std::size_t>(i)].wb_writeback_pages = 100;
  }
  auto foreign = foreign_dirty(rows, 0, 2);
  CHECK(foreign.dirty_pages_mean == Approx(256));
  CHECK(disturbances(foreign, {}).empty());
  foreign.dirty_pages_mean = 257;
  CHECK(disturbances(foreign, {}).size() == 1);
  foreign.cpus = 0.31;
  CHECK(disturbances(foreign, {}).size() == 2);
}

}  // namespace spillway::real
