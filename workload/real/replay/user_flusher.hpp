#pragma once
/// replay.flushers = "user:N": N helper processes that start writeback of what the untars have written, each for its own
/// directories (by a hash of the directory's path), with sync_file_range(SYNC_FILE_RANGE_WRITE), five times a second. They
/// run from the first untar until the data is durable; the kernel's own flusher runs beside them as always.
///
/// A file is asked for again when it has grown. A directory that nobody changed for two seconds is not read again, so
/// that an old tree costs one stat a directory.

#include <cstdint>
#include <ctime>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/result.hpp"

namespace spillway::real {

/// "user:4" -> 4; nullopt for another policy.
std::optional<int> user_flushers(std::string_view policy);

class UserFlusher {
 public:
  /// The `index`-th (from 0) of `count` helpers.
  UserFlusher(std::vector<std::string> folders, int index, int count) : folders_(std::move(folders)), index_(index), count_(count) {}
  struct Pass {
    std::int64_t files = 0, bytes = 0, directories = 0;  ///< asked for; directories read
  };
  /// Looks at everything once.
  Pass pass();

 private:
  struct Directory {
    std::vector<std::string> below;
    std::map<std::string, std::int64_t> sizes;  ///< of its files when they were last asked for
    std::int64_t changed_ns = -1;               ///< its mtime when it was last read
    bool settled = false;
  };
  void visit(const std::string& path, Pass& pass, std::int64_t now_ns);
  std::vector<std::string> folders_;
  int index_, count_;
  std::map<std::string, Directory> known_;
};

/// In the child: passes until it is killed.
[[noreturn]] void run_user_flusher(const std::vector<std::string>& folders, int index, int count);

}  // namespace spillway::real
