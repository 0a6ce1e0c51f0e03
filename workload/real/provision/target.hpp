#pragma once
/// A target made ready for one repeat: a file system to untar into, on a device that is limited as the experiment asks.
///
///  loop:    sparse image <- lower loop (direct I/O, the limit) <- upper loop (direct I/O) <- XFS. Two loops, because
///           blk-throttle holds bios before the queue: with the limit on the file system's own device the queue is
///           unlimited and the flusher never blocks. The upper loop has 128 tags, as a disk has.
///           device.queue = "unlimited" leaves the upper loop out.
///  mount:   a folder on a file system that is there; nothing is formatted or limited.
///  modeled: a FUSE file whose timing is a sim/ device model run in real time <- loop <- XFS (modeled_disk/).
///  device:  a named block device, formatted (see signature.hpp) and limited.

#include <memory>
#include <string>
#include <vector>

#include "sim/result.hpp"
#include "workload/experiment/experiment.hpp"
#include "workload/real/journal/session.hpp"

namespace spillway::real {

class ModeledDisk;

struct Target {
  std::string kind;           ///< loop | mount | device | modeled
  std::string directory;      ///< the untars' folders are made here
  std::string mount_point;    ///< of the file system it is on
  std::string type;           ///< "xfs", or what the mount has
  std::string device;         ///< "/dev/loop65": what the file system is on; empty for a mount without a block device
  std::string device_name;    ///< "loop65"
  std::string device_number;  ///< "7:65"
  std::string lower_name;     ///< the limited device, where that is another one
  std::string cgroup;         ///< into which the untars must go (v2), or empty
  bool own_file_system = false;  ///< made by us, and thrown away afterwards
  bool cold = false;          ///< the device number has never written
  std::shared_ptr<ModeledDisk> modeled;  ///< the disk's server; must outlive the undoing of the loop on it
  std::vector<std::string> notes;  ///< what could not be done as asked
};

/// Folder in which images lie: target.path, else the state folder.
std::string image_folder(const TargetSpec& target, const std::filesystem::path& state);

/// Makes the target of this experiment; every step is in the session's journal. `data` is what all untars together
/// will write. `destroy` as in may_format.
Result<Target> make_target(Session& session, const Experiment& experiment, Bytes data, const std::string& destroy);

/// What make_target would do, full sentences.
Result<std::vector<std::string>> describe_target(const Experiment& experiment, Bytes data, const std::filesystem::path& state);

}  // namespace spillway::real
