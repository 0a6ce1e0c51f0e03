/// 10,000 small random experiments on the full XFS, untars and jobs: nothing is lost, given twice or left hanging. The run itself
/// audits blocks, extents and log space at its end, and its watchdog stops a run that makes no progress.

#include <catch2/catch.hpp>

#include <array>
#include <memory>

#include "sim/box/box.hpp"
#include "sim/random.hpp"

namespace spillway::sim {

namespace {

std::int64_t whole(Random& random, std::int64_t below) { return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(below))); }

std::shared_ptr<const FileCatalogue> small_archive(Random& random) {
  auto catalogue = std::make_shared<FileCatalogue>();
  catalogue->directories = static_cast<std::int32_t>(1 + random.below(3));
  const std::int64_t files = 1 + whole(random, 12), largest = std::int64_t{1} << (8 + random.below(12));
  for (std::int64_t i = 0; i < files; ++i) catalogue->files.push_back({Bytes{whole(random, largest)}, static_cast<std::int32_t>(i % catalogue->directories)});
  return catalogue;
}

JobInputs small_job(Random& random, int number) {
  using Kind = JobInputs::Kind;
  JobInputs job;
  job.name = "job" + std::to_string(number);
  job.kind = std::array{Kind::write, Kind::randwrite, Kind::create}[random.below(3)];
  job.bs = Bytes{std::int64_t{4096} << random.below(5)};
  job.size = job.bs * (1 + whole(random, 20));
  job.numjobs = static_cast<int>(1 + random.below(4));
  job.nrfiles = job.kind == Kind::create ? 1 + whole(random, 20) : 1;
  job.fsync_every = random.below(6) == 0 ? static_cast<int>(1 + random.below(4)) : 0;
  job.end_fsync = random.below(6) == 0;
  job.own_directory = random.below(2) == 0;
  return job;
}

/// A file is written, then removed while it is dirty: what was not written yet is cancelled.
void add_removal(Random& random, BoxInputs& in) {
  JobInputs write = small_job(random, 8), remove;
  write.kind = random.below(2) == 0 ? JobInputs::Kind::write : JobInputs::Kind::randwrite;
  write.nrfiles = write.numjobs = 1;
  write.own_directory = false;
  write.file = remove.file = "victim";
  remove.name = "remove";
  remove.kind = JobInputs::Kind::unlink;
  remove.after = static_cast<int>(in.jobs.size());
  in.jobs.push_back(write);
  in.jobs.push_back(remove);
}

BoxInputs small_experiment(Random& random) {
  BoxInputs in;
  in.filesystem.model = FilesystemInputs::Model::full;
  in.seed = random.bits();
  in.shuffle_ties = random.below(2) == 0;
  in.kernel = kernel_versions()[random.below(kernel_versions().size())];
  in.kernel.foreground = Foreground::paused;
  in.hz = std::array{100, 250, 300, 1000}[random.below(4)];
  in.cpu.cores = static_cast<int>(1 + random.below(4));
  in.memory.dirty.dirty_bytes = Bytes{kMB + whole(random, 8) * kMB};
  in.memory.dirty.background_bytes = in.memory.dirty.dirty_bytes / (1 + whole(random, 6));
  in.memory.writeback_interval = std::chrono::seconds{random.below(3)};
  in.memory.dirty_expire = std::chrono::seconds{random.below(4)};
  in.device.kind = std::array{DeviceInputs::Kind::throttled, DeviceInputs::Kind::stacked, DeviceInputs::Kind::fixed}[random.below(3)];
  in.device.write_rate = BytesPerSec{(2 + whole(random, 60)) * kMB};
  in.device.queue_depth = static_cast<int>(1 + random.below(64));
  in.filesystem.size = Bytes{(1 + whole(random, 4)) * kGiB};
  in.filesystem.log_size = Bytes{(8 + whole(random, 20)) * kMiB};
  in.filesystem.log_buffer = Bytes{std::int64_t{16 * kKiB} << random.below(5)};
  in.filesystem.log_buffers = static_cast<int>(2 + random.below(7));
  in.filesystem.external_log = random.below(4) == 0;
  if (random.below(2) == 0) {
    in.filesystem.stripe_unit = Bytes{64 * kKiB};
    in.filesystem.stripe_width = Bytes{256 * kKiB};
    in.filesystem.swalloc = random.below(2) == 0;
  }
  if (random.below(2) == 0) in.filesystem.allocsize = Bytes{std::int64_t{4096} << random.below(12)};
  in.sample_every = Duration{0};
  if (random.below(3) == 0) {
    const std::uint64_t jobs = 1 + random.below(3);
    for (std::uint64_t j = 0; j < jobs; ++j) in.jobs.push_back(small_job(random, static_cast<int>(j)));
    if (random.below(2) == 0) add_removal(random, in);
    in.replay.untars = 0;
    in.replay.catalogue = std::make_shared<FileCatalogue>();
    return in;
  }
  in.replay.catalogue = small_archive(random);
  in.replay.untars = static_cast<int>(1 + random.below(4));
  in.replay.at_once = static_cast<int>(1 + random.below(3));
  in.replay.engine.writers = static_cast<int>(1 + random.below(3));
  in.replay.engine.write_size = Bytes{std::int64_t{4096} << random.below(9)};
  in.replay.engine.direct = random.below(8) == 0;
  in.replay.engine.fsync_each = random.below(8) == 0;
  in.replay.skeleton_before = random.below(3) == 0;
  in.replay.remove_before = random.below(3) == 0;
  return in;
}

std::int64_t pages_of(const BoxInputs& in) {
  std::int64_t pages = 0;
  if (in.replay.engine.direct) return 0;
  for (const auto& f : in.replay.catalogue->files) pages += to_pages_ceil(f.size).value() * in.replay.untars;
  return pages;
}

}  // namespace

TEST_CASE("full xfs: 10,000 random small experiments lose nothing, deadlock nowhere and account for all time", "[sim][xfs][conservation]") {
  Random random{2026, "test: conservation"};
  std::int64_t cancelled = 0, written = 0, jobs = 0;
  for (int i = 0; i < 10'000; ++i) {
    const BoxInputs in = small_experiment(random);
    const auto out = simulate(in);
    if (!out) FAIL("experiment " << i << ", seed " << in.seed << ": " << out.error().what);
    // Counted by hand: ten thousand times several assertions would take longer than the experiments.
    const bool once = out->pages_dirtied == out->pages_written + out->pages_cancelled;
    const bool all = in.replay.untars == 0 || out->pages_dirtied == pages_of(in);
    const bool reached = out->device.written.value() >= out->pages_written * 4096;
    bool time = true;
    if (in.replay.engine.writers == 1)
      for (const auto& u : out->untars) time = time && u.account.total() == u.elapsed;
    for (const auto& job : out->jobs)
      for (const auto& one : job.instances) time = time && one.account.total() == one.elapsed;
    for (const auto& phase : out->phases)
      if (phase.name == "sync") time = time && phase.account.total() == phase.elapsed;
    if (!once || !all || !reached || !time) {
      CAPTURE(i, in.seed, out->pages_dirtied, out->pages_written, out->pages_cancelled, pages_of(in), once, all, reached, time);
      FAIL("the books do not balance");
    }
    cancelled += out->pages_cancelled;
    written += out->pages_written;
    jobs += in.jobs.empty() ? 0 : 1;
  }
  // The experiments are not idle, and both ends of a page's life occur.
  CHECK(written > 1'000'000);
  CHECK(cancelled > 100);
  CHECK(jobs > 3'000);
}

}  // namespace spillway::sim
