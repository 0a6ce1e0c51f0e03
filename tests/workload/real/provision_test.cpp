#include <catch2/catch.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "workload/real/provision/mkfs.hpp"
#include "workload/real/provision/preflight.hpp"
#include "workload/real/provision/settings.hpp"
#include "workload/real/provision/signature.hpp"
#include "workload/real/system/mounts.hpp"

namespace spillway::real {

TEST_CASE("mkfs: geometry and features become arguments, nothing is invented", "[real][provision]") {
  FilesystemSpec spec;
  CHECK(mkfs_command(spec, "/dev/x", "") == std::vector<std::string>{"mkfs.xfs", "-f", "-q", "-K", "/dev/x"});
  spec.su = Bytes{64 * kKiB};
  spec.sw = 12;
  spec.agcount = 7;
  spec.log_size = Bytes{64 * kMiB};
  spec.rmapbt = true;
  spec.reflink = false;
  CHECK(mkfs_command(spec, "/dev/x", "/dev/log") ==
        std::vector<std::string>{"mkfs.xfs", "-f", "-q", "-K", "-d", "su=65536,sw=12", "-d", "agcount=7", "-l", "logdev=/dev/log", "-l", "size=67108864", "-m",
                                 "rmapbt=1", "-m", "reflink=0", "/dev/x"});
  spec.mount_options = {"nodiratime", "allocsize=128k"};
  CHECK(mount_options(spec, "") == "nodiratime,allocsize=128k");
  CHECK(mount_options(spec, "/dev/log") == "nodiratime,allocsize=128k,logdev=/dev/log");
}

TEST_CASE("image: 1.6 times the data, at least 1 GiB, whole MiB, and never less than mkfs.xfs takes", "[real][provision]") {
  FilesystemSpec spec;
  CHECK(image_size(spec, Bytes{100 * kMB}) == Bytes{1 * kGiB});
  CHECK(image_size(spec, Bytes{1000 * kMiB}) == Bytes{1600 * kMiB});
  CHECK(image_size(spec, Bytes{1000 * kMiB + 1}) == Bytes{1601 * kMiB});
  spec.size = Bytes{300 * kMiB};
  CHECK(image_size(spec, Bytes{0}) == Bytes{300 * kMiB});
  spec.size = Bytes{300 * kMiB - 1};
  const auto small = image_size(spec, Bytes{0});
  REQUIRE_FALSE(small);
  CHECK(small.error().kind == ErrorKind::bad_input);
}

TEST_CASE("settings: ratio and bytes know that they exclude each other; background comes first", "[real][provision]") {
  MemorySpec memory;
  memory.dirty_bytes = Bytes{500 * kMB};
  memory.dirty_background_ratio = 5;
  memory.dirty_expire = std::chrono::seconds{30};
  memory.dirty_writeback = std::chrono::milliseconds{5000};
  const auto settings = memory_settings(memory);
  REQUIRE(settings.size() == 4);
  CHECK(settings[0].path == "/proc/sys/vm/dirty_background_ratio");
  CHECK(settings[0].other_form == "/proc/sys/vm/dirty_background_bytes");
  CHECK(settings[1].path == "/proc/sys/vm/dirty_bytes");
  CHECK(settings[1].value == "500000000");
  CHECK(settings[2].value == "3000");
  CHECK(settings[3].value == "500");
  CHECK(memory_settings(MemorySpec{}).empty());
}

TEST_CASE("settings: knobs name the device by place-holders, and sysctls by their dots", "[real][provision]") {
  const auto settings = knob_settings({{"/sys/block/{dev}/queue/nr_requests", "64"}, {"vm.dirty_ratio", "10"}, {"/sys/class/bdi/{bdi}/max_ratio", "50"}}, "loop65", "7:65");
  REQUIRE(settings.size() == 3);
  CHECK(settings[0].path == "/sys/block/loop65/queue/nr_requests");
  CHECK(settings[1].path == "/proc/sys/vm/dirty_ratio");
  CHECK(settings[1].other_form == "/proc/sys/vm/dirty_bytes");
  CHECK(settings[2].path == "/sys/class/bdi/7:65/max_ratio");
  CHECK(setting_name(settings[1].path) == "vm.dirty_ratio");
}

TEST_CASE("mounts: mountinfo with optional fields and escaped blanks", "[real][provision]") {
  const auto mounts = parse_mountinfo(
      "36 35 98:0 /mnt1 /mnt/with\\040blank rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n"
      "37 35 7:65 / /m rw - xfs /dev/loop65 rw\n");
  REQUIRE(mounts.size() == 2);
  CHECK(mounts[0].point == "/mnt/with blank");
  CHECK(mounts[0].type == "ext3");
  CHECK(mounts[0].super_options == "rw,errors=continue");
  CHECK(mounts[1].device_number == "7:65");
  CHECK(mounts[1].source == "/dev/loop65");
}

TEST_CASE("signature: what libblkid sees is named; an empty file has none", "[real][provision]") {
  char name[] = "/tmp/spillway-sig-XXXXXX";
  const int fd = ::mkstemp(name);
  REQUIRE(fd >= 0);
  REQUIRE(::ftruncate(fd, 1 << 20) == 0);
  const auto none = signature_of(name);
  REQUIRE(none);
  CHECK_FALSE(none->has_value());
  // A swap signature is the simplest to write: "SWAPSPACE2" at the end of the first page, version 1.
  const std::uint32_t version[2] = {1, 255};
  REQUIRE(::pwrite(fd, version, sizeof version, 1024) == sizeof version);
  REQUIRE(::pwrite(fd, "SWAPSPACE2", 10, 4086) == 10);
  const auto swap = signature_of(name);
  REQUIRE(swap);
  REQUIRE(swap->has_value());
  CHECK(**swap == "a swap signature");
  ::close(fd);
  ::unlink(name);
  CHECK_FALSE(may_format(name, name));        // not a block device
  CHECK_FALSE(may_format("/dev/null", ""));   // nor is this
}

TEST_CASE("preflight: what cannot be run is refused with a sentence of the right kind", "[real][provision]") {
  Experiment experiment;
  experiment.pipeline.emplace();
  CHECK(check_experiment(experiment).error().kind == ErrorKind::unsupported);
  experiment.pipeline.reset();
  experiment.target.kind = "mount";
  CHECK(check_experiment(experiment));
  experiment.replay.engine = "zip";
  CHECK(check_experiment(experiment).error().kind == ErrorKind::unsupported);
  experiment.replay.engine = "tar";
  experiment.device.model = "raid6";
  experiment.target.kind = "loop";
  CHECK(check_experiment(experiment).error().what.find("raid6") != std::string::npos);
  experiment.target.kind = "mount";
  experiment.device.model = "limit";
  experiment.target.path = "/tmp";
  const auto full = check_resources(experiment, Bytes{1000 * kTB}, "/tmp", "");
  REQUIRE_FALSE(full);
  CHECK(full.error().kind == ErrorKind::refused);
  CHECK(full.error().what.find("free") != std::string::npos);
  CHECK(check_resources(experiment, Bytes{1 * kMB}, "/tmp", ""));
}

}  // namespace spillway::real
