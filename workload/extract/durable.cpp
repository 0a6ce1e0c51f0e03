#include "workload/extract/durable.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fts.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "workload/extract/fd.hpp"

namespace spillway::extract {
namespace {

std::unexpected<Error> not_durable(const char* call, const std::string& path, int code) {
  return fail(ErrorKind::refused, fmt::format("{}: {} says {}; what was extracted may not be on the device.", path, call, std::strerror(code)), code);
}

}  // namespace

Status sync_file_system_of(const std::filesystem::path& directory) {
  const Fd fd{::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!fd || ::syncfs(fd.get()) != 0) return not_durable("syncfs", directory.string(), errno);
  return {};
}

Status fsync_tree(const std::filesystem::path& directory) {
  std::string root = directory.string();
  char* const roots[] = {root.data(), nullptr};
  const std::unique_ptr<FTS, int (*)(FTS*)> walk{::fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_NOSTAT, nullptr), &::fts_close};
  if (!walk) return not_durable("fts_open", root, errno);
  for (;;) {
    errno = 0;
    const FTSENT* const one = ::fts_read(walk.get());
    if (one == nullptr) return errno == 0 ? Status{} : Status{not_durable("fts_read", root, errno)};
    if (one->fts_info == FTS_DNR || one->fts_info == FTS_ERR || one->fts_info == FTS_NS) return not_durable("fts_read", one->fts_path, one->fts_errno);
    // A directory when all that is in it has been synced.
    if (one->fts_info == FTS_D || one->fts_info == FTS_DC) continue;
    const Fd fd{::open(one->fts_path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)};
    if (!fd) {
      if (errno == ELOOP || errno == ENXIO || errno == ENODEV) continue;  // links and special files have no data
      return not_durable("open", one->fts_path, errno);
    }
    if (::fsync(fd.get()) != 0 && errno != EINVAL) return not_durable("fsync", one->fts_path, errno);
  }
}

}  // namespace spillway::extract
