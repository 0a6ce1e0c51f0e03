// The full XFS under the whole box: what it costs, that nothing is lost, what the founding mail's knobs change, and the
// kernel workers of a run against a real list.

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "sim/device/presets.hpp"
#include "tests/sim/reference.hpp"

using namespace spillway;
using namespace spillway::sim;
using namespace spillway::test;
using namespace std::chrono_literals;

namespace {

BoxOutputs run_box(const BoxInputs& in) {
  auto out = simulate(in);
  if (!out) FAIL(out.error().what);
  return std::move(*out);
}

/// The standard run of the reference box on the full file system: 8 untars of 150 MB under 500 MB of dirty limit.
BoxInputs standard_run() {
  BoxInputs in = reference_inputs("a_quiet");
  in.filesystem.model = FilesystemInputs::Model::full;
  in.filesystem.allocsize = Bytes{128 * kKiB};
  in.before.global_completions = 25'000;
  in.before.next_halving = 1500ms;
  in.device.name = "loop0";
  in.device.major = 7;
  in.device.loop = true;
  in.sample_every = Duration{0};
  return in;
}

double extents_mean(const BoxOutputs& out) {
  return static_cast<double>(out.filesystem.extents) / static_cast<double>(std::max<std::int64_t>(1, out.filesystem.files_with_extents));
}

const WorkerOutputs* worker(const BoxOutputs& out, std::string_view name) {
  for (const auto& w : out.workers)
    if (w.name == name) return &w;
  return nullptr;
}

std::shared_ptr<const FileCatalogue> files_of(int files, Bytes size, int directories) {
  auto catalogue = std::make_shared<FileCatalogue>();
  catalogue->directories = directories;
  for (int i = 0; i < files; ++i) catalogue->files.push_back({size, i % directories});
  return catalogue;
}

/// The founding mail's file system and tree; kernel, memory and device are the caller's.
void set_founding_mail(BoxInputs& in) {
  in.filesystem.log_size = Bytes{2 * kGiB - 4096};
  in.filesystem.log_buffer = Bytes{256 * kKiB};
  in.filesystem.stripe_unit = Bytes{64 * kKiB};
  in.filesystem.stripe_width = Bytes{768 * kKiB};
  in.filesystem.swalloc = true;
  in.filesystem.allocsize = Bytes{128 * kKiB};
  in.replay.catalogue = files_of(5000, Bytes{680'000}, 2);
  in.replay.engine.system_per_page = 4300ns;
}

}  // namespace

TEST_CASE("full xfs: the founding mail costs at most 2,500,000 events", "[sim][xfs][box]") {
  BoxInputs in;
  in.filesystem.model = FilesystemInputs::Model::full;
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
  in.filesystem.size = Bytes{1 * kTiB};
  set_founding_mail(in);
  const BoxOutputs out = run_box(in);
  for (const auto& w : out.workers)
    UNSCOPED_INFO(fmt::format("{:12} {:28} {:3} workers {:7} runs {:8.3f} s", w.name, w.shown, w.count, w.runs, to_seconds(w.cpu)));
  CAPTURE(out.events, to_seconds(out.durable), extents_mean(out));
  CHECK(out.events < 2'500'000);
  CHECK(out.pages_written == out.pages_dirtied);
  // Before 3.10 the flusher is a thread, and allocations are a kworker's that it waits for.
  REQUIRE(worker(out, "flush"));
  CHECK(worker(out, "flush")->shown == "flush-254:0");
  REQUIRE(worker(out, "xfsalloc"));
  CHECK(worker(out, "xfsalloc")->runs >= 40'000);
  CHECK(worker(out, "xfsalloc")->shown.starts_with("kworker/"));
}

TEST_CASE("full xfs: the founding mail on its array costs at most 2,500,000 events", "[sim][xfs][box]") {
  // As experiments/xfs-untar.toml has it, phases before and sync included; the array is what makes the events.
  BoxInputs in;
  in.filesystem.model = FilesystemInputs::Model::full;
  in.kernel = *kernel_version("3.4");
  in.cpu.cores = 16;
  in.cpu.numa_nodes = 2;
  in.memory.ram = Bytes{110 * kGiB};
  device::DeviceSpec disk = device::hdd_7200_4tb();
  disk.hdd.capacity = Bytes{1'000 * kGB};
  disk.hdd.write_cache = Bytes{0};
  in.device.kind = DeviceInputs::Kind::model;
  in.device.model = device::raid(device::RaidLevel::raid6, 14, Bytes{64 * kKiB}, disk);
  in.device.model->raid.stripe_cache_rows = 16;
  in.device.wbt = false;
  in.device.queue_depth = 14 * 128;
  in.device.max_request = Bytes{512 * kKiB};
  in.filesystem.size = Bytes{11'000 * kGB};
  set_founding_mail(in);
  in.replay.remove_before = in.replay.skeleton_before = true;
  in.sample_every = Duration{0};
  const BoxOutputs out = run_box(in);
  CAPTURE(out.events, to_seconds(out.durable));
  CHECK(out.events < 2'500'000);
  CHECK(out.pages_written == out.pages_dirtied);
}

TEST_CASE("full xfs: every page is written once and the books balance, in random small experiments", "[sim][xfs][box]") {
  Random random{404, "test: random full experiments"};
  for (int i = 0; i < 60; ++i) {
    BoxInputs in;
    in.filesystem.model = FilesystemInputs::Model::full;
    in.seed = random.bits();
    in.shuffle_ties = random.below(2) == 0;
    in.kernel = kernel_versions()[random.below(kernel_versions().size())];
    in.kernel.foreground = Foreground::paused;
    in.hz = std::array{100, 250, 300, 1000}[random.below(4)];
    in.cpu.cores = 1 + static_cast<int>(random.below(5));
    in.memory.dirty.dirty_bytes = Bytes{static_cast<std::int64_t>(random.below(40)) * kMB + 8 * kMB};
    in.memory.dirty.background_bytes = in.memory.dirty.dirty_bytes / (1 + static_cast<std::int64_t>(random.below(6)));
    in.memory.writeback_interval = std::chrono::seconds{random.below(3)};
    in.memory.dirty_expire = std::chrono::seconds{random.below(4)};
    in.device.kind = std::array{DeviceInputs::Kind::throttled, DeviceInputs::Kind::stacked, DeviceInputs::Kind::fixed}[random.below(3)];
    in.device.write_rate = BytesPerSec{static_cast<std::int64_t>(5 + random.below(100)) * kMB};
    in.device.queue_depth = 1 + static_cast<int>(random.below(200));
    in.filesystem.size = Bytes{(1 + static_cast<std::int64_t>(random.below(20))) * kGiB};
    in.filesystem.log_size = Bytes{(8 + static_cast<std::int64_t>(random.below(20))) * kMiB};
    in.filesystem.log_buffer = Bytes{std::int64_t{16 * kKiB} << random.below(5)};
    in.filesystem.log_buffers = 2 + static_cast<int>(random.below(7));
    in.filesystem.external_log = random.below(4) == 0;
    in.filesystem.inode64 = random.below(3) != 0;
    if (random.below(2)) {
      in.filesystem.stripe_unit = Bytes{64 * kKiB};
      in.filesystem.stripe_width = Bytes{256 * kKiB};
      in.filesystem.swalloc = random.below(2) == 0;
    }
    if (random.below(2)) in.filesystem.allocsize = Bytes{std::int64_t{4096} << random.below(12)};
    if (random.below(6) == 0) in.filesystem.filled = random.uniform(0.1, 0.8);
    const int files = 20 + static_cast<int>(random.below(100));
    in.replay.catalogue = files_of(files, Bytes{static_cast<std::int64_t>(random.below(200'000))}, 1 + static_cast<int>(random.below(5)));
    in.replay.untars = 1 + static_cast<int>(random.below(6));
    in.replay.at_once = 1 + static_cast<int>(random.below(4));
    in.replay.engine.writers = 1 + static_cast<int>(random.below(3));
    in.replay.engine.write_size = Bytes{std::int64_t{4096} << random.below(9)};
    in.replay.engine.direct = random.below(8) == 0;
    in.replay.engine.fsync_each = random.below(8) == 0;
    in.replay.skeleton_before = random.below(3) == 0;
    in.replay.remove_before = random.below(3) == 0;
    CAPTURE(i, in.seed);
    const BoxOutputs out = run_box(in);  // audits blocks and log space at its end
    std::int64_t pages = 0;
    for (const auto& f : in.replay.catalogue->files) pages += to_pages_ceil(f.size).value();
    if (!in.replay.engine.direct) CHECK(out.pages_dirtied == pages * in.replay.untars);
    CHECK(out.pages_written == out.pages_dirtied);
    if (in.replay.engine.writers == 1)
      for (const auto& u : out.untars) CHECK(u.account.total() == u.elapsed);
    for (const PhaseOutputs& p : out.phases)
      if (p.name == "sync") CHECK(p.account.total() == p.elapsed);
    if (pages > 0) CHECK(out.filesystem.extents >= out.filesystem.files_with_extents);
  }
}

TEST_CASE("full xfs: a full file system ends the run with a sentence", "[sim][xfs][box]") {
  BoxInputs in;
  in.filesystem.model = FilesystemInputs::Model::full;
  in.filesystem.size = Bytes{1 * kGiB};
  in.memory.dirty.dirty_bytes = Bytes{500 * kMB};
  in.memory.dirty.background_bytes = Bytes{250 * kMB};
  in.device.write_rate = BytesPerSec{400 * kMB};
  in.replay.catalogue = files_of(200, Bytes{1 * kMB}, 4);
  const auto out = simulate(in);
  REQUIRE_FALSE(out);
  CHECK(out.error().what.find("full") != std::string::npos);
}

// -- the mail's knobs ------------------------------------------------------------------------------------------------

TEST_CASE("knob sunit/swidth/swalloc: aligned files cannot be merged, so the device sees several times the I/Os", "[sim][xfs][knob]") {
  const BoxOutputs with = run_box(standard_run());
  BoxInputs in = standard_run();
  in.filesystem.stripe_unit = in.filesystem.stripe_width = std::nullopt;
  in.filesystem.swalloc = false;
  const BoxOutputs without = run_box(in);
  const double ratio = static_cast<double>(with.device.writes) / static_cast<double>(without.device.writes);
  CAPTURE(with.device.writes, without.device.writes, ratio, to_seconds(with.durable), to_seconds(without.durable));
  // The real kernel: 7,253 and 1,445 I/Os, a ratio of 5.0, and the same time on a device without seeks (29.4 s).
  CHECK(ratio > 2.5);
  CHECK(with.device.writes > 4'800);
  CHECK(with.device.writes < 9'600);
  CHECK(to_seconds(with.durable) / to_seconds(without.durable) == Approx(1).epsilon(0.01));
}

TEST_CASE("knob swalloc: aligned to the width or the unit, either way apart", "[sim][xfs][knob]") {
  BoxInputs in = standard_run();
  in.filesystem.swalloc = false;
  const BoxOutputs unit = run_box(in), width = run_box(standard_run());
  in.filesystem.stripe_unit = in.filesystem.stripe_width = std::nullopt;
  const BoxOutputs neither = run_box(in);
  CAPTURE(unit.device.writes, width.device.writes, neither.device.writes, to_seconds(unit.durable), to_seconds(width.durable));
  // A file of a stripe unit or more begins on a boundary in both; only its distance to the next differs.
  CHECK(unit.device.writes > 2 * neither.device.writes);
  CHECK(width.device.writes > 2 * neither.device.writes);
  CHECK(to_seconds(width.durable) / to_seconds(unit.durable) == Approx(1).epsilon(0.01));
}

TEST_CASE("knob allocsize: nothing for files that are closed before they are written back", "[sim][xfs][knob]") {
  // The reference runs with 64k and 1m: the same I/Os (7.2k), the same seconds.
  BoxInputs in = standard_run();
  in.filesystem.allocsize = Bytes{64 * kKiB};
  const BoxOutputs small = run_box(in);
  in.filesystem.allocsize = Bytes{1 * kMiB};
  const BoxOutputs large = run_box(in);
  CAPTURE(small.device.writes, large.device.writes);
  CHECK(static_cast<double>(small.device.writes) / static_cast<double>(large.device.writes) == Approx(1).epsilon(0.05));
  CHECK(to_seconds(small.untars_end) == Approx(to_seconds(large.untars_end)).epsilon(0.03));
  CHECK(extents_mean(small) < 1.1);
}

TEST_CASE("knob allocsize: files that grow side by side get longer extents", "[sim][xfs][knob]") {
  // Four files of 150 MB in one directory, written together while the flusher works: they take turns on the disk in pieces
  // of what is reserved.
  const auto extents = [](std::optional<Bytes> allocsize) {
    BoxInputs in = standard_run();
    in.filesystem.stripe_unit = in.filesystem.stripe_width = std::nullopt;
    in.filesystem.swalloc = false;
    in.filesystem.allocsize = allocsize;
    in.filesystem.allocation_groups = 1;
    in.memory.dirty.dirty_bytes = Bytes{60 * kMB};
    in.memory.dirty.background_bytes = Bytes{10 * kMB};
    in.replay.catalogue = files_of(4, Bytes{150 * kMB}, 1);
    in.replay.untars = 1;
    in.replay.engine.writers = 4;
    return extents_mean(run_box(in));
  };
  const double k64 = extents(Bytes{64 * kKiB}), m16 = extents(Bytes{16 * kMiB}), dynamic = extents(std::nullopt);
  CAPTURE(k64, m16, dynamic);
  CHECK(m16 < k64);
  CHECK(dynamic < k64);
  CHECK(m16 <= 150.0 / 16 + 2);  // never more pieces than reservations
}

TEST_CASE("knob logbsize: fewer log writes for the same bytes, no other effect where nobody forces the log", "[sim][xfs][knob]") {
  BoxInputs in = standard_run();
  in.filesystem.stripe_unit = in.filesystem.stripe_width = std::nullopt;
  in.filesystem.swalloc = false;
  in.replay.catalogue = files_of(10'000, Bytes{4096}, 40);
  in.filesystem.log_buffer = Bytes{32 * kKiB};
  const BoxOutputs small = run_box(in);
  in.filesystem.log_buffer = Bytes{256 * kKiB};
  const BoxOutputs large = run_box(in);
  CAPTURE(small.filesystem.log_writes, large.filesystem.log_writes, to_seconds(small.durable), to_seconds(large.durable));
  const double ratio = static_cast<double>(small.filesystem.log_writes) / static_cast<double>(large.filesystem.log_writes);
  CHECK(ratio > 4);
  CHECK(ratio < 8.5);
  CHECK(to_seconds(small.untars_end) == Approx(to_seconds(large.untars_end)).epsilon(0.05));
}

TEST_CASE("knob largeio: only programs that ask stat for the block size would notice, and untars do not", "[sim][xfs][knob]") {
  BoxInputs in = standard_run();
  in.filesystem.largeio = false;
  const BoxOutputs off = run_box(in), on = run_box(standard_run());
  CHECK(off.durable == on.durable);
  CHECK(off.device.writes == on.device.writes);
  CHECK(off.events == on.events);
}

TEST_CASE("knob inode64: no effect below 2^32 inodes; above, inode32 spreads files over the groups", "[sim][xfs][knob]") {
  BoxInputs in = standard_run();
  in.filesystem.stripe_unit = in.filesystem.stripe_width = std::nullopt;
  in.filesystem.swalloc = false;
  const BoxOutputs small64 = run_box(in);
  in.filesystem.inode64 = false;
  const BoxOutputs small32 = run_box(in);
  CHECK(small32.durable == small64.durable);
  CHECK(small32.device.writes == small64.device.writes);
  // 16 TiB of 512-byte inodes: 2^35 of them.
  in.filesystem.size = Bytes{16 * kTiB};
  const BoxOutputs large32 = run_box(in);
  in.filesystem.inode64 = true;
  const BoxOutputs large64 = run_box(in);
  CAPTURE(large32.device.writes, large64.device.writes);
  // Files of one directory lie side by side and merge with inode64; with inode32 each begins in another group.
  CHECK(large32.device.writes > 2 * large64.device.writes);
}

TEST_CASE("knob log size: a small log makes creators wait", "[sim][xfs][knob]") {
  const auto wait = [](std::int64_t mib) {
    BoxInputs in = standard_run();
    in.filesystem.stripe_unit = in.filesystem.stripe_width = std::nullopt;
    in.filesystem.swalloc = false;
    in.filesystem.log_size = Bytes{mib * kMiB};
    in.replay.catalogue = files_of(15'000, Bytes{4096}, 60);
    in.replay.at_once = 4;
    return run_box(in);
  };
  const BoxOutputs small = wait(10), large = wait(512);
  CAPTURE(to_seconds(small.filesystem.log_space_wait), to_seconds(large.filesystem.log_space_wait));
  CHECK(small.filesystem.log_space_wait > 1s);
  CHECK(large.filesystem.log_space_wait < small.filesystem.log_space_wait / 10);
  CHECK(small.device.metadata_written > large.device.metadata_written);
  Duration logged{};
  for (const auto& u : small.untars) logged += u.account.log;
  CHECK(logged > 0ns);
}

TEST_CASE("full xfs: an aged file system gives files in more pieces", "[sim][xfs][box]") {
  const auto extents = [](double filled) {
    BoxInputs in = standard_run();
    in.filesystem.stripe_unit = in.filesystem.stripe_width = std::nullopt;
    in.filesystem.swalloc = false;
    in.filesystem.size = Bytes{20 * kGiB};
    in.filesystem.filled = filled;
    in.replay.catalogue = files_of(20, Bytes{20 * kMB}, 4);
    in.replay.untars = 2;
    return extents_mean(run_box(in));
  };
  const double fresh = extents(0), old = extents(0.9);
  CAPTURE(fresh, old);
  CHECK(fresh < 1.5);
  CHECK(old > fresh);
}

// -- workers ---------------------------------------------------------------------------------------------------------

TEST_CASE("full xfs: the kernel workers of the standard run on 6.18 against the real list", "[sim][xfs][box]") {
  const BoxOutputs out = run_box(standard_run());
  for (const auto& w : out.workers)
    UNSCOPED_INFO(fmt::format("{:12} {:32} {:3} workers {:7} runs {:8.3f} s", w.name, w.shown, w.count, w.runs, to_seconds(w.cpu)));
  // The real run, by workqueue tracepoints: one flusher with 0.3 to 0.5 CPU s, xfs-conv 0.16 s in 9.6k items, xfs-cil and
  // xfs-log 0.1 s together, loop, kthrotld.
  int flushers = 0;
  for (const auto& w : out.workers) flushers += w.name == "flush";
  CHECK(flushers == 1);
  for (const char* queue : {"flush", "xfs-conv", "xfs-cil", "xfs-log", "loop", "kthrotld"}) {
    CAPTURE(queue);
    CHECK(worker(out, queue));
  }
  // And nothing that was not there.
  for (const auto& w : out.workers) {
    CAPTURE(w.name);
    CHECK_FALSE(w.shown.empty());
    CHECK((w.name != "xfsalloc" && w.name != "xfs-data" && w.name != "xfsbufd"));
  }
  const double flush = to_seconds(worker(out, "flush")->cpu), conversion = to_seconds(worker(out, "xfs-conv")->cpu);
  const double journal = to_seconds(worker(out, "xfs-cil")->cpu + worker(out, "xfs-log")->cpu);
  CAPTURE(flush, conversion, journal);
  CHECK(flush > 0.4 / 2);
  CHECK(flush < 0.4 * 2);
  CHECK(conversion > 0.16 / 2);
  CHECK(conversion < 0.16 * 2);
  CHECK(worker(out, "xfs-conv")->runs > 9'600 / 2);
  CHECK(worker(out, "xfs-conv")->runs < 9'600 * 2);
  CHECK(worker(out, "flush")->shown == "kworker/u8:0+flush-7:0");
}

TEST_CASE("full xfs: before 6.9 the bios of a contiguous piece end together, up to 4096 pages", "[sim][xfs][box]") {
  // One file at 8 MiB/s, written back by the sync in one visit.
  const auto steps = [](const char* kernel, std::int64_t mib) {
    BoxInputs in = standard_run();
    in.kernel = kernel_version(kernel).value();
    in.replay.catalogue = files_of(1, Bytes{mib * kMiB}, 1);
    in.replay.untars = 1;
    in.device.write_rate = BytesPerSec{8 * kMiB};
    in.sample_every = 50ms;
    std::set<std::int64_t> written;
    for (const TimelineRow& row : run_box(in).timeline) written.insert(row.device_written);
    return written;
  };
  // The last piece ends with the run, after the last sample.
  CHECK(steps("6.1", 8) == std::set<std::int64_t>{0});
  CHECK(steps("6.1", 24) == std::set<std::int64_t>{0, 4096});
  CHECK(steps("6.12", 8).size() >= 3);
}
