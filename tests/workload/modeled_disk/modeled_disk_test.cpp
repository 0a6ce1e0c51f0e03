/// The modeled disk under the real kernel. Skips, with a reason, where there is no root, FUSE, loop device or XFS.

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "sim/device/presets.hpp"
#include "tests/support/skip.hpp"
#include "workload/real/modeled_disk/modeled_disk.hpp"

namespace spillway::real {

namespace {

using sim::device::RaidLevel;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

bool run(const std::string& command) { return std::system((command + " >/dev/null 2>&1").c_str()) == 0; }

/// Why this cannot run here, or nothing.
std::optional<std::string> obstacle(bool needs_xfs) {
  if (geteuid() != 0) return "needs root";
  if (access("/dev/fuse", W_OK) != 0) return "needs /dev/fuse";
  if (!needs_xfs) return std::nullopt;
  if (access("/dev/loop-control", W_OK) != 0) return "needs loop devices";
  if (!run("command -v mkfs.xfs")) return "needs mkfs.xfs";
  if (!run("grep -qw xfs /proc/filesystems || modprobe xfs")) return "needs XFS in the kernel";
  return std::nullopt;
}

struct ScratchDirectory {
  ScratchDirectory() {
    char pattern[] = "/tmp/spillway-modeled-XXXXXX";
    path = mkdtemp(pattern);
  }
  ~ScratchDirectory() { run("rm -rf --one-file-system " + path); }
  std::string path;
};

/// A loop device with direct I/O over a file, and XFS on it; taken down in reverse whatever happens.
struct LoopXfs {
  ~LoopXfs() { take_down(); }
  bool bring_up(const std::string& file, const std::string& at) {
    mount_point = at;
    const int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
    const int number = ioctl(control, LOOP_CTL_GET_FREE);
    close(control);
    if (number < 0) return false;
    device = fmt::format("/dev/loop{}", number);
    const int backing = open(file.c_str(), O_RDWR | O_DIRECT | O_CLOEXEC);
    loop = open(device.c_str(), O_RDWR | O_CLOEXEC);
    loop_config config{};
    config.fd = static_cast<__u32>(backing);
    config.block_size = 4096;
    config.info.lo_flags = LO_FLAGS_DIRECT_IO;
    const bool configured = backing >= 0 && loop >= 0 && ioctl(loop, LOOP_CONFIGURE, &config) == 0;
    close(backing);
    if (!configured) return false;
    attached = true;
    mkdir(at.c_str(), 0700);
    if (!run("mkfs.xfs -q -f -K -d su=64k,sw=10 -l size=64m " + device)) return false;
    mounted = mount(device.c_str(), at.c_str(), "xfs", MS_NODIRATIME, "inode64") == 0;
    return mounted;
  }
  void take_down() {
    if (mounted) umount2(mount_point.c_str(), 0) == 0 ? void() : void(umount2(mount_point.c_str(), MNT_DETACH));
    mounted = false;
    if (attached) ioctl(loop, LOOP_CLR_FD);
    attached = false;
    if (loop >= 0) close(loop);
    loop = -1;
  }
  std::string device, mount_point;
  int loop = -1;
  bool attached = false, mounted = false;
};

std::string content(int index, std::size_t size) {
  std::string text(size, '\0');
  std::uint32_t x = 12345u + static_cast<std::uint32_t>(index);
  for (auto& c : text) c = static_cast<char>((x = x * 1664525u + 1013904223u) >> 24);
  return text;
}

sim::device::DeviceSpec array(Bytes size) {
  return sim::device::scaled_to(raid(RaidLevel::raid6, 12, Bytes{64 * kKiB}, sim::device::hdd_7200_4tb()), size);
}

}  // namespace

TEST_CASE("modeled disk: one disk's random reads take seek and rotation, in real time", "[real][modeled_disk][box]") {
  if (const auto why = obstacle(false)) return test::skip(*why);
  const ScratchDirectory scratch;
  auto spec = sim::device::scaled_to(sim::device::hdd_7200_4tb(), Bytes{256 * kMiB});
  auto disk = ModeledDisk::start({.spec = spec, .directory = scratch.path + "/disk"});
  INFO((disk ? std::string() : disk.error().what));
  REQUIRE(disk);
  const int fd = open(disk->path().c_str(), O_RDWR | O_DIRECT | O_CLOEXEC);
  REQUIRE(fd >= 0);
  const std::unique_ptr<char, decltype(&std::free)> buffer(static_cast<char*>(std::aligned_alloc(4096, 4096)), std::free);
  constexpr int kReads = 60;
  const auto start = Clock::now();
  std::uint64_t x = 1;
  for (int i = 0; i < kReads; ++i) {
    x = x * 6364136223846793005ULL + 1442695040888963407ULL;
    CHECK(pread(fd, buffer.get(), 4096, static_cast<off_t>((x >> 33) % 65'000) * 4096) == 4096);
  }
  const double per_read_ms = seconds_since(start) * 1e3 / kReads;
  close(fd);
  const auto report = disk->stop();
  REQUIRE(report);
  const auto json = nlohmann::ordered_json::parse(*report);
  const double requested_ms = json["service"]["requested"]["mean_us"].get<double>() * 1e-3;
  fmt::print("random 4 KiB reads on a modeled 7200 rpm disk: {:.2f} ms each, the model asked for {:.2f} ms, answers late "
             "by p50 {} us, p99 {} us\n", per_read_ms, requested_ms, json["service"]["late"]["p50_us"].dump(),
             json["service"]["late"]["p99_us"].dump());
  // Seek average 8.2 ms and half a revolution; the mean of 60 draws has a standard error of about 0.5 ms.
  CHECK(requested_ms == Approx(12.6).margin(2));
  CHECK(per_read_ms >= requested_ms);         // never early
  // Not late either. The reader itself may wait for a core on a loaded machine, so the server's own view counts.
  CHECK(json["service"]["late"]["p50_us"].get<double>() <= 2048);
  CHECK(json["disks"][0]["seeks"].get<int>() >= kReads - 2);
  CHECK(access((scratch.path + "/disk").c_str(), F_OK) != 0);  // nothing is left behind
}

TEST_CASE("modeled disk: XFS on a loop on twelve modeled disks keeps its data, and all comes down", "[real][modeled_disk][box]") {
  if (const auto why = obstacle(true)) return test::skip(*why);
  for (const bool in_file : {false, true}) {
    CAPTURE(in_file);
    const ScratchDirectory scratch;
    const Bytes size{1 * kGiB};
    ModeledDiskOptions options{.spec = array(size), .size = size, .directory = scratch.path + "/disk"};
    if (in_file) options.data_file = scratch.path + "/data";
    auto disk = ModeledDisk::start(options);
    if (!disk && in_file) continue;  // the scratch directory's file system knows no direct I/O
    INFO((disk ? std::string() : disk.error().what));
    REQUIRE(disk);
    LoopXfs xfs;
    if (!xfs.bring_up(disk->path(), scratch.path + "/mnt")) return test::skip("cannot attach a loop device or mount XFS here");
    const auto start = Clock::now();
    constexpr int kFiles = 200;
    constexpr std::size_t kSize = 160'000;
    for (int i = 0; i < kFiles; ++i) {
      const std::string text = content(i, kSize);
      const int fd = open(fmt::format("{}/f{}", xfs.mount_point, i).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
      REQUIRE(write(fd, text.data(), text.size()) == static_cast<ssize_t>(kSize));
      close(fd);
    }
    const int root = open(xfs.mount_point.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(syncfs(root) == 0);
    close(root);
    const double written_s = seconds_since(start);
    CHECK(!disk->stop());  // in use: refused, and goes on serving
    // Read back from the disk itself: the loop was opened with direct I/O, and a new mount has an empty cache.
    REQUIRE(umount2(xfs.mount_point.c_str(), 0) == 0);
    REQUIRE(mount(xfs.device.c_str(), xfs.mount_point.c_str(), "xfs", 0, nullptr) == 0);
    for (int i = 0; i < kFiles; i += 7) {
      std::string got(kSize, '\0');
      const int fd = open(fmt::format("{}/f{}", xfs.mount_point, i).c_str(), O_RDONLY | O_CLOEXEC);
      CHECK(read(fd, got.data(), got.size()) == static_cast<ssize_t>(kSize));
      close(fd);
      CHECK(got == content(i, kSize));
    }
    const auto live = disk->report();
    REQUIRE(live);
    CHECK(nlohmann::ordered_json::parse(*live)["host"]["written_bytes"].get<std::int64_t>() > kFiles * static_cast<std::int64_t>(kSize));
    xfs.take_down();
    const auto report = disk->stop();
    INFO((report ? std::string() : report.error().what));
    REQUIRE(report);
    const auto json = nlohmann::ordered_json::parse(*report);
    CHECK(json["disks"].size() == 12);
    CHECK(json["host"]["written_bytes"].get<std::int64_t>() > kFiles * static_cast<std::int64_t>(kSize));
    std::int64_t on_disks = 0;
    for (const auto& d : json["disks"]) on_disks += d["written_bytes"].get<std::int64_t>();
    CHECK(on_disks > 0);
    fmt::print("XFS on 12 modeled disks ({}): {} files, {:.0f} MB in {:.2f} s; requested p50 {} us, delivered p50 {} us, "
               "late p50 {} p99 {} max {} us\n", in_file ? "file" : "memory", kFiles, kFiles * kSize * 1e-6, written_s,
               json["service"]["requested"]["p50_us"].dump(), json["service"]["delivered"]["p50_us"].dump(),
               json["service"]["late"]["p50_us"].dump(), json["service"]["late"]["p99_us"].dump(),
               json["service"]["late"]["max_us"].dump());
  }
}

TEST_CASE("modeled disk: the server's death hangs nothing, and everything can be taken down within 10 s", "[real][modeled_disk][box]") {
  if (const auto why = obstacle(true)) return test::skip(*why);
  const ScratchDirectory scratch;
  const Bytes size{1 * kGiB};
  auto disk = ModeledDisk::start({.spec = array(size), .size = size, .directory = scratch.path + "/disk"});
  INFO((disk ? std::string() : disk.error().what));
  REQUIRE(disk);
  LoopXfs xfs;
  if (!xfs.bring_up(disk->path(), scratch.path + "/mnt")) return test::skip("cannot attach a loop device or mount XFS here");
  const int fd = open((xfs.mount_point + "/file").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  const std::string text = content(1, 20'000'000);
  CHECK(write(fd, text.data(), text.size()) > 0);
  ::kill(disk->pid(), SIGKILL);
  const auto start = Clock::now();
  CHECK(fsync(fd) != 0);  // an error, not a hang
  close(fd);
  xfs.take_down();
  disk->kill();
  CHECK(seconds_since(start) < 10);
  struct stat st {};
  CHECK(stat((scratch.path + "/disk").c_str(), &st) != 0);
}

TEST_CASE("modeled disk: a caller that dies leaves a server that one unmount ends", "[real][modeled_disk][box]") {
  if (const auto why = obstacle(false)) return test::skip(*why);
  const ScratchDirectory scratch;
  int report[2];
  REQUIRE(pipe(report) == 0);
  const pid_t caller = fork();
  if (caller == 0) {
    auto disk = ModeledDisk::start({.spec = sim::device::nvme_pm9a3(), .size = Bytes{64 * kMiB}, .directory = scratch.path + "/disk"});
    const pid_t server = disk ? disk->pid() : -1;
    (void)!write(report[1], &server, sizeof server);
    ::kill(getpid(), SIGKILL);
  }
  pid_t server = -1;
  REQUIRE(read(report[0], &server, sizeof server) == sizeof server);
  close(report[0]);
  close(report[1]);
  waitpid(caller, nullptr, 0);
  REQUIRE(server > 0);
  CHECK(::kill(server, 0) == 0);
  CHECK(access((scratch.path + "/disk/disk.img").c_str(), F_OK) == 0);
  CHECK(clean_up_modeled_disk(scratch.path + "/disk"));
  bool gone = false;
  for (int i = 0; i < 500 && !gone; ++i) {
    // The orphan may stay a zombie where nobody reaps; then it has no command line any more.
    gone = ::kill(server, 0) != 0 || !run(fmt::format("grep -q . /proc/{}/maps", server));
    if (!gone) usleep(10'000);
  }
  CHECK(gone);
  CHECK(access((scratch.path + "/disk.json").c_str(), F_OK) == 0);  // its last report
}

TEST_CASE("modeled disk: nonsense is refused before anything is mounted", "[real][modeled_disk]") {
  const auto too_large = ModeledDisk::start({.spec = sim::device::fixed_rate(BytesPerSec{kMB}, Bytes{kMiB}),
                                             .size = Bytes{2 * kMiB}, .directory = "/tmp/spillway-never"});
  REQUIRE(!too_large);
  CHECK(too_large.error().kind == ErrorKind::bad_input);
  const auto relative = ModeledDisk::start({.spec = sim::device::nvme_pm9a3(), .size = Bytes{kMiB}, .directory = "here"});
  REQUIRE(!relative);
  CHECK(access("/tmp/spillway-never", F_OK) != 0);
}

}  // namespace spillway::real
