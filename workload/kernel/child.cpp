#include "workload/kernel/child.hpp"

#include "workload/interrupt/interrupt.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace spillway::kernel {

Result<double> run_child(const ChildCommand& command, const std::function<void(double)>& tick) {
  std::vector<std::string> words{command.program.string()};
  words.insert(words.end(), command.arguments.begin(), command.arguments.end());
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const int console = open(command.console.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (console < 0) return fail(ErrorKind::refused, fmt::format("Cannot write {}: {}.", command.console.string(), std::strerror(errno)), errno);
  const auto started = std::chrono::steady_clock::now();
  const pid_t child = fork();
  if (child < 0) {
    close(console);
    return fail(ErrorKind::refused, fmt::format("Cannot start a process: {}.", std::strerror(errno)), errno);
  }
  if (child == 0) {
    setpgid(0, 0);
    const int nothing = open("/dev/null", O_RDONLY);
    dup2(nothing, 0);
    dup2(console, 1);
    dup2(console, 2);
    for (const auto& [name, value] : command.environment) setenv(name.c_str(), value.c_str(), 1);
    execv(argv[0], argv.data());
    _exit(127);
  }
  setpgid(child, child);
  close(console);
  const auto wall = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count(); };
  int status = 0;
  while (true) {
    const pid_t done = waitpid(child, &status, WNOHANG);
    if (done == child) break;
    const bool late = wall() > static_cast<double>(command.limit.count());
    if (interrupted() || late) {
      kill(-child, SIGKILL);
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      if (late) return fail(ErrorKind::refused, fmt::format("{} took more than {} s of wall time and was ended; its console is in {}.",
                                                            command.program.filename().string(), command.limit.count(), command.console.string()));
      return fail(ErrorKind::refused, "Interrupted.", EINTR);
    }
    pollfd watch{.fd = interrupt_fd(), .events = POLLIN, .revents = 0};
    poll(&watch, watch.fd >= 0 ? 1 : 0, 20);
    if (tick) tick(wall());
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127) {
    return fail(ErrorKind::refused, fmt::format("Cannot execute {}.", command.program.string()));
  }
  return wall();
}

Result<int> run_in_foreground(const std::filesystem::path& program, const std::vector<std::string>& arguments) {
  std::vector<std::string> words{program.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child < 0) return fail(ErrorKind::refused, fmt::format("Cannot start a process: {}.", std::strerror(errno)), errno);
  if (child == 0) {
    execv(argv[0], argv.data());
    _exit(127);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return fail(ErrorKind::refused, fmt::format("Cannot wait for {}: {}.", program.string(), std::strerror(errno)), errno);
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127) return fail(ErrorKind::refused, fmt::format("Cannot execute {}.", program.string()));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace spillway::kernel
