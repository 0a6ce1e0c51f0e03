#include "workload/real/replay/phases.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

namespace spillway::real {

int remove_trees(const std::vector<std::string>& folders) {
  std::vector<pid_t> children;
  int failed = 0;
  for (const auto& folder : folders) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::execlp("rm", "rm", "-rf", "--", folder.c_str(), nullptr);
      ::_exit(127);
    }
    if (child < 0) failed = 1;
    else children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    if (::waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0) failed = 1;
  }
  return failed;
}

int make_skeletons(const std::vector<std::string>& folders, const Catalogue& catalogue) {
  for (const auto& folder : folders) {
    if (::mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) return errno;
    const int root = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0) return errno;
    for (const auto& entry : catalogue.entries) {
      const std::filesystem::path path = entry.path;
      // A name that leaves the folder is none of ours; the engines refuse it with a sentence.
      if (path.empty() || path.is_absolute() || entry.path.starts_with("../") || entry.path.contains("/../")) continue;
      if (entry.type == EntryType::directory) {
        std::filesystem::path sofar;
        for (const auto& part : path) {
          sofar /= part;
          if (!sofar.empty() && ::mkdirat(root, sofar.c_str(), 0755) != 0 && errno != EEXIST) return errno;
        }
      } else if (entry.type == EntryType::file) {
        int fd = ::openat(root, path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
        if (fd < 0 && errno == ENOENT) {  // an archive without directory entries
          std::filesystem::path sofar;
          for (const auto& part : path.parent_path()) {
            sofar /= part;
            ::mkdirat(root, sofar.c_str(), 0755);
          }
          fd = ::openat(root, path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
        }
        if (fd < 0) return errno;
        ::close(fd);
      }
    }
    ::close(root);
  }
  return 0;
}

int sync_folder(const std::string& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return errno;
  return ::syncfs(fd) == 0 ? 0 : errno;
}

}  // namespace spillway::real
