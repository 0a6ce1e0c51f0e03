// What the simulated box costs: events, time per event against a bare priority queue of the same length in the same run,
// and memory. Prints a table; `sim_bench tiny` runs a small case only, for the tests; `sim_bench bare N` prints the
// seconds of the bare queue alone for N events (sweep_bench.sh compares a sweep with it).

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <queue>
#include <vector>

#include "sim/box/box.hpp"
#include "sim/random.hpp"

using namespace spillway;
using namespace spillway::sim;

namespace {

std::shared_ptr<const FileCatalogue> files(int count, std::int64_t bytes, int per_directory) {
  Random random{11, "bench: file sizes"};
  std::vector<double> weights(static_cast<std::size_t>(count));
  double sum = 0;
  for (auto& w : weights) sum += (w = random.lognormal(0, 1.35));
  auto catalogue = std::make_shared<FileCatalogue>();
  catalogue->directories = (count + per_directory - 1) / per_directory;
  for (int i = 0; i < count; ++i)
    catalogue->files.push_back(
        {Bytes{1 + static_cast<std::int64_t>(weights[static_cast<std::size_t>(i)] / sum * static_cast<double>(bytes))},
         i / per_directory});
  return catalogue;
}

/// CPU time, not wall time: what others do on the machine matters less.
double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// Seconds for `events` pops and pushes of 32-byte events on a std::priority_queue that holds `pending`.
double bare_loop(std::uint64_t events, std::size_t pending) {
  struct Event {
    std::int64_t at;
    std::uint64_t order;
    void* callback;
    void* argument;
    bool operator<(const Event& o) const { return at != o.at ? at > o.at : order > o.order; }
  };
  Random random{5, "bench: bare loop"};
  std::priority_queue<Event> queue;
  std::uint64_t order = 0;
  for (std::size_t i = 0; i < pending; ++i)
    queue.push({static_cast<std::int64_t>(random.below(1'000'000)), order++, nullptr, nullptr});
  std::vector<std::int64_t> steps(4096);
  for (auto& s : steps) s = static_cast<std::int64_t>(random.below(1'000'000));
  const double began = cpu_seconds();
  std::int64_t sum = 0;
  for (std::uint64_t i = 0; i < events; ++i) {
    Event e = queue.top();
    queue.pop();
    sum += e.at;
    e.at += steps[i & 4095];
    e.order = order++;
    queue.push(e);
  }
  const double took = cpu_seconds() - began;
  if (sum == 42) fmt::print(" ");
  return took;
}

void measure(const char* name, const BoxInputs& in) {
  double best = 1e9;
  BoxOutputs out;
  for (int i = 0; i < 5; ++i) {
    const double began = cpu_seconds();
    auto result = simulate(in);
    best = std::min(best, cpu_seconds() - began);
    if (!result) {
      fmt::print("{}: {}\n", name, result.error().what);
      return;
    }
    out = std::move(*result);
  }
  double bare = 1e9;
  for (int i = 0; i < 5; ++i) bare = std::min(bare, bare_loop(out.events, 64));
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const double gb = static_cast<double>(out.pages_dirtied) * 4096e-9;
  fmt::print("{:28} {:>9} events {:>8.0f} per GB {:>8.1f} ms {:>6.1f} M/s {:>5.2f} x bare queue, {:>4} MB at most, {:>7.0f} x real time\n",
             name, out.events, static_cast<double>(out.events) / gb, best * 1e3, static_cast<double>(out.events) / best * 1e-6,
             best / bare, usage.ru_maxrss / 1024, to_seconds(out.durable) / best);
}

/// `points` points of experiments/quick.toml, each with another limit, against the bare loop for as many events.
void measure_sweep(int points) {
  BoxInputs in;
  in.replay.catalogue = files(2500, 300 * kMB, 250);
  in.device.kind = DeviceInputs::Kind::stacked;
  in.device.write_rate = BytesPerSec{40 * kMB};
  std::uint64_t events = 0;
  const double began = cpu_seconds();
  for (int i = 0; i < points; ++i) {
    in.memory.dirty.dirty_bytes = Bytes{(500 + i) * kMB};
    in.memory.dirty.background_bytes = Bytes{(500 + i) * kMB / 2};
    const auto result = simulate(in);
    if (!result) {
      fmt::print("sweep: {}\n", result.error().what);
      return;
    }
    events += result->events;
  }
  const double took = cpu_seconds() - began;
  const double bare = bare_loop(events, 64);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print("{} points of quick.toml: {} events, {:.1f} s, {:.1f} points/s, {:.2f} x bare queue, {} MB at most\n", points, events, took, points / took, took / bare,
             usage.ru_maxrss / 1024);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2 && std::strcmp(argv[1], "bare") == 0) {
    fmt::print("{:.3f}\n", bare_loop(std::strtoull(argv[2], nullptr, 10), 64));
    return 0;
  }
  BoxInputs in;
  in.memory.dirty.dirty_bytes = Bytes{500 * kMB};
  in.memory.dirty.background_bytes = Bytes{250 * kMB};
  in.replay.catalogue = files(1200, 150 * kMB, 250);
  measure("8 x 150 MB, 40 MiB/s", in);
  measure_sweep(argc > 1 && std::strcmp(argv[1], "tiny") == 0 ? 3 : 1000);
  if (argc > 1 && std::strcmp(argv[1], "tiny") == 0) return 0;
  in.replay.catalogue = files(12000, 1500 * kMB, 250);
  measure("8 x 1.5 GB, 40 MiB/s", in);
  in.replay.catalogue = files(36622, 150 * kMB, 500);
  measure("8 x 36,622 small files", in);
  BoxInputs mail;
  mail.kernel = *kernel_version("3.4");
  mail.hz = 1000;
  mail.cpu.cores = 16;
  mail.memory.dirtyable = Bytes{98 * kGiB};
  mail.device.kind = DeviceInputs::Kind::fixed;
  mail.device.wbt = false;
  mail.device.write_rate = BytesPerSec{36'500'000};
  mail.replay.catalogue = files(5000, 3'400 * kMB, 2500);
  measure("founding mail, constant rate", mail);
  return 0;
}
