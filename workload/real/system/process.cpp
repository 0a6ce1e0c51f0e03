#include "workload/real/system/process.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <thread>

#include "workload/real/system/text_file.hpp"

namespace spillway::real {

std::optional<ProcessStat> parse_process_stat(std::string_view line) {
  const std::size_t open = line.find('(');
  const std::size_t close = line.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return std::nullopt;
  const auto words = split_words(line.substr(close + 1));
  if (words.size() < 20) return std::nullopt;
  const auto number = [&](std::size_t field) {  // field numbers as in proc(5); the state is field 3
    return static_cast<std::uint64_t>(first_number(words[field - 3]).value_or(0));
  };
  ProcessStat stat;
  stat.comm = std::string{line.substr(open + 1, close - open - 1)};
  stat.state = words[0][0];
  stat.parent = static_cast<pid_t>(number(4));
  stat.group = static_cast<pid_t>(number(5));
  stat.flags = number(9);
  stat.user_ticks = number(14);
  stat.system_ticks = number(15);
  stat.start_ticks = number(22);
  return stat;
}

std::optional<ProcessStat> process_stat(pid_t pid) {
  const auto text = read_text(fmt::format("/proc/{}/stat", pid));
  if (!text) return std::nullopt;
  return parse_process_stat(*text);
}

std::optional<ProcessId> identify(pid_t pid) {
  const auto stat = process_stat(pid);
  if (!stat) return std::nullopt;
  return ProcessId{pid, stat->start_ticks};
}

bool is_alive(const ProcessId& id) {
  const auto stat = process_stat(id.pid);
  return stat && stat->start_ticks == id.start_ticks && stat->state != 'Z' && stat->state != 'X';
}

std::vector<ProcessId> descendants(pid_t pid) {
  std::multimap<pid_t, ProcessId> children;
  if (DIR* directory = ::opendir("/proc")) {
    while (const dirent* entry = ::readdir(directory)) {
      const pid_t candidate = std::atoi(entry->d_name);
      if (candidate <= 0) continue;
      if (const auto stat = process_stat(candidate))
        children.emplace(stat->parent, ProcessId{candidate, stat->start_ticks});
    }
    ::closedir(directory);
  }
  std::vector<ProcessId> found;
  std::vector<pid_t> ask{pid};
  while (!ask.empty()) {
    const pid_t parent = ask.back();
    ask.pop_back();
    const auto [begin, end] = children.equal_range(parent);
    for (auto it = begin; it != end; ++it) {
      found.push_back(it->second);
      ask.push_back(it->second.pid);
    }
  }
  return found;
}

Status kill_process(const ProcessId& id, std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (is_alive(id)) {
    ::kill(id.pid, SIGKILL);
    if (std::chrono::steady_clock::now() > deadline)
      return fail(ErrorKind::refused, fmt::format("process {} does not die (state {})", id.pid,
                                                  process_stat(id.pid).value_or(ProcessStat{}).state));
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
  }
  return {};
}

Result<CommandOutput> run_command(const std::vector<std::string>& argv) {
  const auto program = find_program(argv.at(0));
  if (!program) return fail(ErrorKind::unsupported, fmt::format("the program {} is not installed", argv[0]), ENOENT);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(ErrorKind::refused, "cannot make a pipe", errno);
  std::vector<char*> words;
  for (const auto& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::dup2(ends[1], 1);
    ::dup2(ends[1], 2);
    const int null = ::open("/dev/null", O_RDONLY);
    if (null >= 0) ::dup2(null, 0);
    ::execv(program->c_str(), words.data());
    _exit(127);
  }
  ::close(ends[1]);
  if (child < 0) {
    ::close(ends[0]);
    return fail(ErrorKind::refused, fmt::format("cannot start {}: {}", argv[0], std::strerror(errno)), errno);
  }
  CommandOutput output;
  char buffer[4096];
  for (;;) {
    const ssize_t n = ::read(ends[0], buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    output.out.append(buffer, static_cast<std::size_t>(n));
  }
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  output.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return output;
}

Status run_checked(const std::vector<std::string>& argv) {
  SPILLWAY_ASSIGN(const CommandOutput output, run_command(argv));
  if (output.exit_code == 0) return {};
  const auto said = trimmed(output.out);
  return fail(ErrorKind::refused, fmt::format("'{}' failed with exit code {}: {}", fmt::join(argv, " "), output.exit_code,
                                              said.substr(said.size() > 500 ? said.size() - 500 : 0)));
}

std::optional<std::string> find_program(const std::string& name) {
  if (name.find('/') != std::string::npos)
    return ::access(name.c_str(), X_OK) == 0 ? std::optional{name} : std::nullopt;
  const char* path = std::getenv("PATH");
  std::string places = path ? path : "/usr/bin:/bin";
  places += ":/usr/sbin:/sbin";
  std::string_view rest = places;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    const std::string candidate = fmt::format("{}/{}", rest.substr(0, end), name);
    if (end > 0 && ::access(candidate.c_str(), X_OK) == 0) return candidate;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return std::nullopt;
}

std::int64_t monotonic_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

}  // namespace spillway::real
