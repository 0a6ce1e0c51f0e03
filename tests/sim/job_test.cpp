// Jobs in the simulated box: closed forms, where each byte came from, order, memory, and every task's account.

#include <catch2/catch.hpp>
#include <cmath>

#include "sim/box/box.hpp"

using namespace spillway;
using namespace spillway::sim;
using namespace std::chrono_literals;
using Kind = JobInputs::Kind;

namespace {

/// A disk that reads 100 and writes 50 MB/s under 2 GiB of RAM; no untars, no sync.
BoxInputs box_with(std::vector<JobInputs> jobs) {
  BoxInputs in;
  in.memory.ram = Bytes{2 * kGiB};
  in.memory.dirtyable = Bytes{2'000 * kMB};
  in.device.kind = DeviceInputs::Kind::fixed;
  in.device.read_rate = BytesPerSec{100 * kMB};
  in.device.write_rate = BytesPerSec{50 * kMB};
  in.replay.untars = 0;
  in.replay.sync_after = false;
  in.sample_every = Duration{0};
  in.jobs = std::move(jobs);
  return in;
}

BoxOutputs run_box(const BoxInputs& in) {
  auto out = simulate(in);
  if (!out) FAIL(out.error().what);
  for (const JobOutputs& job : out->jobs)
    for (const JobInstance& i : job.instances) {
      CAPTURE(job.name);
      CHECK(i.account.total() == i.elapsed);
    }
  return std::move(*out);
}

const JobInstance& only(const BoxOutputs& out, std::size_t job) { return out.jobs.at(job).instances.at(0); }
double seconds(const JobInstance& i) { return to_seconds(i.elapsed); }

JobInputs job(std::string name, Kind kind, std::int64_t mb, std::string file = "") {
  JobInputs j;
  j.name = std::move(name);
  j.kind = kind;
  j.size = Bytes{mb * kMB};
  j.file = std::move(file);
  return j;
}

}  // namespace

TEST_CASE("job: a first read takes the disk's time, the second one the copy's", "[sim][job]") {
  JobInputs first = job("first", Kind::read, 400, "f"), second = job("second", Kind::read, 400, "f");
  second.after = 0;
  const BoxOutputs out = run_box(box_with({first, second}));
  CHECK(seconds(only(out, 0)) == Approx(4.0).epsilon(0.01));
  CHECK(only(out, 0).read_from_device == to_bytes(to_pages_ceil(Bytes{400 * kMB})));
  CHECK(only(out, 0).read_from_cache == Bytes{0});
  CHECK(only(out, 0).account.device > 3500ms);
  // 97,657 pages, each read and written once, at the memory's 20 GB/s: a little more than 0.4 us of CPU time a page.
  CHECK(seconds(only(out, 1)) == Approx(97'657 * 8192 / 20e9).epsilon(0.01));
  CHECK(only(out, 1).read_from_device == Bytes{0});
  CHECK(only(out, 1).read_from_cache == only(out, 0).read_from_device);
  CHECK(out.device.read == only(out, 0).read_from_device);
  CHECK(only(out, 1).start >= only(out, 0).start + only(out, 0).elapsed);
}

TEST_CASE("job: a fresh buffer costs a fault for each page, and shrinks what may be dirty while it lives", "[sim][job]") {
  JobInputs warm = job("warm", Kind::read, 400, "f"), read = job("read", Kind::read, 400, "f"), think = job("think", Kind::compute, 0);
  read.after = 0;
  read.anonymous = Bytes{400 * kMB};
  think.compute = 1s;
  think.continues = 1;
  BoxInputs in = box_with({warm, read, think});
  in.sample_every = 10ms;
  const BoxOutputs out = run_box(in);
  CHECK(seconds(only(out, 1)) == Approx(97'657 * (0.4e-6 + 0.6e-6) + 97'657 / 256.0 * 0.6e-6).epsilon(0.01));
  CHECK(seconds(only(out, 2)) == Approx(1.0));
  CHECK(only(out, 2).account.user == 1s);
  std::int64_t least = INT64_MAX;
  for (const auto& row : out.timeline) least = std::min(least, row.threshold);
  // 20 % is 819/4096; 2,000 MB are 488,281 pages, of which the buffer takes 97,656 or 97,657.
  CHECK(out.timeline.front().threshold == 488'281 * 819 / 4096);
  CHECK(std::abs(least - (488'281 - 97'657) * 819 / 4096) <= 1);
}

TEST_CASE("job: before 3.14 anonymous memory stays dirtyable", "[sim][job]") {
  JobInputs fill = job("fill", Kind::compute, 0);
  fill.anonymous = Bytes{400 * kMB};
  fill.compute = 100ms;
  BoxInputs in = box_with({fill});
  in.kernel = *kernel_version("3.10");
  in.sample_every = 10ms;
  for (const auto& row : run_box(in).timeline) CHECK(row.threshold == 488'281 * 819 / 4096);
}

TEST_CASE("job: a file larger than memory comes from the disk again, and pages add up", "[sim][job]") {
  JobInputs first = job("first", Kind::read, 3000, "f"), second = job("second", Kind::read, 3000, "f");
  second.after = 0;
  const BoxOutputs out = run_box(box_with({first, second}));
  const Bytes whole = to_bytes(to_pages_ceil(Bytes{3000 * kMB}));
  for (std::size_t k = 0; k < 2; ++k) CHECK(only(out, k).read() == whole);
  // First in, first out: the second reader finds nothing of what the first left, but what no window has pushed out yet.
  CHECK(only(out, 1).read_from_device > whole / 10 * 9);
  CHECK(out.cache.evicted * 4096 == 2 * whole.value() - out.cache.files.at(0).cached.value() - only(out, 1).read_from_cache.value());
}

TEST_CASE("job: buffered writes are dirtied once, throttled at the limit, and durable after sync", "[sim][job]") {
  BoxInputs in = box_with({job("w", Kind::write, 1500)});
  in.memory.dirty.dirty_bytes = Bytes{200 * kMB};
  in.memory.dirty.background_bytes = Bytes{100 * kMB};
  in.replay.sync_after = true;
  const BoxOutputs out = run_box(in);
  CHECK(out.pages_dirtied == to_pages_ceil(Bytes{1500 * kMB}).value());
  CHECK(out.pages_written == out.pages_dirtied);
  CHECK(only(out, 0).account.throttled > only(out, 0).elapsed / 2);
  CHECK(to_seconds(out.durable) == Approx(30.0).epsilon(0.03));  // 1500 MB at 50 MB/s
  CHECK(only(out, 0).pauses > 100);
  CHECK(out.jobs[0].latency_max >= out.jobs[0].latency_p99);
  CHECK(out.jobs[0].latency_p99 >= out.jobs[0].latency_p50);
}

TEST_CASE("job: end_fsync and fsync wait for the disk inside the job's time", "[sim][job]") {
  JobInputs w = job("w", Kind::write, 100);
  SECTION("at the end") { w.end_fsync = true; }
  SECTION("every 10 writes") { w.fsync_every = 10; }
  const BoxOutputs out = run_box(box_with({w}));
  CHECK(seconds(only(out, 0)) >= 100.0 / 50);
  CHECK(seconds(only(out, 0)) == Approx(2.0).epsilon(0.15));
  CHECK(only(out, 0).account.device > 1500ms);
  CHECK(out.pages_written >= 24'414);
}

TEST_CASE("job: O_DIRECT moves at the disk's rate and touches neither cache nor dirty memory", "[sim][job]") {
  JobInputs w = job("w", Kind::write, 100), r = job("r", Kind::read, 100);
  w.direct = r.direct = true;
  r.after = 0;
  const BoxOutputs out = run_box(box_with({w, r}));
  CHECK(seconds(only(out, 0)) == Approx(2.0).epsilon(0.05));
  CHECK(seconds(only(out, 1)) == Approx(1.0).epsilon(0.05));
  CHECK(out.pages_dirtied == 0);
}

TEST_CASE("job: random writes visit each block once, random reads of a cold file cost a transfer each", "[sim][job]") {
  JobInputs w = job("w", Kind::randwrite, 0), r = job("r", Kind::randread, 0);
  w.bs = r.bs = Bytes{4096};
  w.size = r.size = Bytes{4096 * 3000};
  r.after = 0;
  BoxInputs in = box_with({w, r});
  in.device.latency = 100us;
  const BoxOutputs out = run_box(in);
  CHECK(only(out, 0).writes == 3000);
  CHECK(out.pages_dirtied == 3000);
  CHECK(only(out, 1).reads == 3000);
  CHECK(only(out, 1).read_from_device + only(out, 1).read_from_cache == Bytes{4096 * 3000});
  // 41 us at 100 MB/s and 100 us of latency for each that was not read ahead.
  const double transfers = static_cast<double>(out.device.reads);
  CHECK(seconds(only(out, 1)) == Approx(transfers * (4096 / 100e6 + 100e-6)).epsilon(0.15));
}

TEST_CASE("job: a rate is kept, and the waiting for it is nobody's fault", "[sim][job]") {
  JobInputs w = job("w", Kind::write, 20);
  w.rate = BytesPerSec{10 * kMB};
  w.bs = Bytes{64 * kKiB};
  const BoxOutputs out = run_box(box_with({w}));
  CHECK(seconds(only(out, 0)) == Approx(2.0).epsilon(0.02));
  CHECK(only(out, 0).account.unknown > 1900ms);
}

TEST_CASE("job: create, unlink and probe count their operations", "[sim][job]") {
  JobInputs c = job("c", Kind::create, 0), u = job("u", Kind::unlink, 1), p = job("p", Kind::probe, 0);
  c.nrfiles = 200;
  u.nrfiles = 50;
  u.filesize = Bytes{8192};
  p.runtime = 1s;
  const BoxOutputs out = run_box(box_with({c, u, p}));
  CHECK(only(out, 0).others == 200);
  CHECK(only(out, 1).others == 50);
  CHECK(only(out, 2).others == 10);
  CHECK(out.jobs[2].latency_max > 0ns);
}

TEST_CASE("job: eight readers of eight files share the disk", "[sim][job]") {
  JobInputs r = job("r", Kind::read, 50);
  r.numjobs = 8;
  BoxInputs in = box_with({r});
  in.cpu.cores = 8;
  const BoxOutputs out = run_box(in);
  double last = 0;
  for (const JobInstance& i : out.jobs[0].instances) {
    CHECK(i.read_from_device == to_bytes(to_pages_ceil(Bytes{50 * kMB})));
    last = std::max(last, seconds(i));
  }
  CHECK(last == Approx(4.0).epsilon(0.02));  // 400 MB at 100 MB/s
}

TEST_CASE("job: a cold archive is read once from its disk, then from the cache", "[sim][job]") {
  BoxInputs in = box_with({});
  auto catalogue = std::make_shared<FileCatalogue>();
  for (int f = 0; f < 100; ++f) catalogue->files.push_back({Bytes{1'000'000}, 0});
  in.replay.catalogue = catalogue;
  in.replay.untars = 3;
  in.replay.archive_rate = BytesPerSec{50 * kMB};
  in.replay.archive_cold = true;
  const BoxOutputs cold = run_box(in);
  in.replay.archive_cold = false;
  const BoxOutputs hot = run_box(in);
  CHECK(to_seconds(cold.untars[0].elapsed) == Approx(2.0).epsilon(0.03));  // 100 MB at 50 MB/s
  CHECK(cold.untars[0].account.device > 1s);
  CHECK(to_seconds(cold.untars[2].elapsed) == Approx(to_seconds(hot.untars[2].elapsed)).epsilon(0.05));
  CHECK(cold.archive_from_device.value() == (100LL * (512 + 1'000'448) + 4095) / 4096 * 4096);
  for (const auto& u : cold.untars) CHECK(u.account.total() == u.elapsed);
}

TEST_CASE("job: nonsense is refused with a sentence", "[sim][job]") {
  const auto refused = [](JobInputs a, JobInputs b) {
    const auto out = simulate(box_with({std::move(a), std::move(b)}));
    REQUIRE_FALSE(out);
    CHECK(out.error().kind == ErrorKind::bad_input);
    return out.error().what;
  };
  const JobInputs good = job("good", Kind::write, 2);
  JobInputs bad = job("bad", Kind::write, 0);
  CHECK(refused(good, bad).find("size") != std::string::npos);
  bad = job("bad", Kind::read, 2);
  bad.continues = 1;
  CHECK(refused(good, bad).find("waits for") != std::string::npos);
  bad.continues = 0;
  bad.numjobs = 2;
  CHECK(refused(good, bad).find("numjobs") != std::string::npos);
  bad = job("bad", Kind::read, 2);
  bad.anonymous = Bytes{4 * kGiB};
  CHECK(refused(good, bad).find("anonymous") != std::string::npos);
}
