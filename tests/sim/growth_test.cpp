/// What ten times as much costs: of files, of bytes, of disks. Events are exact; CPU time is the best of several runs, in the long test.

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "sim/box/box.hpp"
#include "sim/device/presets.hpp"

namespace spillway::sim {

namespace {

constexpr double kMost = 12;  // tenfold, and a fifth for what grows with the logarithm

std::shared_ptr<const FileCatalogue> equal_files(int count, std::int64_t bytes) {
  auto catalogue = std::make_shared<FileCatalogue>();
  for (int i = 0; i < count; ++i) catalogue->files.push_back({Bytes{bytes}, i / 250});
  catalogue->directories = (count + 249) / 250;
  return catalogue;
}

/// The limits grow with the data, so that the larger run is throttled as much as the smaller one.
BoxInputs run_of(int files, std::int64_t bytes_each, std::int64_t limit_mb) {
  BoxInputs in;
  in.memory.dirty.dirty_bytes = Bytes{limit_mb * kMB};
  in.memory.dirty.background_bytes = Bytes{limit_mb * kMB / 2};
  in.filesystem.size = Bytes{64 * kGiB};
  in.replay.catalogue = equal_files(files, bytes_each);
  in.replay.untars = 4;
  in.sample_every = Duration{0};
  return in;
}

struct Growth {
  const char* what;
  BoxInputs once, tenfold;
};

std::vector<Growth> growths() {
  std::vector<Growth> all;
  all.push_back({"files", run_of(500, 60'000, 100), run_of(5000, 60'000, 1000)});
  all.push_back({"bytes", run_of(500, 60'000, 100), run_of(500, 600'000, 1000)});
  Growth disks{"disks", run_of(500, 200'000, 100), run_of(500, 200'000, 100)};
  for (BoxInputs* in : {&disks.once, &disks.tenfold}) {
    in->device.kind = DeviceInputs::Kind::model;
    in->device.model = device::raid(device::RaidLevel::raid0, in == &disks.once ? 2 : 20, Bytes{64 * kKiB}, device::hdd_7200_4tb());
  }
  all.push_back(std::move(disks));
  return all;
}

double cpu_seconds_of(const BoxInputs& in) {
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const auto began = std::clock();
    REQUIRE(simulate(in));
    best = std::min(best, static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC);
  }
  return best;
}

}  // namespace

TEST_CASE("growth: ten times the files, bytes or disks are at most 12 times the events", "[sim][box][growth]") {
  for (const Growth& one : growths()) {
    CAPTURE(one.what);
    const auto small = simulate(one.once), large = simulate(one.tenfold);
    REQUIRE((small && large));
    const double ratio = static_cast<double>(large->events) / static_cast<double>(small->events);
    fmt::print("10 times the {}: {} -> {} events, {:.1f} times\n", one.what, small->events, large->events, ratio);
    CHECK(ratio <= kMost);
  }
}

TEST_CASE("growth: ten times the files, bytes or disks take at most 12 times the CPU time", "[sim][box][growth][long][.long]") {
  for (const Growth& one : growths()) {
    CAPTURE(one.what);
    const double small = cpu_seconds_of(one.once), large = cpu_seconds_of(one.tenfold);
    fmt::print("10 times the {}: {:.1f} -> {:.1f} ms, {:.1f} times\n", one.what, small * 1e3, large * 1e3, large / small);
    CHECK(large / small <= kMost);
  }
}

}  // namespace spillway::sim
