/// spillway-kernel-validation [CONFIGS] [SEED] [OUT] [PARALLEL] [KERNEL]: random experiments in the kernel box and in the
/// simulated box, each untar that was throttled held against its prediction, the null model beside it. A script's program
/// (scripts/validate --kernel), not a test: it takes as long as the kernel does.
///
/// The simulated box is told the experiment, what the guest charges for CPU time (profile kernel-box) and the kernel's state
/// before the run (nothing completed by anybody): nothing that came out of it.

#include "analysis/null_model.hpp"
#include "workload/experiment/parse.hpp"
#include "workload/kernel/kernel_box.hpp"
#include "workload/record/record_io.hpp"
#include "workload/simulated/box.hpp"

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <mutex>
#include <optional>
#include <thread>

namespace spillway {
namespace {

// splitmix64: the configurations are the same on every machine.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : state_(seed) {}
  std::int64_t between(std::int64_t low, std::int64_t high) { return low + static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(high - low + 1)); }
  double share() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  // Equal chances for equal ratios.
  std::int64_t log_between(double low, double high) { return std::llround(low * std::pow(high / low, share())); }

 private:
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  std::uint64_t state_;
};

std::string experiment_text(std::uint64_t seed, std::string& sentence) {
  Draw draw(seed);
  const auto limit_mb = draw.log_between(40, 200);
  const auto background_mb = std::max<std::int64_t>(10, limit_mb * draw.between(30, 60) / 100);
  const auto rate_mib = draw.log_between(8, 100);
  const auto untars = draw.between(4, 9);
  // Twice to four times the limit in all, so that a knee lies within.
  const auto archive_mb = std::max<std::int64_t>(8, static_cast<std::int64_t>(static_cast<double>(limit_mb) * (2 + 2 * draw.share())) / untars);
  const auto mean_kib = draw.log_between(24, 512);
  const auto files = std::max<std::int64_t>(8, archive_mb * 1'000'000 / (mean_kib * 1024));
  const std::int64_t at_once_choices[] = {1, 1, 1, 2, 4};
  const auto at_once = at_once_choices[draw.between(0, 4)];
  sentence = fmt::format("limit {:3} MB, background {:3}, {:3} MiB/s, {} x {:3} MB, {:4} files, {} at once", limit_mb, background_mb, rate_mib, untars, archive_mb, files, at_once);
  return fmt::format(
      "title = \"kernel against simulated {}\"\n"
      "[archive]\nseed = {}\nfiles = {}\nbytes = \"{}MB\"\nsizes = \"lognormal\"\nsigma = 1.0\n"
      "[replay]\nuntars = {}\nat_once = {}\n"
      "[memory]\ndirty_bytes = \"{}MB\"\ndirty_background_bytes = \"{}MB\"\n"
      "[filesystem]\nsu = \"64KiB\"\nsw = 12\nmount_options = [\"inode64\", \"allocsize=128k\", \"logbsize=256k\"]\n"
      "[device]\nrate = \"{}MiB/s\"\n"
      "[target]\ncold = false\n"
      "[box]\nprofile = \"kernel-box\"\ncpus = 1\n",
      seed, seed % 1000, files, archive_mb, untars, at_once, limit_mb, background_mb, rate_mib);
}

struct Outcome {
  std::string sentence, trouble;
  int throttled = 0;
  double error_pct = 0, null_pct = 0, end_pct = 0, worst_pct = 0, wall_s = 0;
};

Outcome run_one(std::uint64_t seed, const std::filesystem::path& out, const std::string& kernel_name) {
  Outcome outcome;
  const auto text = experiment_text(seed, outcome.sentence);
  const auto dir = out / fmt::format("seed{}", seed);
  std::filesystem::create_directories(dir / "kernel");
  std::filesystem::create_directories(dir / "simulated");
  std::ofstream(dir / "experiment.toml") << text;
  const auto file = parse_experiment(text, dir / "experiment.toml");
  if (!file) {
    outcome.trouble = file.error().what;
    return outcome;
  }
  const auto run = [&](Box& box, const char* name) -> std::optional<Record> {
    RepeatContext context;
    context.dir = dir / name;
    auto record = box.run(file->cases.front(), context);
    if (!record) {
      outcome.trouble = fmt::format("{}: {}", name, record.error().what);
      return std::nullopt;
    }
    if (const auto written = write_record(*record, context.dir); !written) outcome.trouble = written.error().what;
    return std::move(*record);
  };
  const auto kernel_box = kernel::make_kernel_box(kernel_name);
  const auto real = run(*kernel_box, "kernel");
  if (!real) return outcome;
  const auto simulated_box = simulated::make_simulated_box({.like = *real, .range_over_unknown_state = false});
  const auto simulated = run(*simulated_box, "simulated");
  if (!simulated || simulated->untars.size() != real->untars.size()) return outcome;
  outcome.wall_s = real->host.value("wall_s", 0.0);
  const auto timeline = read_timeline(dir / "kernel" / "timeline.csv");
  const auto null = analysis::null_model_for(*real, timeline ? &*timeline : nullptr);
  std::optional<analysis::NullResult> bucket;
  if (null) bucket = analysis::run_null_model(*null);
  for (std::size_t i = 0; i < real->untars.size(); ++i) {
    const auto& untar = real->untars[i];
    if (untar.account.throttled_s < untar.elapsed_s / 2) continue;
    ++outcome.throttled;
    const double error = 100 * std::fabs(simulated->untars[i].elapsed_s / untar.elapsed_s - 1);
    outcome.error_pct += error;
    outcome.worst_pct = std::max(outcome.worst_pct, error);
    if (bucket) outcome.null_pct += 100 * std::fabs(bucket->elapsed_s[i] / untar.elapsed_s - 1);
  }
  if (outcome.throttled > 0) {
    outcome.error_pct /= outcome.throttled;
    outcome.null_pct /= outcome.throttled;
  }
  outcome.end_pct = 100 * (simulated->untars_end_s / real->untars_end_s - 1);
  return outcome;
}

int validate(int configs, std::uint64_t seed, const std::filesystem::path& out, int parallel, const std::string& kernel_name) {
  std::vector<Outcome> outcomes(static_cast<std::size_t>(configs));
  std::atomic<int> next{0};
  std::mutex talk;
  const auto work = [&] {
    for (int i = next++; i < configs; i = next++) {
      auto outcome = run_one(seed + static_cast<std::uint64_t>(i), out, kernel_name);
      const std::scoped_lock lock(talk);
      fmt::print("{:3}  {}  ", i + 1, outcome.sentence);
      if (!outcome.trouble.empty()) fmt::print("NOT RUN: {}\n", outcome.trouble);
      else fmt::print("throttled {}  simulated {:5.1f} %  null {:5.1f} %  worst {:5.1f} %  end {:+5.1f} %  ({:.0f} s)\n", outcome.throttled, outcome.error_pct, outcome.null_pct, outcome.worst_pct, outcome.end_pct, outcome.wall_s);
      std::fflush(stdout);
      outcomes[static_cast<std::size_t>(i)] = std::move(outcome);
    }
  };
  std::vector<std::thread> workers;
  for (int i = 0; i < parallel; ++i) workers.emplace_back(work);
  for (auto& worker : workers) worker.join();
  double error = 0, null_error = 0, end = 0;
  int counted = 0, failed = 0;
  const Outcome* worst = nullptr;
  for (const auto& outcome : outcomes) {
    if (!outcome.trouble.empty()) ++failed;
    if (outcome.throttled == 0) continue;
    ++counted;
    error += outcome.error_pct;
    null_error += outcome.null_pct;
    end += std::fabs(outcome.end_pct);
    if (worst == nullptr || outcome.error_pct > worst->error_pct) worst = &outcome;
  }
  if (counted == 0) {
    fmt::print("nothing to score: {} configurations failed\n", failed);
    return 3;
  }
  fmt::print("\n{} configurations scored, {} failed. Mean error of throttled untars: simulated {:.1f} %, null model {:.1f} %; untars' end {:.1f} %.\nWorst: {} ({:.1f} %, null {:.1f} %)\n",
             counted, failed, error / counted, null_error / counted, end / counted, worst->sentence, worst->error_pct, worst->null_pct);
  return failed == 0 ? 0 : 3;
}

}  // namespace
}  // namespace spillway

int main(int argc, char** argv) {
  const auto argument = [&](int i, const char* otherwise) { return std::string(argc > i ? argv[i] : otherwise); };
  return spillway::validate(std::atoi(argument(1, "60").c_str()), std::strtoull(argument(2, "1").c_str(), nullptr, 10), argument(3, "out/validate-kernel"),
                            std::max(1, std::atoi(argument(4, "2").c_str())), argument(5, "6.1"));
}
