#pragma once
/// An experiment, translated for a box that brings its own kernel: what its init script sets up, and the plan that the
/// guest program then carries out. Pure: values in, text out.

#include "sim/result.hpp"
#include "sim/units.hpp"
#include "workload/archive/catalogue.hpp"
#include "workload/box.hpp"
#include "workload/kernel/guest_plan.hpp"

#include <string>
#include <utility>
#include <vector>

namespace spillway::kernel {

/// How the guest gets its disk.
enum class Disk {
  loop,    ///< loop on tmpfs, the limit by blk-throttle; `bounded` puts a second loop above it, so that tags bound the queue
  virtio,  ///< /dev/vda, driven by a device model outside
};

struct GuestSetup {
  Disk disk = Disk::loop;
  bool bounded = true;
  Bytes disk_size{kGiB};
  BytesPerSec write_rate{0};        ///< 0: no limit
  std::int64_t write_iops = 0;
  int nr_requests = 128;
  std::string mkfs_options;
  std::string mount_options;
  std::int64_t dirty_bytes = 0, background_bytes = 0;
  std::int64_t expire_cs = 3000, writeback_cs = 500;
  /// Bytes written to another device just before the run. They fill the kernel's completion counters, so that a new
  /// device starts with next to no share of the limit, as it does on a machine that has been in use; 0 leaves the share
  /// at everything from the first completed page on.
  Bytes foreign_history{0};
  std::vector<std::pair<std::string, std::string>> knobs;
  /// Whether one cgroup (v2) for each of several flushers is made; blk-throttle's rules then are not at hand (v1 only).
  int cgroups = 0;
  Bytes cgroup_limit{0};            ///< memory.max of each; 0: none
  Bytes memory{0};                  ///< RAM of the guest
  GuestPlan plan;
  std::vector<std::string> notes;   ///< what was substituted or assumed, for the record
};

/// What the box can do about the disk, and what it charges.
struct GuestOptions {
  Disk disk = Disk::loop;
  /// Charges CPU time; a box whose processor counts by itself (a VM) does not.
  bool charge_cpu = true;
  bool cgroup_v2 = false;
};

/// `unsupported` where the box cannot do what the experiment asks, naming it.
Result<GuestSetup> translate(const Case& item, const Catalogue& catalogue, const GuestOptions& options);

/// The script that the guest's first process runs; results go to /run (a folder of the host).
[[nodiscard]] std::string init_script(const GuestSetup& setup);

}  // namespace spillway::kernel
