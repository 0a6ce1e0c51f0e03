// Properties of the whole simulated box: the same bytes from the same seed, every nanosecond and page accounted for,
// closed forms, and bounds on its cost.

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <array>
#include <cmath>

#include "sim/box/box.hpp"
#include "sim/random.hpp"

using namespace spillway;
using namespace spillway::sim;
using namespace std::chrono_literals;

namespace {

std::shared_ptr<const FileCatalogue> lognormal_files(std::uint64_t seed, int files, std::int64_t bytes, int per_directory) {
  Random random{seed, "test: file sizes"};
  std::vector<double> weights(static_cast<std::size_t>(files));
  double sum = 0;
  for (auto& w : weights) sum += (w = random.lognormal(0, 1.35));
  auto catalogue = std::make_shared<FileCatalogue>();
  catalogue->directories = (files + per_directory - 1) / per_directory;
  for (int i = 0; i < files; ++i)
    catalogue->files.push_back(
        {Bytes{1 + static_cast<std::int64_t>(weights[static_cast<std::size_t>(i)] / sum * static_cast<double>(bytes))},
         i / per_directory});
  return catalogue;
}

BoxInputs small_box() {
  BoxInputs in;
  in.memory.dirty.dirty_bytes = Bytes{100 * kMB};
  in.memory.dirty.background_bytes = Bytes{50 * kMB};
  in.replay.catalogue = lognormal_files(7, 300, 30 * kMB, 100);
  in.replay.untars = 6;
  return in;
}

BoxOutputs run_box(const BoxInputs& in) {
  auto out = simulate(in);
  if (!out) FAIL(out.error().what);
  return std::move(*out);
}

/// Everything that a result holds, as text: equal texts are equal results.
std::string as_text(const BoxOutputs& out) {
  std::string s;
  for (const auto& u : out.untars)
    s += fmt::format("u {} {} {} {} {} {} {} {} {} {} {} {} {}\n", u.index, u.start.count(), u.elapsed.count(),
                     u.account.user.count(), u.account.system.count(), u.account.runqueue.count(),
                     u.account.throttled.count(), u.account.device.count(), u.account.lock.count(), u.account.log.count(),
                     u.voluntary_switches, u.throttle_decisions, u.pauses);
  for (const auto& t : out.timeline)
    s += fmt::format("t {} {} {} {} {} {} {}\n", t.at.count(), t.nr_dirty, t.nr_writeback, t.device_share,
                     t.avg_write_bandwidth, t.b_dirty, t.device_writes);
  for (const auto& p : out.phases) s += fmt::format("p {} {} {}\n", p.name, p.start.count(), p.elapsed.count());
  s += fmt::format("{} {} {}\n", out.events, out.pages_written, out.device.written.value());
  return s;
}

/// The founding mail, first series: 3.4 GB in 5,000 files, eight times, a kernel of 2012, nothing known of the RAM.
BoxInputs founding_mail() {
  BoxInputs in;
  in.kernel = *kernel_version("3.4");
  in.hz = 1000;
  in.cpu.cores = 16;
  in.cpu.numa_nodes = 2;
  in.memory.ram = Bytes{103 * kGiB};
  in.memory.dirtyable = Bytes{98 * kGiB};
  in.device.kind = DeviceInputs::Kind::fixed;
  in.device.wbt = false;
  in.device.write_rate = BytesPerSec{36'500'000};
  in.device.max_request = Bytes{512 * kKiB};
  in.filesystem.allocation_groups = 32;
  in.filesystem.log_size = Bytes{2 * kGiB};
  in.replay.catalogue = lognormal_files(1, 5000, 3'400 * kMB, 2500);
  in.replay.engine.system_per_page = 4300ns;  // the mail: 4.9 s of system time for 830,000 pages
  return in;
}

}  // namespace

TEST_CASE("box: the same inputs give the same bytes", "[sim][box]") {
  const std::string first = as_text(run_box(small_box()));
  CHECK(first == as_text(run_box(small_box())));
  BoxInputs stacked = small_box();
  stacked.device.kind = DeviceInputs::Kind::stacked;
  stacked.replay.at_once = 3;
  CHECK(as_text(run_box(stacked)) == as_text(run_box(stacked)));
}

TEST_CASE("box: the order of ties moves finish times by no more than one pause", "[sim][box]") {
  const BoxOutputs plain = run_box(small_box());
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    BoxInputs in = small_box();
    in.seed = seed;
    in.shuffle_ties = true;
    const BoxOutputs out = run_box(in);
    CAPTURE(seed);
    for (std::size_t k = 0; k < out.untars.size(); ++k) {
      CAPTURE(k);
      const Duration moved = (out.untars[k].start + out.untars[k].elapsed) - (plain.untars[k].start + plain.untars[k].elapsed);
      CHECK(std::abs(to_seconds(moved)) <= 0.2);
    }
    CHECK(std::abs(to_seconds(out.durable - plain.durable)) <= 0.11);  // one slice of the device's limit
  }
}

TEST_CASE("box: every task's parts of time add up to its elapsed time, to the nanosecond", "[sim][box]") {
  BoxInputs in = small_box();
  SECTION("one after another") {}
  SECTION("four at once on two cores") { in.replay.at_once = 4; }
  SECTION("on a bounded queue") { in.device.kind = DeviceInputs::Kind::fixed; }
  SECTION("with a log that is too small") { in.filesystem.log_size = Bytes{1 * kMiB}; }
  SECTION("past the page cache") { in.replay.engine.direct = true; }
  SECTION("with fsync after each file") {
    in.replay.engine.fsync_each = true;
    in.replay.untars = 1;
  }
  const BoxOutputs out = run_box(in);
  for (const UntarOutputs& u : out.untars) {
    CAPTURE(u.index);
    CHECK(u.account.total() == u.elapsed);
  }
  for (const PhaseOutputs& p : out.phases) CHECK(p.account.total() == p.elapsed);
}

TEST_CASE("box: every page dirtied is written once, in random small experiments", "[sim][box]") {
  Random random{2026, "test: random experiments"};
  for (int i = 0; i < 150; ++i) {
    BoxInputs in;
    in.seed = random.bits();
    in.shuffle_ties = random.below(2) == 0;
    in.hz = std::array{100, 250, 300, 1000}[random.below(4)];
    in.cpu.cores = 1 + static_cast<int>(random.below(5));
    in.memory.dirty.dirty_bytes = Bytes{static_cast<std::int64_t>(random.below(40)) * kMB + 8 * kMB};
    in.memory.dirty.background_bytes = in.memory.dirty.dirty_bytes / (1 + static_cast<std::int64_t>(random.below(6)));
    in.memory.writeback_interval = std::chrono::seconds{random.below(3)};
    in.memory.dirty_expire = std::chrono::seconds{random.below(4)};
    in.device.kind = std::array{DeviceInputs::Kind::throttled, DeviceInputs::Kind::stacked,
                                DeviceInputs::Kind::fixed}[random.below(3)];
    in.device.write_rate = BytesPerSec{static_cast<std::int64_t>(5 + random.below(100)) * kMB};
    in.device.queue_depth = 1 + static_cast<int>(random.below(200));
    in.device.write_iops = random.below(3) == 0 ? 500 : 0;
    in.filesystem.log_size = Bytes{(1 + static_cast<std::int64_t>(random.below(20))) * kMiB};
    in.before.global_completions = static_cast<std::int64_t>(random.below(50000));
    in.replay.catalogue = lognormal_files(in.seed, 20 + static_cast<int>(random.below(100)), 8 * kMB, 30);
    in.replay.untars = 1 + static_cast<int>(random.below(6));
    in.replay.at_once = 1 + static_cast<int>(random.below(4));
    in.replay.engine.writers = 1 + static_cast<int>(random.below(3));
    in.replay.engine.write_size = Bytes{std::int64_t{4096} << random.below(9)};
    in.replay.skeleton_before = random.below(3) == 0;
    CAPTURE(i, in.seed);
    const BoxOutputs out = run_box(in);
    std::int64_t pages = 0;
    for (const auto& f : in.replay.catalogue->files) pages += to_pages_ceil(f.size).value();
    CHECK(out.pages_dirtied == pages * in.replay.untars);
    CHECK(out.pages_written == out.pages_dirtied);
    CHECK(out.device.written - out.device.metadata_written >= to_bytes(Pages{out.pages_written}));
    if (in.replay.engine.writers == 1)
      for (const auto& u : out.untars) CHECK(u.account.total() == u.elapsed);
  }
}

TEST_CASE("box: a device-bound run takes as long as its bytes at the device's rate", "[sim][box]") {
  for (const auto kind : {DeviceInputs::Kind::throttled, DeviceInputs::Kind::stacked, DeviceInputs::Kind::fixed}) {
    BoxInputs in = small_box();
    in.device.kind = kind;
    const BoxOutputs out = run_box(in);
    const double expected = to_seconds(time_to_move(out.device.written, in.device.write_rate));
    CAPTURE(static_cast<int>(kind), expected, to_seconds(out.durable));
    CHECK(to_seconds(out.durable) > expected * 0.98);
    CHECK(to_seconds(out.durable) < expected * 1.10);
  }
}

TEST_CASE("box: an endless writer settles at the setpoint and the device's rate", "[sim][box]") {
  BoxInputs in;
  in.memory.dirty.dirty_bytes = Bytes{500 * kMB};
  in.memory.dirty.background_bytes = Bytes{250 * kMB};
  auto one = std::make_shared<FileCatalogue>();
  one->files.push_back({Bytes{3 * kGB}, 0});
  in.replay.catalogue = one;
  const int writers = GENERATE(1, 4);
  in.replay.untars = in.replay.at_once = writers;
  if (writers == 4) one->files[0].size = Bytes{800 * kMB};
  const BoxOutputs out = run_box(in);
  double level = 0, rate = 0;
  int n = 0;
  for (const TimelineRow& t : out.timeline) {
    if (t.at < 40s || t.at > 60s) continue;
    level += static_cast<double>(t.nr_dirty + t.nr_writeback);
    rate += static_cast<double>(t.dirty_ratelimit);
    ++n;
  }
  REQUIRE(n > 150);
  CHECK(level / n == Approx(106812).epsilon(0.03));         // (freerun + limit) / 2
  CHECK(rate / n == Approx(10240.0 / writers).epsilon(0.15));  // 40 MiB/s in pages, shared
  // Over that time it wrote what the device does.
  const auto& a = out.timeline[400];
  const auto& b = out.timeline[600];
  CHECK(static_cast<double>(b.device_dirtied - a.device_dirtied) == Approx(20 * 10240.0).epsilon(0.03));
}

TEST_CASE("box: data written once and left alone is on disk between 30 and 36 seconds after", "[sim][box]") {
  BoxInputs in = small_box();
  in.memory.dirty.dirty_bytes = Bytes{2 * kGB};
  in.memory.dirty.background_bytes = Bytes{1 * kGB};
  in.device.write_rate = BytesPerSec{500 * kMB};
  in.before.device_completions = in.before.global_completions = 1'000'000;  // the device has the whole share
  in.replay.untars = 2;
  in.replay.gap = 60s;
  in.replay.sync_after = false;
  const BoxOutputs out = run_box(in);
  Duration half_gone{};
  for (const TimelineRow& t : out.timeline)
    if (t.device_written > 30 * kMB / 4096 / 2 && half_gone == Duration{0}) half_gone = t.at;
  CHECK(half_gone >= 30s);
  CHECK(half_gone <= 36s);
}

TEST_CASE("box: O_DIRECT never throttles, and each untar takes what the device takes", "[sim][box]") {
  BoxInputs in = small_box();
  in.replay.engine.direct = true;
  const BoxOutputs out = run_box(in);
  for (const auto& u : out.untars) {
    CHECK(u.account.throttled == 0ns);
    CHECK(u.account.device > u.elapsed / 2);
  }
  CHECK(out.pages_dirtied == 0);
}

TEST_CASE("box: nonsense is refused with a sentence", "[sim][box]") {
  BoxInputs in = small_box();
  in.device.write_rate = BytesPerSec{0};
  const auto out = simulate(in);
  REQUIRE_FALSE(out);
  CHECK(out.error().kind == ErrorKind::bad_input);
  CHECK(out.error().what.find("rate") != std::string::npos);
  in = small_box();
  in.hz = 60;
  CHECK_FALSE(simulate(in));
}

TEST_CASE("box: the founding mail with a constant device rate, and what it costs", "[sim][box]") {
  const BoxOutputs out = run_box(founding_mail());
  for (const auto& u : out.untars)
    UNSCOPED_INFO(fmt::format("untar {}: {:.2f} s, {:.2f} CPU s, {:.1f} %", u.index, to_seconds(u.elapsed),
                              to_seconds(u.account.cpu()), u.cpu_percent()));
  // Assumed: RAM, kernel 3.4, HZ 1000, one rate. Untars 1 to 4 at full CPU, the knee at 5 or 6, falling from there.
  for (int k = 0; k < 4; ++k) {
    CAPTURE(k);
    CHECK(out.untars[static_cast<std::size_t>(k)].cpu_percent() > 95);
  }
  CHECK(out.untars[5].cpu_percent() < 60);
  CHECK(out.untars[6].cpu_percent() < out.untars[5].cpu_percent());
  CHECK(out.untars[7].cpu_percent() < 12);
  CHECK(to_seconds(out.untars[0].elapsed) == Approx(5.03).epsilon(0.1));
  CHECK(to_seconds(out.untars[7].elapsed) == Approx(101.6).epsilon(0.15));
  CAPTURE(out.events);
  CHECK(out.events < 600'000);
}

TEST_CASE("box: cost per gigabyte does not grow with size", "[sim][box]") {
  const auto events_per_gb = [](int times) {
    BoxInputs in = small_box();
    in.memory.dirty.dirty_bytes = Bytes{500 * kMB};
    in.memory.dirty.background_bytes = Bytes{250 * kMB};
    in.sample_every = Duration{0};
    in.replay.catalogue = lognormal_files(3, 1200 * times, 150LL * times * kMB, 250);
    return static_cast<double>(run_box(in).events) / times;
  };
  const double one = events_per_gb(1);
  CHECK(events_per_gb(10) < one * 1.15);
}

TEST_CASE("kernel versions: the table's rows are found by version, and nonsense is refused", "[sim][kernel]") {
  CHECK(kernel_version("6.18")->share_floor == ShareFloor::in_share);
  CHECK(kernel_version("6.12.3")->share_floor == ShareFloor::in_position_ratio);
  CHECK(kernel_version("6.1.0-18-amd64")->large_folios == false);
  CHECK(kernel_version("4.18.0-147.5.1.el8_1")->unwritten_extents == false);
  CHECK(kernel_version("3.2.0")->anonymous_is_dirtyable);
  CHECK_FALSE(kernel_version("3.16")->anonymous_is_dirtyable);
  CHECK(kernel_version("2.6.32")->foreground == Foreground::writes_itself);
  CHECK(kernel_version("3.1")->foreground == Foreground::writes_itself);
  CHECK(kernel_version("3.2")->foreground == Foreground::paused);
  CHECK_FALSE(kernel_version("2.6.18"));
  CHECK_FALSE(kernel_version("linux"));
}
