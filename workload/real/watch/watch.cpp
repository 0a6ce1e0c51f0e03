#include "workload/real/watch/watch.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <thread>

#include "workload/interrupt/interrupt.hpp"
#include "workload/real/capture/environment.hpp"
#include "workload/real/monitors/observability.hpp"
#include "workload/real/monitors/sampler.hpp"
#include "workload/real/system/loop_device.hpp"
#include "workload/real/system/mounts.hpp"
#include "workload/real/system/process.hpp"
#include "workload/real/system/text_file.hpp"

namespace spillway::real {
namespace {

constexpr std::chrono::milliseconds kLook{100};

/// Starts the command in our own process group, so that Ctrl-C reaches it as it would without us.
Result<pid_t> start(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const auto& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  int failed[2];
  if (::pipe2(failed, O_CLOEXEC) != 0) return fail(ErrorKind::refused, fmt::format("no pipe: {}", std::strerror(errno)), errno);
  const pid_t pid = ::fork();
  if (pid == 0) {
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::signal(signal, SIG_DFL);
    ::execvp(arguments[0], arguments.data());
    const int error = errno;
    [[maybe_unused]] const auto told = ::write(failed[1], &error, sizeof error);
    ::_exit(127);
  }
  ::close(failed[1]);
  int error = 0;
  const bool broken = pid > 0 && ::read(failed[0], &error, sizeof error) == static_cast<ssize_t>(sizeof error);
  ::close(failed[0]);
  if (pid < 0) return fail(ErrorKind::refused, fmt::format("cannot start a process: {}", std::strerror(errno)), errno);
  if (broken) {
    ::waitpid(pid, nullptr, 0);
    return fail(ErrorKind::bad_input, fmt::format("cannot run {}: {}", command[0], std::strerror(error)), error);
  }
  return pid;
}

struct Device {
  std::string name, number, mount_point;
};

/// The block device of the file system that holds a path.
Device device_of(const std::string& place) {
  Device device;
  const auto mount = mount_of(place);
  if (!mount) return device;
  device.number = mount->device_number;
  device.mount_point = mount->point;
  if (mount->source.starts_with("/dev/")) device.name = block_name(mount->source).value_or("");
  if (!device.name.empty() && !exists(fmt::format("/sys/block/{}/stat", device.name))) device.name.clear();
  return device;
}

class Watching {
 public:
  Watching(const WatchOptions& options, const std::function<void(const WatchFrame&)>& frame) : options_(options), frame_(frame) {}

  Result<WatchResult> run() {
    char here[4096]{};
    const std::string place = !options_.place.empty() ? options_.place : ::getcwd(here, sizeof here) != nullptr ? std::string{here} : "/";
    device_ = device_of(place);
    see_what_can_be_seen();
    SPILLWAY_ASSIGN(sampler_, Sampler::start({device_.name, device_.number, debugfs_, options_.directory / "timeline.csv", kLook, true}));
    origin_ns_ = monotonic_ns();
    block_before_ = last_block_ = block();
    if (!options_.command.empty()) {
      SPILLWAY_ASSIGN(child_, start(options_.command));
    }
    loop();
    return finish();
  }

 private:
  void see_what_can_be_seen() {
    const std::string mounted = mount_point_of("debugfs");
    if (!mounted.empty() && !device_.number.empty() && read_text(fmt::format("{}/bdi/{}/stats", mounted, device_.number))) debugfs_ = mounted;
    if (debugfs_.empty())
      not_seen_.push_back(mounted.empty() ? "the device's share of the dirty limit and its bandwidth: debugfs is not mounted (mount -t debugfs debugfs /sys/kernel/debug, as root)"
                                          : fmt::format("the device's share of the dirty limit and its bandwidth: debugfs has nothing readable for {} (root only, or no block device)", device_.number));
    if (device_.name.empty()) not_seen_.emplace_back("device statistics: the file system has no block device of its own");
    if (::geteuid() != 0) not_seen_.emplace_back("where other users' processes and kernel workers sleep (wchan needs root): their waits in state D count as device");
    if (read_number("/proc/sys/kernel/task_delayacct") == 0) not_seen_.emplace_back("exact throttling time: it is sampled ten times a second, since kernel.task_delayacct is 0 and watch changes nothing");
  }

  [[nodiscard]] BlockStat block() const {
    return device_.name.empty() ? BlockStat{} : parse_block_stat(read_text(fmt::format("/sys/block/{}/stat", device_.name)).value_or("")).value_or(BlockStat{});
  }

  void loop() {
    std::int64_t next_look = origin_ns_, next_frame = origin_ns_ + std::chrono::nanoseconds{options_.interval}.count();
    std::vector<pid_t> writers;
    for (int round = 0;; ++round) {
      const std::int64_t now = monotonic_ns();
      if (child_ > 0) {
        tasks_.look(family_of(child_), now);
        int status = 0;
        const pid_t ended = ::wait4(child_, &status, WNOHANG, &usage_);
        if (ended == child_) {
          ended_ns_ = monotonic_ns();
          exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
          return;
        }
      } else {
        if (round % 10 == 0) writers = writers_here(::getpid());
        tasks_.look(writers, now);
        if (interrupted() || (options_.seconds > 0 && static_cast<double>(now - origin_ns_) * 1e-9 >= options_.seconds)) {
          ended_ns_ = now;
          return;
        }
      }
      if (now >= next_frame) {
        show(now);
        next_frame += std::chrono::nanoseconds{options_.interval}.count();
      }
      next_look += std::chrono::nanoseconds{kLook}.count();
      if (next_look < now) next_look = now;
      // A command may end sooner: looked for every 5 ms, so that its elapsed time is good to that.
      while (monotonic_ns() < next_look) {
        std::this_thread::sleep_for(std::chrono::milliseconds{5});
        if (child_ <= 0) continue;
        siginfo_t info{};
        if (::waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == child_) break;
      }
    }
  }

  void show(std::int64_t now) {
    if (!frame_) return;
    WatchFrame frame;
    frame.t_s = static_cast<double>(now - origin_ns_) * 1e-9;
    frame.dirty = parse_vmstat_dirty(read_text("/proc/vmstat").value_or("")).value_or(DirtyView{});
    if (!debugfs_.empty()) frame.device = parse_bdi_stats(read_text(fmt::format("{}/bdi/{}/stats", debugfs_, device_.number)).value_or(""));
    frame.device_name = device_.name;
    if (!device_.name.empty()) {
      const BlockStat stat = block();
      const double seconds = std::max(1e-3, static_cast<double>(now - last_frame_ns_) * 1e-9);
      if (last_frame_ns_ > 0) {
        frame.device_mb_per_s = static_cast<double>(stat.write_sectors - last_block_.write_sectors) * 512e-6 / seconds;
        frame.device_busy_pct = std::min(100.0, static_cast<double>(stat.busy_ms - last_block_.busy_ms) / (seconds * 10));
      }
      last_block_ = stat;
    }
    last_frame_ns_ = now;
    for (const auto& [pid, task] : tasks_.tasks())
      if (!task.ended) frame.tasks.push_back(task);
    frame.kworkers = sampler_->workers(std::max(1e-3, frame.t_s));
    frame_(frame);
  }

  Result<WatchResult> finish() {
    (void)sampler_->finish(origin_ns_);
    WatchResult result;
    result.exit_code = exit_code_;
    Record& record = result.record;
    const double seconds = static_cast<double>(ended_ns_ - origin_ns_) * 1e-9;
    record.experiment_title = options_.command.empty() ? "What went on" : fmt::format("{}", fmt::join(options_.command, " "));
    record.experiment_name = "watch";
    record.box.kind = record.box.name = "real";
    record.box.kernel = kernel_version();
    record.box.hz = kernel_hz().value_or(0);
    record.box.cpus = cpu_count();
    record.box.numa_nodes = numa_nodes();
    record.box.ram_bytes = memory_bytes();
    record.box.target = "watch";
    record.box.device = device_.name.empty() ? "folder " + device_.mount_point : "/dev/" + device_.name;
    record.box.environment = capture_environment(device_.name, device_.mount_point);
    int number = 0;
    for (const auto& [pid, task] : by_start()) {
      if (pid == child_ && tasks_.tasks().size() > 1) continue;  // the command's own row is the phase below
      if (task.last_ns == task.first_ns) continue;  // seen once: no time to speak of
      record.untars.push_back(untar_of(task, ++number, origin_ns_));
      record.notes.push_back(fmt::format("untar {} is {}", number, task.command));
    }
    if (child_ > 0) {
      PhaseResult phase{"command", 0, seconds, static_cast<double>(usage_.ru_utime.tv_sec) + static_cast<double>(usage_.ru_utime.tv_usec) * 1e-6,
                        static_cast<double>(usage_.ru_stime.tv_sec) + static_cast<double>(usage_.ru_stime.tv_usec) * 1e-6, 0};
      record.phases.push_back(phase);
      record.notes.push_back(fmt::format("the command ended with exit code {}", exit_code_));
    }
    record.kworkers = sampler_->workers(std::max(1e-9, seconds));
    for (const auto& worker : record.kworkers)
      if (worker.queue == "flush") record.flusher = {worker.count, worker.cpu_s, worker.cpu_pct, 0, 0};
    const BlockStat after = block();
    record.device.write_bytes = (after.write_sectors - block_before_.write_sectors) * 512;
    record.device.read_bytes = (after.read_sectors - block_before_.read_sectors) * 512;
    record.device.write_ios = after.write_ios - block_before_.write_ios;
    record.device.read_ios = after.read_ios - block_before_.read_ios;
    record.device.busy_s = static_cast<double>(after.busy_ms - block_before_.busy_ms) * 1e-3;
    record.device.busy_pct = seconds > 0 ? std::min(100.0, 100 * record.device.busy_s / seconds) : 0;
    record.untars_end_s = record.durable_s = seconds;
    record.notes.push_back("watched, nothing was changed; the end is the command's, not when its data was on disk");
    if (tasks_.hidden() > 0) not_seen_.push_back(fmt::format("{} looks at a sleeping thread gave no wait channel", tasks_.hidden()));
    for (const auto& sentence : not_seen_) record.notes.push_back("not seen: " + sentence);
    record.files = {"timeline.csv"};
    record.host["wall_clock"] = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
    record.complete = true;
    result.not_seen = not_seen_;
    return result;
  }

  [[nodiscard]] std::vector<std::pair<pid_t, TaskHistory>> by_start() const {
    std::vector<std::pair<pid_t, TaskHistory>> all(tasks_.tasks().begin(), tasks_.tasks().end());
    std::ranges::stable_sort(all, {}, [](const auto& one) { return one.second.first_ns; });
    return all;
  }

  const WatchOptions& options_;
  const std::function<void(const WatchFrame&)>& frame_;
  Device device_;
  std::string debugfs_;
  std::unique_ptr<Sampler> sampler_;
  TaskWatch tasks_;
  pid_t child_ = 0;
  int exit_code_ = 0;
  rusage usage_{};
  std::int64_t origin_ns_ = 0, ended_ns_ = 0, last_frame_ns_ = 0;
  BlockStat block_before_, last_block_;
  std::vector<std::string> not_seen_;
};

std::string cut(std::string line, std::size_t width) {
  if (line.size() > width) line.resize(width);
  return line;
}

}  // namespace

Result<WatchResult> watch(const WatchOptions& options, const std::function<void(const WatchFrame&)>& frame) { return Watching{options, frame}.run(); }

std::vector<std::string> frame_lines(const WatchFrame& frame, std::size_t width) {
  std::vector<std::string> lines;
  const auto mb = [](std::int64_t pages) { return static_cast<double>(pages) * 4096e-6; };
  const std::int64_t dirty = frame.dirty.dirty + frame.dirty.writeback, freerun = (frame.dirty.thresh + frame.dirty.background) / 2;
  const char* place = dirty <= frame.dirty.background ? "below background: nobody writes, nobody waits"
                      : dirty <= freerun             ? "above background: the flusher writes, nobody waits"
                      : dirty < frame.dirty.thresh   ? "above freerun: writers are slowed down"
                                                     : "at the limit: writers wait";
  lines.push_back(fmt::format("{:6.1f} s  dirty {:.0f} MB (of it {:.0f} being written)  {}", frame.t_s, mb(dirty), mb(frame.dirty.writeback), place));
  lines.push_back(fmt::format("          background {:.0f}  freerun {:.0f}  limit {:.0f} MB", mb(frame.dirty.background), mb(freerun), mb(frame.dirty.thresh)));
  if (!frame.device_name.empty()) {
    std::string line = fmt::format("          {}", frame.device_name);
    if (frame.device_mb_per_s) line += fmt::format("  {:.1f} MB/s written", *frame.device_mb_per_s);
    if (frame.device_busy_pct) line += fmt::format("  {:.0f} % busy", *frame.device_busy_pct);
    if (frame.device) line += fmt::format("  share {:.0f} MB  estimated {:.1f} MB/s", mb(frame.device->wb_thresh_pages), mb(frame.device->bandwidth_pages_per_s));
    lines.push_back(line);
  }
  lines.push_back(fmt::format("{:>8} {:>8} {:>6} {:>9} {:>8} {:>7}  {}", "pid", "elapsed", "CPU %", "throttled", "stall", "device", "now"));
  for (const auto& task : frame.tasks) {
    const double elapsed = std::max(1e-3, task.elapsed_s());
    lines.push_back(fmt::format("{:>8} {:>7.1f}s {:>6.1f} {:>8.1f}s {:>7.1f}s {:>6.1f}s  {:<22} {}", task.pid, task.elapsed_s(), 100 * static_cast<double>(task.cpu_ns) * 1e-9 / elapsed,
                                task.waited_s(Wait::throttled), static_cast<double>(task.longest_throttle_ns) * 1e-9, task.waited_s(Wait::device), task.now, task.command));
  }
  for (const auto& worker : frame.kworkers)
    lines.push_back(fmt::format("          kworkers {:<12} {:>3}  {:.2f} s CPU  {}", worker.queue, worker.count, worker.cpu_s, worker.busiest_state));
  for (auto& line : lines) line = cut(std::move(line), width);
  return lines;
}

}  // namespace spillway::real
