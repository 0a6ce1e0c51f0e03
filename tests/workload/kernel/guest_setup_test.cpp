#include "workload/kernel/guest_setup.hpp"

#include <catch2/catch.hpp>

using namespace spillway;
using namespace spillway::kernel;

namespace {

Catalogue two_files() {
  Catalogue catalogue;
  catalogue.entries.resize(3);
  catalogue.entries[0].path = "d";
  catalogue.entries[0].type = EntryType::directory;
  catalogue.entries[1].path = "d/a";
  catalogue.entries[1].stored = catalogue.entries[1].size = Bytes{100};
  catalogue.entries[2].path = "d/b";
  catalogue.entries[2].stored = catalogue.entries[2].size = Bytes{200 * kMB};
  catalogue.data_bytes = Bytes{200 * kMB + 100};
  catalogue.files = 2;
  catalogue.directories = 1;
  return catalogue;
}

Case standard() {
  Case item;
  item.experiment.memory.dirty_bytes = Bytes{500 * kMB};
  item.experiment.memory.dirty_background_bytes = Bytes{250 * kMB};
  item.experiment.device.rate = BytesPerSec{40 * kMiB};
  item.experiment.filesystem.su = Bytes{64 * kKiB};
  item.experiment.filesystem.sw = 12;
  item.experiment.filesystem.mount_options = {"swalloc", "allocsize=128k"};
  return item;
}

}  // namespace

TEST_CASE("kernel setup: limits, geometry and rate reach the guest's script", "[workload][kernel]") {
  const auto setup = translate(standard(), two_files(), {});
  REQUIRE(setup);
  const auto script = init_script(*setup);
  CAPTURE(script);
  CHECK(script.find("echo 500000000 > /proc/sys/vm/dirty_bytes") != std::string::npos);
  CHECK(script.find("echo 250000000 > /proc/sys/vm/dirty_background_bytes") != std::string::npos);
  CHECK(script.find("su=65536,sw=12") != std::string::npos);
  CHECK(script.find("mount -t xfs -o swalloc,allocsize=128k /dev/loop1 /mnt") != std::string::npos);
  // Another disk's history, and when it was written.
  CHECK(script.find("/proc/uptime > /run/uptime.history") != std::string::npos);
  // Bounded: the limit stands on the lower loop, the file system on the upper.
  CHECK(script.find("loop /dev/loop1 /dev/loop0 direct") != std::string::npos);
  CHECK(script.find("echo '7:0 41943040'") != std::string::npos);
  CHECK(setup->plan.device == "loop1");
  CHECK(setup->plan.limited_device == "loop0");
  CHECK(setup->plan.entries.size() == 3);
  CHECK(setup->plan.costs.file_ns > 0);
  // Files, their blocks and the limit fit.
  CHECK(setup->memory.value() > 2 * 8 * 200 * kMB + 500 * kMB);
}

TEST_CASE("kernel setup: an unlimited queue takes one loop", "[workload][kernel]") {
  auto item = standard();
  item.experiment.device.queue = "unlimited";
  const auto setup = translate(item, two_files(), {});
  REQUIRE(setup);
  CHECK(init_script(*setup).find("/dev/loop1 ") == std::string::npos);
  CHECK(setup->plan.device == "loop0");
}

TEST_CASE("kernel setup: what the box cannot do is refused as unsupported, by name", "[workload][kernel]") {
  const auto refused = [](auto&& change) {
    auto item = standard();
    change(item.experiment);
    const auto setup = translate(item, two_files(), {});
    REQUIRE_FALSE(setup);
    CHECK(setup.error().kind == ErrorKind::unsupported);
    return setup.error().what;
  };
  CHECK(refused([](Experiment& e) { e.filesystem.type = "ext4"; }).find("ext4") != std::string::npos);
  CHECK(refused([](Experiment& e) { e.replay.flushers = "cgroup:4"; }).find("--box vm") != std::string::npos);
  CHECK(refused([](Experiment& e) { e.replay.flushers = "user:2"; }).find("user:2") != std::string::npos);
  CHECK(refused([](Experiment& e) { e.device.model = "raid6"; }).find("raid6") != std::string::npos);
  CHECK(refused([](Experiment& e) { e.jobs.emplace_back(); }).find("[[job]]") != std::string::npos);
  CHECK(refused([](Experiment& e) { e.has_replay = false; }).find("[replay]") != std::string::npos);
}

TEST_CASE("kernel setup: a box with cgroup v2 gives each of several flushers its group", "[workload][kernel]") {
  auto item = standard();
  item.experiment.replay.flushers = "cgroup:4";
  const auto setup = translate(item, two_files(), {.disk = Disk::virtio, .charge_cpu = false, .cgroup_v2 = true});
  REQUIRE(setup);
  CHECK(setup->plan.cgroups.size() == 4);
  CHECK(setup->plan.costs.file_ns == 0);
  CHECK(init_script(*setup).find("mkdir /sys/fs/cgroup/s3") != std::string::npos);
}

TEST_CASE("kernel setup: the completion history of other devices can be left out", "[workload][kernel]") {
  auto item = standard();
  CHECK(translate(item, two_files(), {})->foreign_history.value() > 0);
  item.experiment.box.completion_share = 1.0;
  CHECK(translate(item, two_files(), {})->foreign_history.value() == 0);
}
