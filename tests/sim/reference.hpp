#pragma once
/// The quiet reference runs as inputs for the simulated box, and the measures by which a prediction is scored.
///
/// Given: the experiment (archive, limits, rate, device shape), the box (2 CPUs, HZ 250, kernel 6.18) and the state before
/// the run: a new device (nothing completed, 100 MiB/s estimates), the completions of other devices that were still
/// remembered, when their next halving was due, and how many pages per second the monitoring wrote elsewhere. The
/// last three were read off the real run's record of the device's share (the count of other completions is what makes
/// the share what it is at the first sample above its floor; the halving is where that count first drops).
/// CPU costs come from other measurements on that box, never from the runs: see reference_costs().

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/box/box.hpp"
#include "tests/sim/csv.hpp"

namespace spillway::test {

using namespace spillway::sim;

struct RealUntar { double start = 0, elapsed = 0, cpu = 0; };
struct RealRun {
  std::string name;
  int repeat = 0;
  std::vector<RealUntar> untars;
  double sync = 0, total = 0;
  long long global_completions = 0, next_halving_ms = 0, foreign_per_s = 0;
  [[nodiscard]] double finish(std::size_t k) const { return untars[k].start + untars[k].elapsed; }
};

inline std::shared_ptr<const FileCatalogue> catalogue_of_sizes(const std::vector<long long>& sizes, int per_directory) {
  auto catalogue = std::make_shared<FileCatalogue>();
  for (std::size_t i = 0; i < sizes.size(); ++i)
    catalogue->files.push_back({Bytes{sizes[i]}, static_cast<std::int32_t>(i / static_cast<std::size_t>(per_directory))});
  catalogue->directories = catalogue->files.back().directory + 1;
  return catalogue;
}

inline std::shared_ptr<const FileCatalogue> catalogue_of_file(const std::string& name) {
  std::ifstream file(std::string{SPILLWAY_TEST_DATA} + "/" + name);
  INFO("test data " << name);
  REQUIRE(file.good());
  std::vector<long long> sizes;
  for (long long n; file >> n;) sizes.push_back(n);
  return catalogue_of_sizes(sizes, 250);
}

/// CPU costs of the reference box. From the fact sheet's separate timings of GNU tar on XFS without a limit: 74,458 pages
/// in 2,418 files took 0.32 CPU s, 36,622 pages in as many files 1.33 CPU s; hence 3.22 us a page and 33.1 us a file.
inline void reference_costs(BoxInputs& in) {
  in.costs.read_page = std::chrono::nanoseconds{1100};
  in.costs.write_page = std::chrono::nanoseconds{1640};  // with 2 x 0.6 us for each call of 10 KiB: 3.22 us
  in.costs.create_file = std::chrono::nanoseconds{24'100};
  in.costs.close_written = std::chrono::nanoseconds{7'000};
  in.costs.user_per_file = std::chrono::nanoseconds{2'000};
  // A separate program on the same kind of box: 100 pages read and written, 400 times, cost 0.185 s of CPU time in one go
  // and 0.252 s with a nap of 12 ms between them (idle exit of a virtual CPU and cold caches).
  in.costs.wake_after_sleep = std::chrono::microseconds{170};
}

inline BoxInputs reference_inputs(const std::string& name) {
  BoxInputs in;
  in.cpu.cores = 2;
  reference_costs(in);
  in.memory.ram = Bytes{24 * kGiB};
  std::int64_t limit = 500 * kMB;
  if (name == "b_dirty125") limit = 125 * kMB;
  if (name == "b_dirty250") limit = 250 * kMB;
  if (name == "b_dirty1000") limit = 1000 * kMB;
  in.memory.dirty.dirty_bytes = Bytes{limit};
  in.memory.dirty.background_bytes = Bytes{limit / 2};
  std::int64_t rate = 40;
  if (name == "d_bps20") rate = 20;
  if (name == "d_bps80") rate = 80;
  if (name == "d_bps160") rate = 160;
  in.device.write_rate = BytesPerSec{rate * kMiB};
  if (name == "s_stack") in.device.kind = DeviceInputs::Kind::stacked;
  if (name != "f_nosunit") {
    in.filesystem.stripe_unit = Bytes{64 * kKiB};
    in.filesystem.stripe_width = Bytes{768 * kKiB};
    in.filesystem.swalloc = in.filesystem.largeio = true;
  }
  in.filesystem.log_buffer = Bytes{256 * kKiB};
  if (name == "g_s4k") in.replay.catalogue = catalogue_of_sizes(std::vector<long long>(36622, 4096), 500);
  else if (name == "g_big") in.replay.catalogue = catalogue_of_sizes(std::vector<long long>(8, 18'750'000), 1000);
  else if (name == "g_m128k") in.replay.catalogue = catalogue_of_sizes(std::vector<long long>(1145, 131072), 250);
  else in.replay.catalogue = catalogue_of_file("mix150.sizes");
  // e_plain: the prototype extractor, one write(2) per file from memory.
  if (name == "e_plain") in.replay.engine.write_size = Bytes{1 * kMiB};
  return in;
}

inline void give_state(BoxInputs& in, const RealRun& run) {
  in.before.global_completions = run.global_completions;
  in.before.next_halving = std::chrono::milliseconds{run.next_halving_ms};
  in.before.foreign_completions_per_s = static_cast<double>(run.foreign_per_s);
}

/// The runs of one verdict, "quiet" or "disturbed".
inline std::vector<RealRun> runs_that_were(const std::string& verdict) {
  std::map<std::pair<std::string, int>, RealRun> runs;
  for (const Row& row : read_csv("reference_walls.csv")) {
    if (row.at("verdict") != verdict) continue;
    RealRun& run = runs[{row.at("run"), static_cast<int>(number(row, "repeat"))}];
    run.name = row.at("run");
    run.repeat = static_cast<int>(number(row, "repeat"));
    run.untars.push_back({static_cast<double>(number(row, "start_ms")) / 1e3, static_cast<double>(number(row, "elapsed_ms")) / 1e3,
                          static_cast<double>(number(row, "cpu_ms")) / 1e3});
    run.sync = static_cast<double>(number(row, "sync_ms")) / 1e3;
    run.total = static_cast<double>(number(row, "total_ms")) / 1e3;
  }
  for (const Row& row : read_csv("reference_state.csv")) {
    const auto found = runs.find({row.at("run"), static_cast<int>(number(row, "repeat"))});
    if (found == runs.end()) continue;
    found->second.global_completions = number(row, "global_completions");
    found->second.next_halving_ms = number(row, "next_halving_ms");
    found->second.foreign_per_s = number(row, "foreign_pages_per_s");
  }
  std::vector<RealRun> out;
  for (auto& [key, run] : runs) {
    // The real clock starts a few milliseconds before the first untar.
    const double first = run.untars.front().start;
    for (auto& u : run.untars) u.start -= first;
    out.push_back(std::move(run));
  }
  return out;
}

inline std::vector<RealRun> quiet_runs() { return runs_that_were("quiet"); }

/// A neighbour that writes `mb_per_s` to another disk through the page cache, whose dirty pages are kept low by a syncfs
/// every 100 ms, and keeps `cpus` cores busy, since long before the run: its completions are what the kernel remembers
/// (between 3 and 6 s of them: 4.5 s), and they go on.
inline void give_neighbour(BoxInputs& in, double mb_per_s, double cpus) {
  const double pages_per_s = mb_per_s * 1e6 / 4096;
  in.before.global_completions = std::max<std::int64_t>(1, static_cast<std::int64_t>(4.5 * pages_per_s));
  in.before.next_halving = std::chrono::milliseconds{1500};
  in.before.foreign_completions_per_s = pages_per_s;
  in.before.foreign_dirty = Bytes{static_cast<std::int64_t>(mb_per_s * 1e6 * 0.05)};  // half of 100 ms
  in.before.foreign_cpus = cpus;
}

/// The null model: a bucket that leaks at the device's rate; a writer fills it at CPU speed until it holds the setpoint's
/// worth, and at the leak's rate from then on. Elapsed seconds of each untar.
inline std::vector<double> null_model(const BoxInputs& in, double cpu_s) {
  const double rate = static_cast<double>(in.device.write_rate.value());
  const double limit = static_cast<double>(in.memory.dirty.dirty_bytes.value());
  const double cap = (limit * 0.75 + limit) / 2;
  double bytes = 0;
  for (const auto& f : in.replay.catalogue->files) bytes += static_cast<double>(to_bytes(to_pages_ceil(f.size)).value());
  std::vector<double> elapsed;
  double level = 0;
  for (int k = 0; k < in.replay.untars; ++k) {
    const double speed = bytes / cpu_s;
    double left = bytes, t = 0;
    const double room_time = (cap - level) / (speed - rate);
    if (room_time * speed >= left) {
      t = left / speed;
      level = std::max(0.0, level + left - rate * t);
    } else {
      t = std::max(room_time, 0.0);
      left -= t * speed;
      t += left / rate;
      level = cap;
    }
    elapsed.push_back(t);
  }
  return elapsed;
}

struct Score {
  std::string name;
  int repeat = 0;
  std::vector<double> errors;              ///< relative, per untar
  double throttled = 0;                    ///< mean over throttled untars
  double transition = 0, transition_null = 0;  ///< mean over the first two throttled ones
  double finish = 0, finish_worst = 0;     ///< relative, over all untars from the first throttled one on
  double cpu = 0;                          ///< user + system, mean relative error
  double total = 0;
  int throttled_count = 0;
};

inline Score score(const RealRun& real, const BoxInputs& in, const BoxOutputs& out) {
  Score s{real.name, real.repeat, {}, 0, 0, 0, 0, 0, 0, 0, 0};
  const auto relative = [](double predicted, double measured) { return std::abs(predicted - measured) / measured; };
  const std::vector<double> null = null_model(in, to_seconds(out.untars.front().account.cpu()));
  int transition = 0, finishes = 0;
  for (std::size_t k = 0; k < real.untars.size(); ++k) {
    const double predicted = to_seconds(out.untars[k].elapsed);
    const double e = relative(predicted, real.untars[k].elapsed);
    s.errors.push_back((predicted - real.untars[k].elapsed) / real.untars[k].elapsed);
    s.cpu += relative(to_seconds(out.untars[k].account.cpu()), real.untars[k].cpu) / static_cast<double>(real.untars.size());
    if (real.untars[k].elapsed < 1.5 * real.untars[k].cpu && s.throttled_count == 0) continue;
    ++s.throttled_count;
    s.throttled += e;
    if (transition < 2) {
      ++transition;
      s.transition += e;
      s.transition_null += relative(null[k], real.untars[k].elapsed);
    }
    const double f = relative(to_seconds(out.untars[k].start + out.untars[k].elapsed), real.finish(k));
    s.finish += f;
    ++finishes;
    s.finish_worst = std::max(s.finish_worst, f);
  }
  s.throttled /= std::max(s.throttled_count, 1);
  s.transition /= std::max(transition, 1);
  s.transition_null /= std::max(transition, 1);
  s.finish /= std::max(finishes, 1);
  s.total = relative(to_seconds(out.durable), real.total);
  return s;
}

}  // namespace spillway::test
