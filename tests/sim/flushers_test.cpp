// More than one flusher: one context is the kernel's flusher to the byte; nothing is written twice or lost whoever writes;
// a file stays with its context; more contexts gain where the flusher is the limit and nothing where the device is.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <string>

#include "sim/box/box.hpp"
#include "sim/device/presets.hpp"
#include "sim/flusher/flushers.hpp"
#include "sim/random.hpp"

using namespace spillway;
using namespace spillway::sim;
using namespace std::chrono_literals;
using Kind = FlusherInputs::Kind;
using Affinity = FlusherInputs::Affinity;

namespace {

BoxOutputs run_box(const BoxInputs& in) {
  auto out = simulate(in);
  if (!out) FAIL(out.error().what);
  return std::move(*out);
}

std::shared_ptr<const FileCatalogue> equal_files(int files, Bytes size, int directories) {
  auto catalogue = std::make_shared<FileCatalogue>();
  catalogue->directories = directories;
  for (int i = 0; i < files; ++i) catalogue->files.push_back({size, i % directories});
  return catalogue;
}

BoxInputs small_box(FilesystemInputs::Model model = FilesystemInputs::Model::full) {
  BoxInputs in;
  in.filesystem.model = model;
  in.cpu.cores = 4;
  in.memory.dirty.dirty_bytes = Bytes{60 * kMB};
  in.memory.dirty.background_bytes = Bytes{30 * kMB};
  in.replay.catalogue = equal_files(200, Bytes{300'000}, 8);
  in.replay.untars = 3;
  return in;
}

FlusherInputs contexts(int count, Affinity affinity) { return {.kind = Kind::contexts, .count = count, .affinity = affinity}; }

std::string account_text(const TimeAccount& a) {
  return fmt::format("{} {} {} {} {} {} {} {}", a.user.count(), a.system.count(), a.runqueue.count(), a.throttled.count(), a.device.count(),
                     a.lock.count(), a.log.count(), a.unknown.count());
}

/// Everything that a result holds, as text.
std::string as_text(const BoxOutputs& out) {
  std::string s;
  for (const auto& u : out.untars) s += fmt::format("u {} {} {} {} {} {}\n", u.index, u.start.count(), u.elapsed.count(), account_text(u.account), u.pauses, u.throttle_decisions);
  for (const auto& p : out.phases) s += fmt::format("p {} {} {} {}\n", p.name, p.start.count(), p.elapsed.count(), account_text(p.account));
  for (const auto& t : out.timeline)
    s += fmt::format("t {} {} {} {} {} {} {} {} {} {} {} {} {} {}\n", t.at.count(), t.nr_dirty, t.nr_writeback, t.dirty_limit, t.device_reclaimable, t.device_writeback,
                     t.device_share, t.device_dirtied, t.device_written, t.avg_write_bandwidth, t.dirty_ratelimit, t.b_dirty, t.b_io, t.device_writes);
  for (const auto& r : out.throttle_trace) s += fmt::format("d {} {} {} {} {} {}\n", r.at.count(), r.untar, r.dirty, r.wb_dirty, r.wb_thresh, r.pause_ms);
  for (const auto& w : out.workers) s += fmt::format("w {} {} {} {}\n", w.name, w.shown, w.cpu.count(), w.runs);
  for (const auto& f : out.flushers) s += fmt::format("f {} {} {}\n", f.pages_written, f.passes, account_text(f.account));
  return s + fmt::format("{} {} {} {} {}\n", out.events, out.pages_written, out.device.written.value(), out.filesystem.extents, out.filesystem.transactions);
}

Bytes data_written(const BoxOutputs& out) { return out.device.written - out.device.metadata_written; }

/// Eight untars of small files at once on many cores, and a drive that is faster than one thread can feed.
BoxInputs flusher_bound() {
  BoxInputs in;
  in.filesystem.model = FilesystemInputs::Model::full;
  in.filesystem.allocation_groups = 16;
  in.cpu.cores = 32;
  in.memory.dirty.dirty_bytes = Bytes{64 * kMB};
  in.memory.dirty.background_bytes = Bytes{16 * kMB};
  in.device.kind = DeviceInputs::Kind::model;
  in.device.model = device::nvme_pm9a3();
  in.device.queue_depth = 1023;
  in.device.wbt = false;
  in.replay.catalogue = equal_files(4000, Bytes{16 * kKiB}, 16);
  in.replay.untars = 16;
  in.replay.at_once = 16;
  in.sample_every = Duration{0};
  return in;
}

}  // namespace

TEST_CASE("flushers: one context, by either affinity, is the kernel's flusher to the byte", "[sim][flushers]") {
  for (const auto model : {FilesystemInputs::Model::full, FilesystemInputs::Model::thin}) {
    BoxInputs in = small_box(model);
    in.replay.at_once = 2;
    in.trace_throttling = true;
    const std::string kernel = as_text(run_box(in));
    for (const Affinity affinity : {Affinity::inode, Affinity::allocation_group}) {
      in.flushers = contexts(1, affinity);
      CHECK(as_text(run_box(in)) == kernel);
    }
    in.flushers = {.kind = Kind::cgroup, .count = 1};  // without a limit a cgroup's domain is the global one
    CHECK(as_text(run_box(in)) == kernel);
  }
}

TEST_CASE("flushers: every page is written once, whoever writes, in random small experiments", "[sim][flushers]") {
  Random random{77, "test: random flushers"};
  for (int i = 0; i < 80; ++i) {
    BoxInputs in = small_box(random.below(3) ? FilesystemInputs::Model::full : FilesystemInputs::Model::thin);
    in.seed = random.bits();
    in.shuffle_ties = random.below(2) == 0;
    in.kernel = kernel_versions()[random.below(kernel_versions().size())];
    in.cpu.cores = 1 + static_cast<int>(random.below(6));
    in.flushers.kind = std::array{Kind::kernel, Kind::contexts, Kind::cgroup, Kind::user, Kind::per_writer}[random.below(5)];
    in.flushers.count = 1 + static_cast<int>(random.below(9));
    in.flushers.affinity = random.below(2) ? Affinity::inode : Affinity::allocation_group;
    if (in.flushers.kind == Kind::cgroup && random.below(2)) in.flushers.cgroup_limit = Bytes{static_cast<std::int64_t>(20 + random.below(400)) * kMB};
    in.memory.dirty.dirty_bytes = Bytes{static_cast<std::int64_t>(8 + random.below(60)) * kMB};
    in.memory.dirty.background_bytes = in.memory.dirty.dirty_bytes / (1 + static_cast<std::int64_t>(random.below(4)));
    in.memory.writeback_interval = std::chrono::seconds{random.below(3)};
    in.memory.dirty_expire = std::chrono::seconds{random.below(4)};
    in.device.kind = std::array{DeviceInputs::Kind::throttled, DeviceInputs::Kind::stacked, DeviceInputs::Kind::fixed}[random.below(3)];
    in.device.write_rate = BytesPerSec{static_cast<std::int64_t>(10 + random.below(150)) * kMB};
    in.device.queue_depth = 1 + static_cast<int>(random.below(200));
    in.filesystem.allocation_groups = static_cast<int>(1 + random.below(8));
    in.filesystem.log_size = Bytes{static_cast<std::int64_t>(8 + random.below(20)) * kMiB};
    in.replay.catalogue = equal_files(1 + static_cast<int>(random.below(300)), Bytes{1 + static_cast<std::int64_t>(random.below(900'000))}, 1 + static_cast<int>(random.below(9)));
    in.replay.untars = 1 + static_cast<int>(random.below(5));
    in.replay.at_once = 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(in.replay.untars)));
    in.replay.skeleton_before = random.below(2) == 0;
    CAPTURE(i, in.seed, static_cast<int>(in.flushers.kind), in.flushers.count, in.kernel.name);
    const BoxOutputs out = run_box(in);  // the box's own books are checked at its end
    const std::int64_t pages = [&] {
      std::int64_t sum = 0;
      for (const auto& f : in.replay.catalogue->files) sum += to_pages_ceil(f.size).value();
      return sum * in.replay.untars;
    }();
    CHECK(out.pages_dirtied == pages);
    CHECK(out.pages_written == pages);
    CHECK(out.pages_cancelled == 0);
    // One loop below the file system's device the metadata mark is lost.
    if (in.device.kind != DeviceInputs::Kind::stacked) CHECK(data_written(out) == to_bytes(Pages{pages}));
    std::int64_t by_context = 0;
    for (const auto& f : out.flushers) by_context += f.pages_written;
    CHECK(by_context == pages);
    CHECK(static_cast<int>(out.flushers.size()) == in.flushers.contexts());
  }
}

TEST_CASE("flushers: a group's files belong to one context, a hash spreads them", "[sim][flushers]") {
  BoxInputs in = small_box();
  in.filesystem.allocation_groups = 4;
  in.flushers = contexts(8, Affinity::allocation_group);
  const BoxOutputs by_group = run_box(in);
  REQUIRE(by_group.flushers.size() == 8);
  // Eight directories rotate over four groups: four contexts have all the files, and equally many.
  for (std::size_t i = 0; i < 8; ++i) {
    CAPTURE(i);
    if (i < 4) CHECK(by_group.flushers[i].pages_written == by_group.pages_written / 4);
    else CHECK(by_group.flushers[i].pages_written == 0);
  }
  in.flushers.affinity = Affinity::inode;
  const BoxOutputs by_hash = run_box(in);
  for (const auto& f : by_hash.flushers) {
    CHECK(f.pages_written > by_hash.pages_written / 10);
    CHECK(f.pages_written < by_hash.pages_written / 6);
  }
}

TEST_CASE("flushers: where the device is the limit, more contexts bring nothing", "[sim][flushers]") {
  BoxInputs in = small_box();
  in.device.kind = DeviceInputs::Kind::fixed;
  in.device.write_rate = BytesPerSec{40 * kMB};
  in.device.wbt = false;
  in.sample_every = Duration{0};
  const double one = to_seconds(run_box(in).durable);
  // 180 MB at 40 MB/s: the device is busy all the time with one flusher.
  CHECK(one == Approx(4.5).epsilon(0.10));
  for (const int count : {2, 4, 8})
    for (const Affinity affinity : {Affinity::inode, Affinity::allocation_group}) {
      CAPTURE(count, static_cast<int>(affinity));
      in.flushers = contexts(count, affinity);
      CHECK(to_seconds(run_box(in).durable) == Approx(one).epsilon(0.03));
    }
}

TEST_CASE("flushers: where the flusher is the limit, more contexts write faster", "[sim][flushers]") {
  BoxInputs in = flusher_bound();
  const BoxOutputs one = run_box(in);
  // The one flusher works all the time, and the drive is far from its limit of 3.5 GB/s.
  const double busy = to_seconds(one.flushers[0].account.cpu()) / to_seconds(one.untars_end);
  CAPTURE(to_seconds(one.durable), busy, to_seconds(one.device.busy));
  CHECK(busy > 0.85);
  in.flushers = contexts(4, Affinity::allocation_group);
  const BoxOutputs four = run_box(in);
  CAPTURE(to_seconds(four.durable));
  CHECK(to_seconds(four.durable) < 0.7 * to_seconds(one.durable));
}

TEST_CASE("flushers: contexts in one group wait for its lock, contexts by group do not", "[sim][flushers]") {
  BoxInputs in = flusher_bound();
  in.filesystem.allocation_groups = 1;
  in.filesystem.size = Bytes{16 * kGiB};
  in.flushers = contexts(8, Affinity::inode);
  const auto lock_wait = [](const BoxOutputs& out) {
    Duration sum{};
    for (const auto& f : out.flushers) sum += f.account.lock;
    return to_seconds(sum);
  };
  const double one_group = lock_wait(run_box(in));
  in.filesystem.allocation_groups = 8;
  in.flushers.affinity = Affinity::allocation_group;
  const double own_groups = lock_wait(run_box(in));
  CAPTURE(one_group, own_groups);
  CHECK(one_group > 5 * own_groups);
}

TEST_CASE("flushers: a cgroup with a limit is held below its own threshold", "[sim][flushers]") {
  BoxInputs in = small_box();
  in.memory.dirty = {};  // 20 and 10 %
  in.memory.dirtyable = Bytes{8 * kGiB};
  in.flushers = {.kind = Kind::cgroup, .count = 2, .cgroup_limit = Bytes{100 * kMB}};
  in.device.kind = DeviceInputs::Kind::fixed;
  in.device.write_rate = BytesPerSec{20 * kMB};
  in.replay.untars = in.replay.at_once = 2;
  in.trace_throttling = true;
  const BoxOutputs out = run_box(in);
  REQUIRE(out.throttle_trace.size() > 20);
  // 20 % of 100 MB are 4,882 pages each. A writer may go over by what it may dirty between two looks.
  for (const auto& row : out.throttle_trace) CHECK(row.wb_dirty < 4882 * 11 / 10);
  in.flushers.cgroup_limit = Bytes{0};
  CHECK(run_box(in).throttle_trace.empty());  // 120 MB are far below a fifth of 8 GiB
}

TEST_CASE("flushers: before 3.2 the writer writes back itself", "[sim][flushers]") {
  BoxInputs in = small_box();
  in.device.kind = DeviceInputs::Kind::fixed;
  in.device.write_rate = BytesPerSec{40 * kMB};
  // Nearly all that is dirty is not yet submitted: only then does the old brake let a writer write.
  in.device.queue_depth = 1;
  in.replay.untars = 6;
  in.kernel = *kernel_version("3.2");
  const auto waits = [&](const BoxOutputs& out, Duration TimeAccount::* part) {
    Duration sum{};
    for (const auto& u : out.untars) sum += u.account.*part;
    return to_seconds(sum);
  };
  const BoxOutputs paused = run_box(in);
  CHECK(waits(paused, &TimeAccount::device) == 0);  // it submits nothing
  CHECK(waits(paused, &TimeAccount::throttled) > 1);
  in.kernel = *kernel_version("2.6.39");
  const BoxOutputs writes = run_box(in);
  CHECK(waits(writes, &TimeAccount::device) > 0);
  // The same, asked for on a kernel that does not do it by itself.
  in.kernel = *kernel_version("3.2");
  in.flushers.kind = Kind::per_writer;
  CHECK(waits(run_box(in), &TimeAccount::device) > 0);
}

TEST_CASE("flushers: helpers write early what the kernel would leave for the threshold", "[sim][flushers]") {
  BoxInputs in = small_box();
  in.memory.dirty.dirty_bytes = Bytes{2000 * kMB};
  in.memory.dirty.background_bytes = Bytes{1000 * kMB};
  in.device.kind = DeviceInputs::Kind::fixed;
  in.device.write_rate = BytesPerSec{200 * kMB};
  const auto sync = [](const BoxOutputs& out) { return to_seconds(out.phases.back().elapsed); };
  const BoxOutputs kernel = run_box(in);
  in.flushers = {.kind = Kind::user, .count = 4};
  const BoxOutputs helped = run_box(in);
  REQUIRE(kernel.phases.back().name == "sync");
  CHECK(kernel.helpers.cpu() == Duration{0});
  CHECK(helped.helpers.cpu() > 1ms);
  CHECK(sync(helped) < sync(kernel));
  CHECK(to_seconds(helped.durable) < to_seconds(kernel.durable));
}
