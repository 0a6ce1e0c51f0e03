/// The simulated box on device models: nothing is lost on the way, and what a device can do decides the total.

#include <fmt/format.h>

#include "sim/box/box.hpp"
#include "sim/device/presets.hpp"
#include "tests/sim/device/drive.hpp"

namespace spillway::sim {

namespace {

BoxInputs untars(device::DeviceSpec spec, int files, Bytes size) {
  BoxInputs in;
  in.memory.dirty.dirty_bytes = Bytes{100 * kMB};
  in.memory.dirty.background_bytes = Bytes{50 * kMB};
  in.filesystem.size = Bytes{8 * kGiB};
  in.device.kind = DeviceInputs::Kind::model;
  in.device.model = std::move(spec);
  auto catalogue = std::make_shared<FileCatalogue>();
  for (int i = 0; i < files; ++i) catalogue->files.push_back({size, i % 10});
  catalogue->directories = 10;
  in.replay.catalogue = catalogue;
  in.replay.untars = 4;
  return in;
}

}  // namespace

TEST_CASE("box on a device model: every page reaches the disks, and their time adds up", "[sim][device][box]") {
  for (const auto& spec : {device::hdd_7200_4tb(), device::nvme_pm9a3(), device::ssd_sata_dc(),
                           device::raid(device::RaidLevel::raid0, 3, Bytes{64 * kKiB}, device::hdd_7200_4tb()),
                           device::raid(device::RaidLevel::raid5, 5, Bytes{64 * kKiB}, device::hdd_7200_4tb()),
                           device::raid(device::RaidLevel::raid6, 12, Bytes{64 * kKiB}, device::hdd_7200_4tb()),
                           device::behind_write_cache(Bytes{256 * kMiB}, device::raid(device::RaidLevel::raid6, 12, Bytes{64 * kKiB}, device::hdd_7200_4tb()))}) {
    CAPTURE(spec.name);
    const auto out = simulate(untars(spec, 1000, Bytes{60'000}));
    INFO((out ? std::string() : out.error().what));
    REQUIRE(out);
    CHECK(out->pages_written == out->pages_dirtied);
    REQUIRE(out->device.model);
    CHECK(out->device.model->written == out->device.written);
    CHECK(out->device.written - out->device.metadata_written >= Bytes{4 * 1000 * 60'000});
    for (const auto& disk : out->device.model->disks) CHECK(disk.split.total() == disk.busy + disk.split.idle);
    const auto split = out->device.model->split();
    fmt::print("{:<70.70} {:6.2f} s durable, {:5.1f} MB/s of {:6.0f}; transfer {:3.0f} parity {:3.0f} rmw {:3.0f} seek {:3.0f} "
               "rotation {:3.0f} metadata {:3.0f} idle {:3.0f} %, {} events\n",
               spec.name, to_seconds(out->durable), 240 / to_seconds(out->durable),
               static_cast<double>(out->device.sequential_rate.value()) * 1e-6,
               100 * to_seconds(split.data) / to_seconds(split.total()),
               100 * to_seconds(split.redundancy) / to_seconds(split.total()),
               100 * to_seconds(split.read_modify_write) / to_seconds(split.total()),
               100 * to_seconds(split.seek) / to_seconds(split.total()),
               100 * to_seconds(split.rotation) / to_seconds(split.total()),
               100 * to_seconds(split.metadata) / to_seconds(split.total()),
               100 * to_seconds(split.idle) / to_seconds(split.total()), out->events);
  }
}

TEST_CASE("box on a device model: large files take bytes / rate of one disk", "[sim][device][box]") {
  device::DeviceSpec spec = device::fixed_rate(BytesPerSec{50 * kMB}, Bytes{16 * kGiB});
  const auto out = simulate(untars(spec, 4, Bytes{100 * kMB}));
  REQUIRE(out);
  CHECK(to_seconds(out->durable) == Approx(4 * 4 * 100.0 / 50).epsilon(0.03));  // the pages, and a little log
}

TEST_CASE("box on a device model: the same seed gives the same run, on disks another seed another one", "[sim][device][box]") {
  BoxInputs in = untars(device::hdd_7200_4tb(), 300, Bytes{40'000});
  const auto a = simulate(in), b = simulate(in);
  in.seed = 2;
  const auto c = simulate(in);
  REQUIRE((a && b && c));
  CHECK(a->durable == b->durable);
  CHECK(a->durable != c->durable);
}

TEST_CASE("box on a device model: a device that is too small, or nonsense, is refused", "[sim][device][box]") {
  BoxInputs in = untars(device::fixed_rate(BytesPerSec{50 * kMB}, Bytes{kGiB}), 3, Bytes{1000});
  REQUIRE(!simulate(in));
  CHECK(simulate(in).error().kind == ErrorKind::bad_input);
  in.device.model.reset();
  CHECK(!simulate(in));
}

}  // namespace spillway::sim
