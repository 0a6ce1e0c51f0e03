#pragma once
/// Two campaigns never share an output folder. The lock is a flock(2) on OUT/campaign.lock, which the kernel drops when
/// its holder dies, however it dies: nothing stale is left to clean up. Shards of one campaign may share a folder: they
/// share that lock and each holds its own besides.

#include "cli/campaign/point.hpp"
#include "sim/result.hpp"

#include <filesystem>

namespace spillway::campaign {

class Lock {
 public:
  /// Makes the folder if needed. Held by somebody else: `refused`, with the holder's process number.
  static Result<Lock> take(const std::filesystem::path& out, const Shard& shard = {});
  Lock(Lock&& other) noexcept;
  Lock& operator=(Lock&&) = delete;
  ~Lock();

 private:
  Lock(int shared_fd, int own_fd) : shared_fd_(shared_fd), own_fd_(own_fd) {}
  int shared_fd_ = -1, own_fd_ = -1;
};

}  // namespace spillway::campaign
