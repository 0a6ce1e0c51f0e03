#include "workload/real/replay/user_flusher.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <functional>
#include <thread>

namespace spillway::real {
namespace {

constexpr std::int64_t kSettled_ns = 2'000'000'000;

std::int64_t nanoseconds(const timespec& time) { return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec; }

}  // namespace

std::optional<int> user_flushers(std::string_view policy) {
  constexpr std::string_view kUser = "user:";
  if (!policy.starts_with(kUser)) return std::nullopt;
  int count = 0;
  const auto [end, error] = std::from_chars(policy.data() + kUser.size(), policy.data() + policy.size(), count);
  if (error != std::errc{} || end != policy.data() + policy.size() || count < 1) return std::nullopt;
  return count;
}

UserFlusher::Pass UserFlusher::pass() {
  Pass pass;
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);  // file times are on this clock
  for (const auto& folder : folders_) visit(folder, pass, nanoseconds(now));
  return pass;
}

void UserFlusher::visit(const std::string& path, Pass& pass, std::int64_t now_ns) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) return;
  Directory& directory = known_[path];
  const std::int64_t changed = nanoseconds(info.st_mtim);
  const bool mine = std::hash<std::string>{}(path) % static_cast<std::size_t>(count_) == static_cast<std::size_t>(index_);
  if (!(directory.settled && changed == directory.changed_ns)) {
    ++pass.directories;
    DIR* open = ::opendir(path.c_str());
    if (open == nullptr) return;
    directory.below.clear();
    while (const dirent* entry = ::readdir(open)) {
      const std::string name = entry->d_name;
      if (name == "." || name == "..") continue;
      if (entry->d_type == DT_DIR) directory.below.push_back(path + "/" + name);
      if (entry->d_type != DT_REG || !mine) continue;
      const int fd = ::openat(::dirfd(open), name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOATIME);
      if (fd < 0) continue;
      struct stat file {};
      if (::fstat(fd, &file) == 0) {
        auto& size = directory.sizes[name];
        if (file.st_size > size) {
          (void)::sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
          ++pass.files;
          pass.bytes += file.st_size - size;
          size = file.st_size;
        }
      }
      ::close(fd);
    }
    ::closedir(open);
    directory.changed_ns = changed;
    directory.settled = now_ns - changed > kSettled_ns;
  }
  const auto below = directory.below;  // a visit may move the map's nodes about, not the copy
  for (const auto& one : below) visit(one, pass, now_ns);
}

void run_user_flusher(const std::vector<std::string>& folders, int index, int count) {
  UserFlusher flusher{folders, index, count};
  for (;;) {
    flusher.pass();
    std::this_thread::sleep_for(std::chrono::milliseconds{200});
  }
}

}  // namespace spillway::real
