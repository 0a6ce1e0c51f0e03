#include "workload/real/modeled_disk/modeled_disk.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "workload/real/modeled_disk/disk_server.hpp"

namespace spillway::real {

namespace {

constexpr int kStartTimeoutMs = 60'000;  // prefaulting takes its time

Error refused(std::string what, int error = 0) {
  if (error != 0) what += fmt::format(": {}.", std::strerror(error));
  return {ErrorKind::refused, error, std::move(what)};
}

void sleep_ms(int ms) {
  const timespec t{ms / 1000, ms % 1000 * 1'000'000L};
  nanosleep(&t, nullptr);
}

Result<std::string> read_file(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::unexpected(refused("Cannot read the modeled disk's report " + path, errno));
  std::string text;
  char buffer[16'384];
  for (ssize_t n = 0; (n = read(fd, buffer, sizeof buffer)) != 0;) {
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) break;
    text.append(buffer, static_cast<std::size_t>(n));
  }
  close(fd);
  return text;
}

/// Modification stamp, to see that a new report has appeared.
timespec stamp(const std::string& path) {
  struct stat st {};
  return stat(path.c_str(), &st) == 0 ? st.st_mtim : timespec{};
}
bool same(const timespec& a, const timespec& b) { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; }

/// What remains of the forked child: no signal dispositions, no descriptors, no terminal of the caller's.
void become_server(int pipe_fd) {
  setsid();
  for (int s = 1; s < NSIG; ++s) {
    if (s != SIGKILL && s != SIGSTOP) std::signal(s, SIG_DFL);
  }
  const int null = open("/dev/null", O_RDWR);
  for (const int fd : {0, 1, 2}) dup2(null, fd);
  const int pipe_at = dup2(pipe_fd, 3);
  close_range(static_cast<unsigned>(pipe_at) + 1, ~0U, 0);
  (void)!chdir("/");
}

}  // namespace

ModeledDisk::ModeledDisk(ModeledDisk&& other) noexcept
    : directory_(std::move(other.directory_)), report_path_(std::move(other.report_path_)), pid_(other.pid_),
      made_directory_(other.made_directory_) {
  other.pid_ = -1;
}

ModeledDisk::~ModeledDisk() {
  if (pid_ > 0 && !stop()) kill();
}

Result<ModeledDisk> ModeledDisk::start(const ModeledDiskOptions& given) {
  ModeledDiskOptions options = given;
  // Refuse nonsense here, where the caller can read the sentence.
  const auto model = sim::device::make_device(options.spec, options.seed);
  if (!model) return std::unexpected(model.error());
  const Bytes capacity = to_bytes((*model)->capacity());
  if (options.size.value() == 0) options.size = Bytes{capacity.value() / 4096 * 4096};
  if (options.size > capacity || options.size.value() <= 0 || options.size.value() % 4096 != 0) {
    return fail(ErrorKind::bad_input,
                fmt::format("A modeled disk of {} bytes on \"{}\": the size must be a multiple of 4096 and at most the "
                            "model's {} bytes.", options.size.value(), options.spec.name, capacity.value()));
  }
  if (options.directory.empty() || options.directory.front() != '/') {
    return fail(ErrorKind::bad_input, "A modeled disk needs an absolute directory to be mounted on.");
  }
  if (access("/dev/fuse", R_OK | W_OK) != 0) {
    return fail(ErrorKind::unsupported, "A modeled disk needs /dev/fuse; load the fuse module and run as root.", errno);
  }
  if (options.report_path.empty()) options.report_path = options.directory + ".json";

  ModeledDisk disk;
  disk.directory_ = options.directory;
  disk.report_path_ = options.report_path;
  if (mkdir(options.directory.c_str(), 0700) == 0) {
    disk.made_directory_ = true;
  } else if (errno != EEXIST) {
    return std::unexpected(refused("Cannot make the directory " + options.directory, errno));
  }
  int ready[2];
  if (pipe2(ready, O_CLOEXEC) != 0) return std::unexpected(refused("Cannot make a pipe", errno));

  const pid_t child = fork();
  if (child < 0) return std::unexpected(refused("Cannot fork the modeled disk's server", errno));
  if (child == 0) {
    become_server(ready[1]);
    serve_modeled_disk(options, [](const std::string& problem) {
      const std::string line = problem.empty() ? "ok" : problem;
      (void)!write(3, line.data(), line.size());
      close(3);
    });
    _exit(1);
  }
  disk.pid_ = child;
  close(ready[1]);
  std::string answer;
  pollfd fd{ready[0], POLLIN, 0};
  while (poll(&fd, 1, kStartTimeoutMs) > 0) {
    char buffer[1024];
    const ssize_t n = read(ready[0], buffer, sizeof buffer);
    if (n <= 0) break;
    answer.append(buffer, static_cast<std::size_t>(n));
  }
  close(ready[0]);
  if (answer != "ok") {
    disk.kill();
    return fail(ErrorKind::refused, answer.empty() ? "The modeled disk's server did not come up." : answer);
  }
  return disk;
}

Result<std::string> ModeledDisk::report() {
  const timespec before = stamp(report_path_);
  if (pid_ <= 0 || ::kill(pid_, SIGUSR1) != 0) {
    return std::unexpected(refused("The modeled disk's server is gone; its mount is " + directory_));
  }
  for (int waited = 0; waited < 2000; waited += 5) {
    if (!same(stamp(report_path_), before)) return read_file(report_path_);
    sleep_ms(5);
  }
  return std::unexpected(refused("The modeled disk's server wrote no report within 2 s"));
}

bool ModeledDisk::reap(int milliseconds) {
  for (int waited = 0;; waited += 5) {
    const pid_t got = waitpid(pid_, nullptr, WNOHANG);
    if (got == pid_ || (got < 0 && errno == ECHILD)) {
      pid_ = -1;
      return true;
    }
    if (waited >= milliseconds) return false;
    sleep_ms(5);
  }
}

Result<std::string> ModeledDisk::stop() {
  if (pid_ <= 0) return std::unexpected(refused("The modeled disk is not running"));
  if (umount2(directory_.c_str(), 0) != 0 && errno != EINVAL) {
    const int error = errno;
    // A server that died leaves a mount behind that only wants to be detached.
    if (error == EBUSY && !reap(0)) {
      return std::unexpected(refused("The modeled disk's file " + path() + " is still in use; detach the loop device first",
                                     error));
    }
    umount2(directory_.c_str(), MNT_DETACH);
  }
  if (pid_ > 0 && !reap(5000)) {
    ::kill(pid_, SIGKILL);
    reap(1000);
  }
  if (made_directory_) rmdir(directory_.c_str());
  return read_file(report_path_);
}

void ModeledDisk::kill() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    reap(1000);
  }
  umount2(directory_.c_str(), MNT_DETACH);
  if (made_directory_) rmdir(directory_.c_str());
  pid_ = -1;
}

Status clean_up_modeled_disk(const std::string& directory) {
  if (umount2(directory.c_str(), MNT_DETACH) == 0 || errno == EINVAL || errno == ENOENT) return {};
  return std::unexpected(refused("Cannot unmount the modeled disk at " + directory, errno));
}

}  // namespace spillway::real
