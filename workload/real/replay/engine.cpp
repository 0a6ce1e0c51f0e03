#include "workload/real/replay/engine.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <ftw.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <vector>

#include "workload/extract/external.hpp"
#include "workload/real/replay/own_engine.hpp"
#include "workload/real/system/mounts.hpp"
#include "workload/real/system/process.hpp"
#include "workload/real/system/text_file.hpp"

namespace spillway::real {
namespace {

bool asks(const ReplaySpec& replay, std::string_view phase) { return std::ranges::find(replay.after, phase) != replay.after.end(); }

bool is_program(const std::string& engine) { return engine == "tar" || engine == "bsdtar"; }

[[noreturn]] void exec(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  if (const auto program = find_program(words[0])) ::execv(program->c_str(), arguments.data());
  std::perror(words[0].c_str());
  ::_exit(127);
}

/// Every regular file below the directory, opened and synced: what fsync_each means for an engine that cannot do it.
int fsync_tree(const std::string& directory) {
  static int failed = 0;
  ::nftw(directory.c_str(),
         [](const char* path, const struct stat*, int type, struct FTW*) {
           if (type != FTW_F) return 0;
           const int fd = ::open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
           if (fd < 0 || ::fsync(fd) != 0) {
             std::perror(path);
             failed = 1;
           }
           if (fd >= 0) ::close(fd);
           return 0;
         },
         32, FTW_PHYS);
  return failed;
}

}  // namespace

Status engine_available(const ReplaySpec& replay) {
  if (is_program(replay.engine)) {
    if (find_program(replay.engine)) return {};
    return fail(ErrorKind::unsupported, fmt::format("the program {} is not installed (Debian: apt-get install {})", replay.engine,
                                                    replay.engine == "bsdtar" ? "libarchive-tools" : "tar"));
  }
  return own_engine_available(replay);
}

int run_untar(const UntarTask& task) {
  const int messages = ::open(task.messages.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (messages >= 0) {
    ::dup2(messages, 1);
    ::dup2(messages, 2);
  }
  if (null >= 0) ::dup2(null, 0);
  if (!task.cgroup.empty() && !write_text(task.cgroup + "/cgroup.procs", std::to_string(::getpid()))) {
    std::fprintf(stderr, "cannot join the cgroup %s\n", task.cgroup.c_str());
    return 126;
  }
  const bool syncs_after = asks(task.replay, "syncfs_each") || asks(task.replay, "fsync_each");
  if (!is_program(task.replay.engine)) {
    if (const int status = run_own_engine(task); status != 0) return status;
  } else {
    if (!syncs_after) exec(extract::external_argv(task.archive, task.directory, extract_options(task.replay)));
    // The sync belongs to the untar: tar runs as a child, so that wait4 sees both.
    const pid_t child = ::fork();
    if (child == 0) exec(extract::external_argv(task.archive, task.directory, extract_options(task.replay)));
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) != child) return 125;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  if (asks(task.replay, "fsync_each") && fsync_tree(task.directory) != 0) return 1;
  if (asks(task.replay, "syncfs_each")) {
    if (const auto synced = sync_file_system(task.directory); !synced) {
      std::fprintf(stderr, "%s\n", synced.error().what.c_str());
      return 1;
    }
  }
  return 0;
}

std::string last_words(const std::string& messages) {
  const auto text = read_text(messages);
  if (!text) return {};
  std::string last;
  for (const auto line : split_lines(*text)) {
    const auto words = trimmed(line);
    // A disk that is full or broken says so once; what follows are consequences ("No such file or directory").
    for (const std::string_view cause : {"No space left on device", "Input/output error", "Read-only file system", "Structure needs cleaning"})
      if (words.contains(cause)) return std::string{words};
    // "Exiting with failure status due to previous errors" says nothing; what came before does.
    if (words.empty() || words.contains("Exiting with failure") || words.contains("Error exit delayed")) continue;
    last = std::string{words};
  }
  return last;
}

}  // namespace spillway::real
