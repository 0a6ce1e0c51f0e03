/// The real pipeline on whatever box runs the tests: what is asserted must hold on a busy machine too.
#include <catch2/catch.hpp>

#include <chrono>
#include <thread>

#include "tests/support/skip.hpp"
#include "tests/support/temp_dir.hpp"
#include "workload/real/pipeline/cpu_burner.hpp"
#include "workload/real/pipeline/pipeline.hpp"
#include "workload/real/pipeline/stage_queue.hpp"

namespace spillway::real {
namespace {

PipelineSpec small() {
  PipelineSpec spec;
  spec.sources = 2;
  spec.in_flight = 2;
  spec.request = Bytes{4096};
  spec.requests = 400;
  spec.variation = 0;
  StageSpec stage;
  stage.name = "serial";
  stage.cpu_per_request = std::chrono::microseconds{200};
  spec.stages = {stage};
  return spec;
}

PipelineOutcome run(const PipelineSpec& spec, const std::string& directory = "/nowhere") {
  auto outcome = run_pipeline(spec, directory, 1);
  if (!outcome) FAIL(outcome.error().what);
  // Through the JSON, as the box does it.
  auto back = outcome_from(to_json(*outcome));
  if (!back) FAIL(back.error().what);
  return *std::move(back);
}

double cpu_s(const PipelineOutcome& outcome, const std::string& stage) {
  double sum = 0;
  for (const auto& use : outcome.threads)
    if (use.stage == stage) sum += static_cast<double>(use.cpu_ns) * 1e-9;
  return sum;
}

}  // namespace

TEST_CASE("burner: the thread's CPU time is what was asked for", "[real][pipeline]") {
  const std::int64_t begin = thread_cpu_ns();
  for (int i = 0; i < 50; ++i) burn(std::chrono::microseconds{400});
  const double used_ms = static_cast<double>(thread_cpu_ns() - begin) * 1e-6;
  CHECK(used_ms >= 20);
  CHECK(used_ms < 22);
  burn(Duration{0});
}

TEST_CASE("real pipeline: every request goes through every stage once, and costs what was stated", "[real][pipeline]") {
  PipelineSpec spec = small();
  StageSpec inline_stage;
  inline_stage.name = "inline";
  inline_stage.threads = 0;
  inline_stage.cpu_per_request = std::chrono::microseconds{100};
  spec.stages.push_back(inline_stage);
  const auto outcome = run(spec);
  CHECK(outcome.requests == 400);
  CHECK(outcome.latencies_ns.size() == 400);
  REQUIRE(outcome.threads.size() == 3);  // two sources, one thread; the inline stage has none
  CHECK(outcome.threads[0].requests + outcome.threads[1].requests == 400);
  CHECK(outcome.threads[2].requests == 400);
  // 400 x (200 + 100) us, and no more than the queues' own cost on top: at most 60 us a request on any box.
  CHECK(cpu_s(outcome, "serial") >= 0.120);
  CHECK(cpu_s(outcome, "serial") < 0.144);
  CHECK(outcome.elapsed_s >= 0.120);
}

TEST_CASE("real pipeline: a lock makes two threads one, and its waiting is booked", "[real][pipeline]") {
  if (std::thread::hardware_concurrency() < 2) return test::skip("needs two CPUs");
  PipelineSpec spec = small();
  spec.in_flight = 4;
  spec.stages[0].threads = 2;
  spec.stages[0].cpu_per_request = Duration{0};
  spec.stages[0].lock = "pool";
  spec.stages[0].lock_hold = std::chrono::microseconds{300};
  const auto outcome = run(spec);
  const LockUse& lock = outcome.locks.at("pool");
  CHECK(lock.acquired == 400);
  CHECK(lock.held_ns >= 120'000'000);
  // Two threads of which each sleeps only where the other holds the lock: how often they meet is up to the scheduler
  // (both on one core, they hardly do), that they never run at once is not.
  CHECK(lock.contended > 0);
  CHECK(lock.wait_ns > 0);
  CHECK(outcome.elapsed_s >= 0.120);  // two threads, yet not faster than one
  Record record;
  record.box.cpus = 2;
  fill_record(record, spec, outcome);
  REQUIRE(record.stages.size() == 2);
  CHECK(record.stages[1].lock_held_pct > 50);
  CHECK(record.stages[1].lock_wait_s > 0);
  CHECK(record.counters.at("lock.pool.acquired") == 400);
}

TEST_CASE("real pipeline: a device stage moves every byte through the file system", "[real][pipeline]") {
  const test::TempDir folder{"pipeline"};
  for (const char* rw : {"write", "randread"})
    for (const bool blocking : {true, false}) {
      CAPTURE(rw, blocking);
      PipelineSpec spec = small();
      spec.requests = 64;
      spec.rw = rw;
      spec.stages[0].device = true;
      spec.stages[0].blocking = blocking;
      const auto outcome = run(spec, folder.path);
      CHECK(outcome.requests == 64);
      CHECK(outcome.device_busy_pct > 0);
      CHECK(outcome.durable_s >= outcome.elapsed_s);
      CHECK(std::filesystem::is_empty(folder.path));  // its file is gone
    }
  PipelineSpec spec = small();
  spec.stages[0].device = true;
  CHECK_FALSE(run_pipeline(spec, folder.path / "nowhere", 1));
}

TEST_CASE("real pipeline: a link passes its bytes no faster than its rate", "[real][pipeline]") {
  PipelineSpec spec = small();
  spec.requests = 100;
  spec.stages[0].cpu_per_request = Duration{0};
  spec.stages[0].link = true;
  spec.link_rate = BytesPerSec{4'096'000};  // a request a millisecond
  const auto outcome = run(spec);
  CHECK(outcome.elapsed_s >= 0.100);
  CHECK(outcome.link_busy_pct > 50);
}

TEST_CASE("real pipeline: a pool that grows with its queue leaves its threads asleep while few wait", "[real][pipeline]") {
  PipelineSpec spec = small();
  spec.sources = 1;
  spec.stages[0].threads = 3;
  spec.stages[0].requests_per_thread = 20;  // never more than two wait
  const auto outcome = run(spec);
  CHECK(outcome.threads[1].requests == 400);
  CHECK(outcome.threads[2].requests == 0);
  CHECK(outcome.threads[3].requests == 0);
}

TEST_CASE("real pipeline: a thread's slice is set and read back, or the kernel's answer is told", "[real][pipeline]") {
  PipelineSpec spec = small();
  CHECK(pipeline_available(spec));
  spec.hosts.resize(2);
  CHECK(pipeline_available(spec).error().kind == ErrorKind::unsupported);
  spec.hosts.clear();
  const Duration before = slice_now();
  spec.scheduler_slice = std::chrono::milliseconds{5};
  if (const auto able = pipeline_available(spec); !able) {
    CHECK(able.error().kind == ErrorKind::unsupported);
    return test::skip(able.error().what);
  }
  CHECK(slice_now() == before);  // asked in a thread of its own
  std::thread{[] {
    CHECK(set_slice(std::chrono::milliseconds{5}));
    CHECK(slice_now() == std::chrono::milliseconds{5});
  }}.join();
  CHECK(run(spec).requests == 400);
}

TEST_CASE("stage queue: what was pushed before the end is served, nothing after", "[real][pipeline]") {
  StageQueue queue{1, 0};
  queue.push({1, 0, 0, 0});
  queue.close();
  ThreadAccount account{"test", 1};
  CHECK(queue.pop(0, account)->number == 1);
  CHECK_FALSE(queue.pop(0, account));
}

}  // namespace spillway::real
