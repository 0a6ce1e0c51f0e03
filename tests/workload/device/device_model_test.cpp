#include "workload/device/device_model.hpp"

#include <catch2/catch.hpp>

using namespace spillway;

TEST_CASE("device model: an array has the disks and the chunk asked for, and what its level leaves of them", "[workload][device]") {
  DeviceSpecText text;
  text.disks = 12;
  text.chunk = Bytes{64 * kKiB};
  const auto capacity = [&](const char* model) {
    text.model = model;
    const auto spec = device_spec_of(text, Bytes{kGiB});
    REQUIRE(spec);
    const auto device = sim::device::make_device(*spec, 1);
    REQUIRE(device);
    return static_cast<double>((*device)->capacity().value()) * 512;
  };
  const double disk = 4e12;
  CHECK(capacity("raid0") == Approx(12 * disk).epsilon(1e-3));
  CHECK(capacity("raid5") == Approx(11 * disk).epsilon(1e-3));
  CHECK(capacity("raid6") == Approx(10 * disk).epsilon(1e-3));
  CHECK(capacity("raid10") == Approx(6 * disk).epsilon(1e-3));
  text.model = "raid6";
  CHECK((*sim::device::make_device(*device_spec_of(text, Bytes{kGiB}), 1))->stripe_width().value() == 10 * 64 * kKiB);
}

TEST_CASE("device model: a limit without a rate is refused; with one it is that rate", "[workload][device]") {
  DeviceSpecText text;
  CHECK_FALSE(device_spec_of(text, Bytes{kGiB}));
  text.rate = BytesPerSec{40 * kMiB};
  const auto device = sim::device::make_device(*device_spec_of(text, Bytes{3 * kGiB}), 1);
  REQUIRE(device);
  CHECK((*device)->sequential_write_rate().value() == 40 * kMiB);
  CHECK((*device)->capacity().value() * 512 == 3 * kGiB);
}

TEST_CASE("device model: a given rate is the disk's outermost, and the cache goes in front", "[workload][device]") {
  DeviceSpecText text;
  text.model = "hdd";
  text.rate = BytesPerSec{100 * kMB};
  auto spec = device_spec_of(text, Bytes{kGiB});
  REQUIRE(spec);
  CHECK(spec->hdd.outer_rate.value() == 100 * kMB);
  CHECK(spec->hdd.inner_rate.value() < 100 * kMB);
  text.write_cache = Bytes{512 * kMiB};
  spec = device_spec_of(text, Bytes{kGiB});
  CHECK(spec->model == sim::device::Model::write_cache);
  CHECK(device_sentence(text) == "hdd, 100000000 B/s, controller cache 512 MiB");
}
