/// The program that a box with its own kernel runs inside it. Static, so that a root file system of a shell and mkfs is
/// enough.
///
///   spillway-guest run PLAN OUT      the untars and phases of a plan; OUT/results.txt, OUT/samples.csv, OUT/workers.tsv
///   spillway-guest loop DEV FILE [direct]   attaches a file to a loop device

#include "workload/kernel/guest/clock.hpp"
#include "workload/kernel/guest/monitor.hpp"
#include "workload/kernel/guest/untar.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <linux/loop.h>
#include <map>
#include <sstream>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace spillway::kernel::guest {
namespace {

std::string folder_of(const GuestPlan& plan, int untar_number) { return plan.mount_point + "/t" + std::to_string(untar_number); }

// delayacct_blkio_ticks of a process: time in I/O wait, which includes the sleeps of balance_dirty_pages.
long long blkio_ticks() {
  std::ifstream file("/proc/self/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  const auto close_at = text.rfind(')');
  if (close_at == std::string::npos) return -1;
  std::istringstream fields(text.substr(close_at + 2));
  std::string field;
  for (int number = 3; fields >> field; ++number) {
    if (number == 42) return std::atoll(field.c_str());
  }
  return -1;
}

int sync_mount(const GuestPlan& plan) {
  const int folder = open(plan.mount_point.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return errno;
  const int error = syncfs(folder) != 0 ? errno : 0;
  close(folder);
  return error;
}

// What a child tells its parent through a line of a file of its own.
void untar_child(const GuestPlan& plan, int number, Cores& cores, const std::string& out) {
  prctl(PR_SET_TIMERSLACK, 1);
  if (!plan.cgroups.empty()) {
    const auto& group = plan.cgroups[static_cast<std::size_t>(number - 1) % plan.cgroups.size()];
    std::ofstream(group + "/cgroup.procs") << getpid();
  }
  Charge charge(cores);
  const auto counts = untar(plan, folder_of(plan, number), charge);
  std::FILE* file = std::fopen((out + "/untar." + std::to_string(number)).c_str(), "w");
  if (file != nullptr) {
    std::fprintf(file, "%lld %lld %lld %lld %lld %d %s", static_cast<long long>(counts.files), static_cast<long long>(counts.bytes),
                 static_cast<long long>(charge.charged_ns()), static_cast<long long>(charge.queued_ns()), blkio_ticks(), counts.error,
                 counts.failed_on.empty() ? "-" : counts.failed_on.c_str());
    std::fclose(file);
  }
  _exit(counts.error == 0 ? 0 : 1);
}

// "7:1" of a block device: its folder in debugfs bdi/ and its name in trace events. Only the guest knows the number.
std::string bdi_of(const std::string& device) {
  std::ifstream file("/sys/block/" + device + "/dev");
  std::string number;
  std::getline(file, number);
  return number;
}

int run(GuestPlan plan, const std::string& out) {
  plan.bdi = bdi_of(plan.device);
  Cores* cores = make_cores(plan.cpus);
  Progress* progress = make_progress();
  std::FILE* results = std::fopen((out + "/results.txt").c_str(), "w");
  if (cores == nullptr || progress == nullptr || results == nullptr) return 1;

  const pid_t watcher = fork();
  if (watcher == 0) {
    monitor(plan, *progress, out + "/samples.csv", out + "/workers.tsv");
    _exit(0);
  }
  int failures = 0;
  const auto phase = [&](const std::string& name, auto&& work) {
    const auto start = now_ns();
    const int error = work();
    const auto end = now_ns();
    std::fprintf(results, "phase %s %lld %lld %d\n", name.c_str(), static_cast<long long>(start), static_cast<long long>(end), error);
    if (error != 0) ++failures;
  };

  Charge charge(*cores);
  for (const auto& name : plan.before) {
    phase(name, [&] {
      int error = 0;
      for (int number = 1; number <= plan.untars && error == 0; ++number) {
        error = name == "remove" ? remove_tree(plan, folder_of(plan, number), charge) : make_skeleton(plan, folder_of(plan, number), charge);
      }
      return error;
    });
  }
  for (int number = 1; number <= plan.untars; ++number) {
    if (mkdir(folder_of(plan, number).c_str(), 0755) != 0 && errno != EEXIST) ++failures;
  }
  // The runs start from a clean file system, with empty folders on disk, as the real box's do.
  sync_mount(plan);

  std::map<pid_t, std::pair<int, std::int64_t>> running;  // pid -> (number, start)
  int next = 1;
  while (next <= plan.untars || !running.empty()) {
    while (next <= plan.untars && static_cast<int>(running.size()) < plan.at_once) {
      const auto start = now_ns();
      if (next == 1) progress->t0_ns = start;
      progress->youngest_untar = next;
      const pid_t child = fork();
      if (child == 0) untar_child(plan, next, *cores, out);
      running[child] = {next, start};
      ++next;
    }
    int status = 0;
    rusage usage{};
    const pid_t done = wait4(-1, &status, 0, &usage);
    const auto end = now_ns();
    const auto found = running.find(done);
    if (found == running.end()) continue;
    const auto [number, start] = found->second;
    running.erase(found);
    std::ifstream told(out + "/untar." + std::to_string(number));
    std::string line;
    std::getline(told, line);
    const int exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (exit_status != 0) ++failures;
    std::fprintf(results, "untar %d %d %lld %lld %d %ld %ld %ld %lld %lld %s\n", number, done, static_cast<long long>(start),
                 static_cast<long long>(end), exit_status, usage.ru_nvcsw, usage.ru_nivcsw, usage.ru_maxrss,
                 usage.ru_utime.tv_sec * 1'000'000LL + usage.ru_utime.tv_usec, usage.ru_stime.tv_sec * 1'000'000LL + usage.ru_stime.tv_usec,
                 line.c_str());
  }
  progress->youngest_untar = 0;
  bool synced = false;
  for (const auto& name : plan.after) {
    if (name == "none") continue;
    if (name == "sync") synced = true;
    phase(name, [&] {
      if (name != "fsync_each") return sync_mount(plan);
      int error = 0;
      for (int number = 1; number <= plan.untars && error == 0; ++number) error = fsync_each(plan, folder_of(plan, number));
      return error;
    });
  }
  // Durable is when everything is on disk, asked for or not.
  if (!synced) phase("until_durable", [&] { return sync_mount(plan); });
  progress->stop = true;
  int status = 0;
  waitpid(watcher, &status, 0);
  std::fprintf(results, "bdi %s\nt0 %lld\nfailures %d\ndone\n", plan.bdi.c_str(), static_cast<long long>(progress->t0_ns.load()), failures);
  std::fclose(results);
  return failures == 0 ? 0 : 1;
}

int attach_loop(const char* device, const char* file, bool direct) {
  const int loop = open(device, O_RDWR | O_CLOEXEC);
  const int backing = open(file, (direct ? O_DIRECT : 0) | O_RDWR | O_CLOEXEC);
  if (loop < 0 || backing < 0 || ioctl(loop, LOOP_SET_FD, backing) != 0) {
    std::fprintf(stderr, "loop %s on %s: %s\n", device, file, std::strerror(errno));
    return 1;
  }
  if (direct && ioctl(loop, LOOP_SET_DIRECT_IO, 1UL) != 0) {
    std::fprintf(stderr, "loop %s on %s: no direct I/O: %s\n", device, file, std::strerror(errno));
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace spillway::kernel::guest

int main(int argc, char** argv) {
  using namespace spillway::kernel;
  const std::string verb = argc > 1 ? argv[1] : "";
  if (verb == "loop" && argc >= 4) return guest::attach_loop(argv[2], argv[3], argc > 4);
  if (verb == "run" && argc == 4) {
    std::ifstream file(argv[2]);
    std::stringstream text;
    text << file.rdbuf();
    std::string bad;
    const auto plan = plan_from_text(text.str(), &bad);
    if (!plan) {
      std::fprintf(stderr, "spillway-guest: cannot read the plan %s: '%s'\n", argv[2], bad.c_str());
      return 2;
    }
    return guest::run(*plan, argv[3]);
  }
  std::fprintf(stderr, "spillway-guest run PLAN OUT | loop DEV FILE [direct]\n");
  return 2;
}
