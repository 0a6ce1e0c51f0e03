#include "workload/kernel/guest/untar.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace spillway::kernel::guest {
namespace {

constexpr std::int64_t kTarBlock = 512;          // header size, and what data is padded to
constexpr std::int64_t kWholeFile = 1 << 20;     // largest write of an engine that has the file in memory
constexpr std::int64_t kDirectAlign = 4096;
constexpr timespec kArchiveTimes[2] = {{1'600'000'000, 0}, {1'600'000'000, 0}};

char* aligned_buffer() {
  static char* buffer = [] {
    void* memory = nullptr;
    if (posix_memalign(&memory, kDirectAlign, kWholeFile) != 0) std::abort();
    std::memset(memory, 0x5a, kWholeFile);
    return static_cast<char*>(memory);
  }();
  return buffer;
}

bool write_all(int file, std::int64_t bytes) {
  while (bytes > 0) {
    const auto done = ::write(file, aligned_buffer(), static_cast<std::size_t>(bytes));
    if (done < 0) return false;
    bytes -= done;
  }
  return true;
}

// The data of one file, in the calls the engine would make. `position` is tar's place in the archive: tar writes what is
// left of the current record, so calls are cut at record boundaries of the archive, not of the file.
bool write_file(const GuestPlan& plan, int file, std::int64_t bytes, std::int64_t& position, Charge& charge) {
  position += kTarBlock;
  std::int64_t left = bytes;
  while (left > 0) {
    std::int64_t piece = std::min(left, kWholeFile);
    if (plan.write_bytes > 0) piece = std::min(left, plan.write_bytes - position % plan.write_bytes);
    if (plan.direct) piece = std::min(left, kWholeFile);
    charge.add_ns(piece * plan.costs.copy_ps_per_byte / 1000);
    const std::int64_t asked = plan.direct ? (piece + kDirectAlign - 1) / kDirectAlign * kDirectAlign : piece;
    if (!write_all(file, asked)) return false;
    left -= piece;
    position += piece;
  }
  if (plan.direct && bytes % kDirectAlign != 0 && ftruncate(file, bytes) != 0) return false;
  if (plan.drop_behind) posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
  position = (position + kTarBlock - 1) / kTarBlock * kTarBlock;
  return true;
}

}  // namespace

UntarCounts untar(const GuestPlan& plan, const std::string& directory, Charge& charge) {
  UntarCounts counts;
  const auto fail = [&counts](const std::string& what) {
    if (counts.error == 0) {
      counts.error = errno;
      counts.failed_on = what;
    }
  };
  std::int64_t position = 0;
  for (const auto& entry : plan.entries) {
    const auto path = directory + '/' + entry.path;
    if (entry.directory) {
      charge.add_ns(plan.costs.directory_ns);
      position += kTarBlock;
      if (mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) fail(path);
      continue;
    }
    charge.add_ns(plan.costs.file_ns);
    const int flags = O_WRONLY | O_CREAT | O_NOCTTY | O_NONBLOCK | O_CLOEXEC | (plan.direct ? O_DIRECT : 0);
    int file = open(path.c_str(), flags | (plan.unlink_existing ? O_EXCL : O_TRUNC), 0644);
    if (file < 0 && errno == EEXIST) {
      charge.add_ns(plan.costs.unlink_ns);
      unlink(path.c_str());
      file = open(path.c_str(), flags | O_EXCL, 0644);
    }
    if (file < 0) {
      fail(path);
      continue;
    }
    if (!write_file(plan, file, entry.bytes, position, charge)) fail(path);
    if (futimens(file, kArchiveTimes) != 0) fail(path);
    if (close(file) != 0) fail(path);
    counts.files += 1;
    counts.bytes += entry.bytes;
  }
  // Times of directories come last, because every file made in them changes them.
  for (const auto& entry : plan.entries) {
    if (entry.directory) utimensat(AT_FDCWD, (directory + '/' + entry.path).c_str(), kArchiveTimes, 0);
  }
  charge.settle();
  return counts;
}

int make_skeleton(const GuestPlan& plan, const std::string& directory, Charge& charge) {
  int error = 0;
  if (mkdir(directory.c_str(), 0755) != 0 && errno != EEXIST) error = errno;
  for (const auto& entry : plan.entries) {
    if (!entry.directory) continue;
    charge.add_ns(plan.costs.directory_ns);
    if (mkdir((directory + '/' + entry.path).c_str(), 0755) != 0 && errno != EEXIST) error = errno;
  }
  charge.settle();
  return error;
}

int remove_tree(const GuestPlan& plan, const std::string& directory, Charge& charge) {
  DIR* folder = opendir(directory.c_str());
  if (folder == nullptr) return errno == ENOENT ? 0 : errno;
  int error = 0;
  while (const dirent* found = readdir(folder)) {
    const std::string name = found->d_name;
    if (name == "." || name == "..") continue;
    const auto path = directory + '/' + name;
    charge.add_ns(plan.costs.unlink_ns);
    if (found->d_type == DT_DIR) {
      if (const int inner = remove_tree(plan, path, charge); inner != 0) error = inner;
    } else if (unlink(path.c_str()) != 0) {
      error = errno;
    }
  }
  closedir(folder);
  if (rmdir(directory.c_str()) != 0) error = errno;
  charge.settle();
  return error;
}

int fsync_each(const GuestPlan& plan, const std::string& directory) {
  int error = 0;
  for (const auto& entry : plan.entries) {
    if (entry.directory) continue;
    const int file = open((directory + '/' + entry.path).c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0 || fsync(file) != 0) error = errno;
    if (file >= 0) close(file);
  }
  return error;
}

}  // namespace spillway::kernel::guest
