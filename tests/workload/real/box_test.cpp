#include <catch2/catch.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "tests/support/skip.hpp"
#include "workload/real/journal/journal.hpp"
#include "workload/real/provision/limit.hpp"
#include "workload/real/system/loop_device.hpp"
#include "workload/real/system/mounts.hpp"
#include "workload/real/system/process.hpp"
#include "workload/real/system/text_file.hpp"
#include "workload/record/record_io.hpp"

namespace spillway::real {
namespace {

/// Why these tests cannot run here; "" if they can.
std::string obstacle() {
  if (::geteuid() != 0) return "needs root";
  if (!exists("/dev/loop-control")) return "needs the loop driver";
  if (!find_program("mkfs.xfs")) return "needs mkfs.xfs";
  if (read_text("/proc/filesystems").value_or("").find("xfs") == std::string::npos) return "needs a kernel with XFS";
  if (!limit_place()) return "needs a cgroup that limits devices";
  return {};
}

/// A state folder, an archive of about 25 MB, and a place for records.
struct Bench {
  std::filesystem::path root;
  std::string archive;
  Bench() {
    char name[] = "/var/tmp/spillway-box-XXXXXX";
    root = ::mkdtemp(name);
    const auto tree = root / "tree";
    std::mt19937_64 random{42};
    for (int i = 0; i < 60; ++i) {
      const auto folder = tree / fmt::format("d{}", i % 3);
      std::filesystem::create_directories(folder);
      std::string data(400'000, ' ');
      for (std::size_t at = 0; at + 8 <= data.size(); at += 8) {
        const auto bits = random();
        data.replace(at, 8, reinterpret_cast<const char*>(&bits), 8);
      }
      std::ofstream{folder / fmt::format("f{}", i), std::ios::binary} << data;
    }
    archive = root / "a.tar";
    REQUIRE(run_checked({"tar", "-c", "-f", archive, "-C", tree, "."}));
    ::setenv("SPILLWAY_STATE_DIR", state().c_str(), 1);
    ::setenv("SPILLWAY_CACHE_DIR", (root / "cache").c_str(), 1);
  }
  ~Bench() {
    (void)restore(state());
    std::filesystem::remove_all(root);
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;
  [[nodiscard]] std::filesystem::path state() const { return root / "state"; }
  [[nodiscard]] std::filesystem::path out() const { return root / "out"; }

  struct Victim {
    pid_t pid = 0;
    std::filesystem::path output;
  };
  [[nodiscard]] Victim start(const std::vector<std::string>& arguments, const std::string& signal_spec) const {
    Victim victim{0, root / "victim.out"};
    victim.pid = ::fork();
    if (victim.pid == 0) {
      const int fd = ::open(victim.output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
      ::dup2(fd, 1);
      ::dup2(fd, 2);
      if (signal_spec.empty()) ::unsetenv("SPILLWAY_TEST_SIGNAL");
      else ::setenv("SPILLWAY_TEST_SIGNAL", signal_spec.c_str(), 1);
      std::vector<std::string> words{BOX_VICTIM, archive, out()};
      words.insert(words.end(), arguments.begin(), arguments.end());
      std::vector<char*> raw;
      for (auto& word : words) raw.push_back(word.data());
      raw.push_back(nullptr);
      ::execv(BOX_VICTIM, raw.data());
      ::_exit(127);
    }
    return victim;
  }
  /// Exit code (128 + signal when killed), and what it printed.
  static std::pair<int, std::string> wait(const Victim& victim) {
    int status = 0;
    ::waitpid(victim.pid, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read_text(victim.output).value_or("")};
  }
  [[nodiscard]] std::pair<int, std::string> run(const std::vector<std::string>& arguments, const std::string& signal_spec = "") const {
    return wait(start(arguments, signal_spec));
  }
};

/// Everything about the box that a run may change.
std::string snapshot(const Bench& bench) {
  std::string all;
  for (const char* name : {"dirty_background_bytes", "dirty_background_ratio", "dirty_bytes", "dirty_ratio", "dirty_expire_centisecs", "dirty_writeback_centisecs"})
    all += fmt::format("{}={}\n", name, read_line(fmt::format("/proc/sys/vm/{}", name)).value_or("?"));
  all += "task_delayacct=" + read_line("/proc/sys/kernel/task_delayacct").value_or("?") + "\n";
  // Others may mount and attach meanwhile: what a run of ours can leave is named.
  for (const auto& mount : mount_points())
    if (mount.type == "debugfs" || mount.type == "tracefs" || mount.point.starts_with(bench.root.string()))
      all += fmt::format("mount {} {} {}\n", mount.source, mount.point, mount.type);
  for (int number = 64; number < 200; ++number)
    if (exists(fmt::format("/sys/block/loop{}", number))) all += fmt::format("loop{} {}\n", number, loop_backing(number).value_or("-"));
  if (const auto place = limit_place(); place && place->version == LimitPlace::Version::v1)
    for (const char* file : {"write_bps_device", "read_bps_device", "write_iops_device"})
      all += fmt::format("{}: {}\n", file, read_text(fmt::format("{}/blkio.throttle.{}", place->directory, file)).value_or("?"));
  // A tracefs that is not mounted may still hold an instance: look inside.
  const bool mounted = exists("/sys/kernel/tracing/instances");
  if (!mounted) ::mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, nullptr);
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator{"/sys/kernel/tracing/instances", error}) all += "instance " + entry.path().string() + "\n";
  if (!mounted) ::umount("/sys/kernel/tracing");
  for (const auto& entry : std::filesystem::directory_iterator{bench.state(), error})
    if (entry.path().filename() != "lock") all += "left " + entry.path().string() + "\n";
  return all;
}

/// Processes whose command line speaks of this bench.
int left_running(const Bench& bench) {
  int count = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator{"/proc", error}) {
    if (std::atoi(entry.path().filename().c_str()) <= 0) continue;
    const auto line = read_text(entry.path() / "cmdline");
    if (line && line->find(bench.archive) != std::string::npos) ++count;
  }
  return count;
}

/// The process that serves the modeled disk, from the journal; 0 if there is none.
pid_t server_of_disk(const Bench& bench) {
  const auto journal = read_text(bench.state() / "journal.jsonl").value_or("");
  const auto at = journal.find("\"daemon\"");
  if (at == std::string::npos) return 0;
  const auto line_begin = journal.rfind('\n', at) == std::string::npos ? 0 : journal.rfind('\n', at) + 1;
  const auto pid = journal.find("\"pid\":", line_begin);
  return pid == std::string::npos ? 0 : std::atoi(journal.c_str() + pid + 6);
}

double seconds_of_restore(const Bench& bench) {
  const auto begin = std::chrono::steady_clock::now();
  const auto report = restore(bench.state());
  REQUIRE(report);
  for (const auto& failure : report->failures) UNSCOPED_INFO(failure);
  CHECK(report->clean());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

constexpr const char* kKinds[] = {"knob", "dirty_pair", "throttle", "loop", "mount", "trace", "child", "path"};

}  // namespace

TEST_CASE("box: a repeat leaves a whole record and the box as it was", "[box]") {
  if (const auto why = obstacle(); !why.empty()) return test::skip(why);
  const Bench bench;
  const std::string before = snapshot(bench);
  const auto [code, said] = bench.run({"untars=4", "verify=1", "knob=256"});
  INFO(said);
  REQUIRE(code == 0);
  CHECK(snapshot(bench) == before);
  const auto record = read_record(bench.out());
  REQUIRE(record);
  CHECK(record->complete);
  REQUIRE(record->untars.size() == 4);
  CHECK(record->box.target == "loop");
  CHECK(record->durable_s >= record->untars_end_s);
  // 4 x 24 MB at 20 MB/s: the device decides, so between 4 and 8 s; and every byte reached it.
  CHECK(record->durable_s > 3.5);
  CHECK(record->durable_s < 10);
  CHECK(record->device.write_bytes > 96'000'000);
  CHECK(record->state_before.cold);
  for (const auto& untar : record->untars) {
    CAPTURE(untar.number, untar.elapsed_s, untar.account.unknown_s);
    CHECK(untar.account.total_s() == Approx(untar.elapsed_s));
    if (untar.elapsed_s > 1) CHECK(std::abs(untar.account.unknown_s) < 0.03 * untar.elapsed_s);
  }
  // The last one waits for the disk, and the account says so.
  CHECK(record->untars.back().account.throttled_s > 0.5 * record->untars.back().elapsed_s);
  CHECK(record->counters.at("throttle_decisions") > 0);
  CHECK(record->counters.at("trace_events_lost") == 0);
  const auto timeline = read_timeline(bench.out() / "timeline.csv");
  REQUIRE(timeline);
  CHECK(timeline->rows.size() > 30);
  CHECK(timeline->rows.front().t_s < 0);
  CHECK(timeline->rows.back().wb_written_pages.value_or(0) > 20'000);
}

TEST_CASE("box: killed after each kind of journal entry, the box is put back and the next run works", "[box]") {
  if (const auto why = obstacle(); !why.empty()) return test::skip(why);
  const Bench bench;
  const std::string before = snapshot(bench);
  for (const char* kind : kKinds)
    for (const char* signal : {"KILL", "INT", "TERM"}) {
      CAPTURE(kind, signal);
      const auto [code, said] = bench.run({"knob=256"}, fmt::format("{} after {}", signal, kind));
      INFO(said);
      if (std::string_view{signal} == "KILL") {
        CHECK(code == 128 + SIGKILL);
        CHECK(seconds_of_restore(bench) < 10);
      } else {
        CHECK(code == 128 + (std::string_view{signal} == "INT" ? SIGINT : SIGTERM));
      }
      CHECK(left_running(bench) == 0);
      REQUIRE(snapshot(bench) == before);
    }
  const auto [code, said] = bench.run({});
  INFO(said);
  CHECK(code == 0);
  CHECK(snapshot(bench) == before);
}

TEST_CASE("box: killed with a modeled disk under it, its server and its mount go too", "[box]") {
  if (const auto why = obstacle(); !why.empty()) return test::skip(why);
  if (!exists("/dev/fuse")) return test::skip("needs /dev/fuse");
  const Bench bench;
  const std::string before = snapshot(bench);
  for (const char* moment : {"KILL after daemon", "INT after daemon", "KILL after child"}) {
    CAPTURE(moment);
    const auto [code, said] = bench.run({"target=modeled"}, moment);
    INFO(said);
    CHECK(code == 128 + (moment[0] == 'K' ? SIGKILL : SIGINT));
    if (moment[0] == 'K') CHECK(seconds_of_restore(bench) < 10);
    CHECK(left_running(bench) == 0);
    REQUIRE(snapshot(bench) == before);
  }
  const auto [code, said] = bench.run({"target=modeled"});
  INFO(said);
  CHECK(code == 0);
  CHECK(snapshot(bench) == before);
}

TEST_CASE("box: every knob is set, shows in the record, and is as before afterwards", "[box]") {
  if (const auto why = obstacle(); !why.empty()) return test::skip(why);
  const Bench bench;
  const std::string before = snapshot(bench);
  const std::string queue = "set=/sys/block/{dev}/queue/", bdi = "set=/sys/class/bdi/{bdi}/";
  {
    const auto [code, said] = bench.run({"untars=1", "rate_mb=0", queue + "nr_requests=64", queue + "wbt_lat_usec=5000", queue + "max_sectors_kb=256", queue + "read_ahead_kb=512",
                                         bdi + "min_ratio=1", bdi + "max_ratio=90", bdi + "strict_limit=1", "expire_ms=20000", "writeback_ms=3000", "set=vm.vfs_cache_pressure=150",
                                         "agcount=8", "log_mb=64", "rmapbt=1", "reflink=1", "su_kb=64", "mount=allocsize=1m", "mount=logbsize=256k", "mount=noatime"});
    INFO(said);
    REQUIRE(code == 0);
    CHECK(snapshot(bench) == before);
    const auto record = read_record(bench.out());
    REQUIRE(record);
    const auto& environment = record->box.environment;
    const auto& set = environment.at("device").at("queue");
    CHECK(set.at("nr_requests") == "64");
    CHECK(set.at("wbt_lat_usec") == "5000");
    CHECK(set.at("max_sectors_kb") == "256");
    CHECK(set.at("read_ahead_kb") == "512");
    CHECK(environment.at("bdi").at("min_ratio") == "1");
    CHECK(environment.at("bdi").at("max_ratio") == "90");
    CHECK(environment.at("bdi").at("strict_limit") == "1");
    CHECK(environment.at("vm").at("dirty_expire_centisecs") == "2000");
    CHECK(environment.at("vm").at("dirty_writeback_centisecs") == "300");
    CHECK(environment.at("vm").at("dirty_bytes") == "64000000");
    CHECK(environment.at("vm").at("dirty_background_bytes") == "32000000");
    CHECK(environment.at("vm").at("vfs_cache_pressure") == "150");
    std::string info;
    for (const auto& line : environment.at("xfs_info")) info += line.get<std::string>() + "\n";
    CHECK(info.contains("agcount=8"));
    CHECK(info.contains("rmapbt=1"));
    CHECK(info.contains("reflink=1"));
    CHECK(info.contains("sunit=16     swidth=64 blks"));  // 64 KiB and 4 of them, in blocks of 4 KiB
    CHECK(info.contains("blocks=16384"));                 // the log: 64 MiB
    const std::string options = environment.at("mount").at("options");
    CHECK(options.contains("allocsize=1024k"));
    CHECK(options.contains("logbsize=256k"));
    CHECK(options.contains("noatime"));
  }
  {
    const auto [code, said] = bench.run({"untars=1", "rate_mb=0", "ratio=30", "external_log=1", "reflink=0", queue + "scheduler=none"});
    INFO(said);
    REQUIRE(code == 0);
    CHECK(snapshot(bench) == before);
    const auto record = read_record(bench.out());
    REQUIRE(record);
    CHECK(record->box.environment.at("vm").at("dirty_ratio") == "30");
    CHECK(record->box.environment.at("vm").at("dirty_background_ratio") == "15");
    CHECK(record->box.environment.at("vm").at("dirty_bytes") == "0");
    std::string info;
    for (const auto& line : record->box.environment.at("xfs_info")) info += line.get<std::string>() + "\n";
    const bool outside = info.contains("=external") || info.contains("=/dev/");  // by the version of xfs_info
    CHECK(outside);
    CHECK(info.contains("reflink=0"));
  }
  // What the kernel does not take is an error that names the setting, and nothing of it stays.
  const auto [code, said] = bench.run({"untars=1", "rate_mb=0", queue + "nr_requests=99999999"});
  INFO(said);
  CHECK(code == 3);
  CHECK(said.contains("nr_requests"));
  CHECK(snapshot(bench) == before);
}

TEST_CASE("box: jobs run beside the untars, and what fio and the probe measured is in the record", "[box]") {
  if (const auto why = obstacle(); !why.empty()) return test::skip(why);
  if (!find_program("fio")) return test::skip("needs fio");
  const Bench bench;
  const std::string before = snapshot(bench);
  const auto [code, said] = bench.run({"untars=2", "job=write", "job=read", "job=randrw", "job=create", "job=unlink", "job=compute", "job=probe"});
  INFO(said);
  REQUIRE(code == 0);
  CHECK(snapshot(bench) == before);
  const auto record = read_record(bench.out());
  REQUIRE(record);
  REQUIRE(record->jobs.size() == 7);
  const auto job = [&](std::string_view name) -> const JobResult& {
    for (const auto& one : record->jobs)
      if (one.name == name) return one;
    FAIL("no job " << name);
    return record->jobs[0];
  };
  CHECK(job("write").write_bytes == 8 << 20);
  CHECK(job("write").operations == 128);
  CHECK(job("write").lat_ms_max > 0);
  CHECK(job("read").read_bytes == 8 << 20);
  CHECK(job("read").write_bytes == 0);
  CHECK(job("randrw").read_bytes + job("randrw").write_bytes == 8 << 20);
  CHECK(job("create").operations == 50);
  CHECK(job("unlink").operations == 50);
  CHECK(job("compute").user_s + job("compute").system_s > 0.2);
  CHECK(job("compute").elapsed_s >= 1);
  // Ten probes a second, unless one takes longer than that; each creates, syncs and stats a file.
  CHECK(job("probe").operations >= 1);
  CHECK(job("probe").operations <= 21);
  CHECK(job("probe").lat_ms_p50 > 0);
  CHECK(job("probe").lat_ms_p50 <= job("probe").lat_ms_p99);
  CHECK(job("probe").lat_ms_p99 <= job("probe").lat_ms_max);
  CHECK(record->untars.size() == 2);
}

TEST_CASE("box: helpers in user space start writeback before the kernel would", "[box]") {
  if (const auto why = obstacle(); !why.empty()) return test::skip(why);
  const Bench bench;
  const std::string before = snapshot(bench);
  // 24 MB stay below the background limit of 200 MB: only the helpers write before the sync.
  std::int64_t written[2]{};
  for (const int helpers : {0, 2}) {
    const auto [code, said] = bench.run({"untars=1", "rate_mb=20", "dirty_mb=400", "job=compute", helpers > 0 ? "flushers=user:2" : "flushers=kernel"});
    INFO(said);
    REQUIRE(code == 0);
    CHECK(snapshot(bench) == before);
    const auto record = read_record(bench.out());
    REQUIRE(record);
    const auto timeline = read_timeline(bench.out() / "timeline.csv");
    REQUIRE(timeline);
    // What the device had taken when the job that followed the untar ended.
    for (const auto& row : timeline->rows)
      if (row.t_s <= record->untars_end_s && row.device_write_bytes) written[helpers / 2] = static_cast<std::int64_t>(*row.device_write_bytes - timeline->rows.front().device_write_bytes.value_or(0));
    if (helpers > 0) CHECK(record->counters.at("user_flushers") == 2);
  }
  CHECK(written[0] < 5'000'000);
  CHECK(written[1] > 10'000'000);
}

TEST_CASE("box: a second run at the same time is refused with a sentence", "[box]") {
  if (const auto why = obstacle(); !why.empty()) return test::skip(why);
  const Bench bench;
  auto journal = Journal::open(bench.state());
  REQUIRE(journal);
  const auto [code, said] = bench.run({});
  CHECK(code == 3);
  CHECK(said.find("another run") != std::string::npos);
}

TEST_CASE("box: a full image ends in one sentence and the box is put back", "[box]") {
  if (const auto why = obstacle(); !why.empty()) return test::skip(why);
  const Bench bench;
  const std::string before = snapshot(bench);
  const auto [code, said] = bench.run({"untars=16", "size_mb=320", "rate_mb=0", "dirty_mb=2000"});
  INFO(said);
  CHECK(code == 3);
  CHECK(said.find("No space left") != std::string::npos);
  CHECK(snapshot(bench) == before);
}

TEST_CASE("box: a disk that fills up behind the image is found by syncfs, although tar succeeds", "[box]") {
  if (const auto why = obstacle(); !why.empty()) return test::skip(why);
  const Bench bench;
  const std::string before = snapshot(bench);
  const auto disk = bench.root / "disk";
  std::filesystem::create_directories(disk);
  REQUIRE(mount_file_system("tmpfs", disk, "tmpfs", "size=400m"));
  {
    const auto victim = bench.start({"untars=4", "path=" + disk.string(), "rate_mb=10", "dirty_mb=400"}, "");
    // Once the file system is mounted, the rest of the disk is taken away.
    bool filled = false;
    for (int wait = 0; wait < 600 && !filled; ++wait) {
      std::this_thread::sleep_for(std::chrono::milliseconds{20});
      for (const auto& mount : mount_points()) filled = filled || (mount.type == "xfs" && mount.point.starts_with(bench.state().string()));
    }
    const int fd = ::open((disk / "filler").c_str(), O_WRONLY | O_CREAT, 0600);
    std::string chunk(1 << 20, 'x');
    while (::write(fd, chunk.data(), chunk.size()) > 0) {
    }
    ::close(fd);
    const auto [code, said] = Bench::wait(victim);
    INFO(said);
    CHECK(filled);
    CHECK(code == 3);
    // Space ran out, or XFS shut down over it: either way it is said that data did not reach the disk.
    const bool told = said.find("space ran out") != std::string::npos || said.find("did not reach the disk") != std::string::npos ||
                      said.find("Input/output error") != std::string::npos || said.find("No space left") != std::string::npos;
    CHECK(told);
  }
  CHECK(unmount(disk, std::chrono::milliseconds{5000}));
  CHECK(snapshot(bench) == before);
}

TEST_CASE("box: a device that fails in the middle ends in one sentence and the box is put back", "[box]") {
  if (const auto why = obstacle(); !why.empty()) return test::skip(why);
  if (!exists("/dev/fuse")) return test::skip("needs /dev/fuse");
  const Bench bench;
  const std::string before = snapshot(bench);
  // The modeled disk's server is the device: when it dies, every request ends with an error, as on a dead disk.
  const auto victim = bench.start({"untars=6", "target=modeled", "rate_mb=20", "dirty_mb=64"}, "");
  bool mounted = false;
  for (int wait = 0; wait < 600 && !mounted; ++wait) {
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
    for (const auto& mount : mount_points()) mounted = mounted || (mount.type == "xfs" && mount.point.starts_with(bench.state().string()));
  }
  REQUIRE(mounted);
  std::this_thread::sleep_for(std::chrono::milliseconds{1500});
  const pid_t server = server_of_disk(bench);
  REQUIRE(server > 0);
  ::kill(server, SIGKILL);
  const auto [code, said] = Bench::wait(victim);
  INFO(said);
  CHECK(code == 3);
  CHECK(std::count(said.begin(), said.end(), '\n') <= 2);
  CHECK((said.find("Input/output error") != std::string::npos || said.find("did not reach the disk") != std::string::npos));
  CHECK(snapshot(bench) == before);
}

TEST_CASE("box: every engine extracts the same tree", "[box]") {
  if (const auto why = obstacle(); !why.empty()) return test::skip(why);
  const Bench bench;
  for (const char* engine : {"tar", "bsdtar", "libarchive", "posix", "uring"}) {
    CAPTURE(engine);
    const auto [code, said] = bench.run({"untars=1", "rate_mb=0", "verify=1", fmt::format("engine={}", engine)});
    INFO(said);
    CHECK(code == 0);
  }
}

TEST_CASE("box: random moments of death, before and after entries and in between", "[.long][box]") {
  if (const auto why = obstacle(); !why.empty()) return test::skip(why);
  const Bench bench;
  const std::string before = snapshot(bench);
  const auto seed = std::random_device{}();
  std::mt19937 random{seed};
  UNSCOPED_INFO("seed " << seed);
  for (const char* kind : kKinds) {
    CAPTURE(kind);
    const auto [code, said] = bench.run({"knob=256"}, fmt::format("KILL before {}", kind));
    CHECK(code == 128 + SIGKILL);
    CHECK(seconds_of_restore(bench) < 10);
    REQUIRE(snapshot(bench) == before);
  }
  const char* asked = std::getenv("SPILLWAY_TEST_ROUNDS");
  const int rounds = asked ? std::atoi(asked) : 50;
  for (int round = 0; round < rounds; ++round) {
    const int signal = std::array{SIGKILL, SIGINT, SIGTERM, SIGHUP}[random() % 4];
    const auto delay = std::chrono::milliseconds{random() % 4000};
    CAPTURE(round, signal, delay.count(), seed);
    const auto victim = bench.start({"knob=256"}, "");
    std::this_thread::sleep_for(delay);
    ::kill(victim.pid, signal);
    const auto [code, said] = Bench::wait(victim);
    INFO(said);
    if (signal == SIGKILL) CHECK(seconds_of_restore(bench) < 10);
    CHECK(left_running(bench) == 0);
    REQUIRE(snapshot(bench) == before);
  }
}

}  // namespace spillway::real
