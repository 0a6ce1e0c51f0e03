#pragma once
/// A modeled disk: a file whose timing is that of a `sim/device/` model, run in real time.
///
/// start() forks a small server that mounts a FUSE file system with one file, `disk.img`, of `size` bytes. A loop device
/// with direct I/O over that file is then a disk of any kind under the real kernel: twelve disks behind parity with seeks
/// and read-modify-write, say. The data lie in anonymous memory (or in a sparse file, read and written with direct I/O),
/// so the disk itself adds no dirty pages. Every request is answered when the model says that it is done, never earlier;
/// how much later is measured and reported.
///
///   auto disk = ModeledDisk::start({.spec = spec, .size = Bytes{4 * kGiB}, .directory = dir});
///   // losetup --direct-io=on -f --show disk->path(); mkfs.xfs ...; mount ...; work; umount; losetup -d
///   auto report = disk->stop();   // JSON: counters of every disk, requested and delivered service times
///
/// Neither side's death hangs the other: when the server dies, requests on the file fail; when the caller dies, the server
/// lives on until somebody unmounts `directory` (or sends SIGTERM), writes its report and ends. SIGUSR1 makes it write the
/// report at once. Needs root (or fusermount3) and /dev/fuse. Its CPU time is taken from the box under test.

#include <sys/types.h>

#include <string>

#include "sim/device/device_spec.hpp"
#include "sim/result.hpp"
#include "sim/units.hpp"

namespace spillway::real {

struct ModeledDiskOptions {
  sim::device::DeviceSpec spec{};
  std::uint64_t seed = 1;
  /// Size of the file; at most the model's capacity, and a multiple of 4096. 0: the model's capacity.
  Bytes size{0};
  /// Where to mount; made if it is not there, and then removed by stop().
  std::string directory{};
  /// Sparse file for the data (made, and removed by the server at once, so that it is gone with it). Empty: memory.
  std::string data_file{};
  /// Touch all memory before the disk is ready, so that no request pays for a page fault.
  bool prefault = false;
  /// Where the report goes. Empty: `directory` + ".json", beside the mount.
  std::string report_path{};
  /// Requests that the kernel keeps outstanding (FUSE max_background). 0: what the model says, at most 128.
  int queue_depth = 0;
};

class ModeledDisk {
 public:
  static Result<ModeledDisk> start(const ModeledDiskOptions& options);

  ModeledDisk(ModeledDisk&& other) noexcept;
  ModeledDisk& operator=(ModeledDisk&&) = delete;
  /// Stops, ignoring errors.
  ~ModeledDisk();

  [[nodiscard]] std::string path() const { return directory_ + "/disk.img"; }
  [[nodiscard]] const std::string& directory() const { return directory_; }
  [[nodiscard]] const std::string& report_path() const { return report_path_; }
  /// The server's process, for a journal.
  [[nodiscard]] pid_t pid() const { return pid_; }

  /// The report as of now (asks the server, waits up to 2 s).
  Result<std::string> report();
  /// Unmounts, ends the server and returns its last report. Refused while the file is in use (detach the loop first).
  Result<std::string> stop();
  /// For when something hangs: kills the server and detaches the mount. Requests under way fail.
  void kill();

 private:
  ModeledDisk() = default;
  bool reap(int milliseconds);

  std::string directory_, report_path_;
  pid_t pid_ = -1;
  bool made_directory_ = false;
};

/// Puts back what a caller that died left behind: unmounts `directory` (lazily) so that its server ends by itself.
Status clean_up_modeled_disk(const std::string& directory);

}  // namespace spillway::real
