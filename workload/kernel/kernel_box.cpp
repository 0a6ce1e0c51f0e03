#include "workload/kernel/kernel_box.hpp"

#include "workload/archive/catalogue.hpp"
#include "workload/device/device_model.hpp"
#include "workload/kernel/child.hpp"
#include "workload/kernel/guest_setup.hpp"
#include "workload/kernel/kernel_store.hpp"
#include "workload/kernel/run_folder.hpp"
#include "workload/kernel/virtual_disk.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <thread>

namespace spillway::kernel {
namespace {

// The guest's memory is a file here: it must be memory on the host too, or the host would write it to a disk.
constexpr const char* kMemoryFolder = "/dev/shm";
// A fixed wall clock inside, so that times stamped on files are the same in every run.
constexpr const char* kStartOfTime = "1800000000000000000";
// measured: 29 virtual seconds of the standard run took 28 s on one busy core; a run that is a hundred times slower hangs.
constexpr std::chrono::seconds kWallLimit{3600};

std::int64_t free_bytes(const char* folder) {
  struct statvfs fs{};
  if (statvfs(folder, &fs) != 0) return 0;
  return static_cast<std::int64_t>(fs.f_bavail) * static_cast<std::int64_t>(fs.f_frsize);
}

// Sockets need a short path, which an output folder may not have.
class ShortFolder {
 public:
  ShortFolder() {
    char name[] = "/tmp/spillway-XXXXXX";
    if (mkdtemp(name) != nullptr) path_ = name;
  }
  ~ShortFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  ShortFolder(const ShortFolder&) = delete;
  ShortFolder& operator=(const ShortFolder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

DeviceResult device_result(const VirtualDisk& disk, double seconds) {
  const auto counters = disk.counters();
  DeviceResult result;
  result.write_bytes = counters.written.value();
  result.read_bytes = counters.read.value();
  result.write_ios = counters.writes;
  result.read_ios = counters.reads;
  result.flushes = counters.flushes;
  result.sequential_mb_per_s = static_cast<double>(disk.device().sequential_write_rate().value()) / 1e6;
  for (const auto& member : counters.disks) {
    result.seeks += member.seeks;
    result.rmw_reads += member.rmw_reads;
    const double busy_s = to_seconds(member.busy);
    result.busy_s = std::max(result.busy_s, busy_s);
    result.members.push_back({{"busy_s", busy_s},
                              {"seeks", static_cast<double>(member.seeks)},
                              {"write_mb", static_cast<double>(member.written.value()) / 1e6},
                              {"read_mb", static_cast<double>(member.read.value()) / 1e6},
                              {"rmw_reads", static_cast<double>(member.rmw_reads)}});
  }
  if (seconds > 0) {
    result.busy_pct = std::min(100.0, 100.0 * result.busy_s / seconds);
    if (result.sequential_mb_per_s > 0) result.efficiency_pct = static_cast<double>(result.write_bytes) / 1e4 / (result.sequential_mb_per_s * seconds);
  }
  return result;
}

class KernelBox final : public Box {
 public:
  explicit KernelBox(std::string name) : name_(std::move(name)) {}

  [[nodiscard]] std::string name() const override { return name_.empty() ? "kernel" : "kernel:" + name_; }

  Status check(const Case& item) override {
    SPILLWAY_ASSIGN(const auto setup, setup_of(item));
    SPILLWAY_TRY(find_kernel(name_));
    SPILLWAY_TRY(find_root());
    SPILLWAY_TRY(find_guest_program());
    if (const auto there = free_bytes(kMemoryFolder); there < setup.memory.value()) {
      return fail(ErrorKind::refused, fmt::format("The guest needs {} MiB of memory (its disk included) and {} has {} MiB free; take fewer or smaller untars.",
                                                  setup.memory.value() / kMiB, kMemoryFolder, there / kMiB));
    }
    return {};
  }

  Result<std::vector<std::string>> plan(const Case& item) override {
    SPILLWAY_ASSIGN(const auto setup, setup_of(item));
    SPILLWAY_ASSIGN(const auto kernel, find_kernel(name_));
    return std::vector<std::string>{
        fmt::format("Runs kernel {} ({} ticks a second) as a process of yours, in virtual time; nothing on this machine is changed.", kernel.release, kernel.hz),
        fmt::format("Takes {} MiB of memory in {} while it runs.", setup.memory.value() / kMiB, kMemoryFolder),
        fmt::format("Inside: XFS of {} MiB on {}, vm.dirty_bytes = {}, vm.dirty_background_bytes = {}, {} untars.", setup.disk_size.value() / kMiB,
                    device_line(item, setup), setup.dirty_bytes, setup.background_bytes, setup.plan.untars)};
  }

  Result<Record> run(const Case& item, const RepeatContext& context) override {
    SPILLWAY_TRY(check(item));
    SPILLWAY_ASSIGN(const auto setup, setup_of(item));
    SPILLWAY_ASSIGN(const auto kernel, find_kernel(name_));
    SPILLWAY_ASSIGN(const auto root, find_root());
    SPILLWAY_ASSIGN(const auto guest, find_guest_program());
    SPILLWAY_ASSIGN(const auto folder, make_run_folder(context.dir, guest, setup));
    ChildCommand command;
    command.program = kernel.image;
    command.arguments = {fmt::format("mem={}M", (setup.memory.value() + kMiB - 1) / kMiB),
                         "root=/dev/root", "rootfstype=hostfs", "rootflags=" + root.string(), "rw", "init=/init",
                         "delayacct", "norandmaps", "con=null", "con0=null,fd:1",
                         "uml_dir=" + folder.string(), "spillway.run=" + folder.string()};
    command.environment = {{"TMPDIR", kMemoryFolder}};
    command.console = folder / "console.log";
    command.limit = kWallLimit;

    const ShortFolder sockets;
    std::unique_ptr<VirtualDisk> disk;
    if (setup.disk == Disk::virtio) {
      SPILLWAY_ASSIGN(const auto spec, device_spec_of(item.experiment.device, setup.disk_size));
      SPILLWAY_ASSIGN(auto model, sim::device::make_device(spec, context.seed));
      SPILLWAY_ASSIGN(disk, VirtualDisk::listen(sockets.path(), std::move(model), setup.disk_size));
      for (auto& argument : disk->kernel_arguments()) command.arguments.push_back(std::move(argument));
    } else {
      command.arguments.emplace_back("time-travel=inf-cpu");
      command.arguments.push_back(fmt::format("time-travel-start={}", kStartOfTime));
    }
    Status served;
    std::thread server;
    if (disk) server = std::thread([&] { served = disk->serve(); });
    const auto ran = run_child(command, [&](double wall) {
      if (context.live) context.live({fmt::format("{}: {:.0f} s of wall time", name(), wall)});
    });
    if (disk) {
      disk->stop();
      server.join();
    }
    SPILLWAY_TRY(served);
    SPILLWAY_ASSIGN(const double wall_s, ran);
    SPILLWAY_ASSIGN(auto record, make_record(folder, setup, item, context));
    record.box.kind = "kernel";
    record.box.name = kernel.name;
    record.box.hz = kernel.hz;
    record.box.cpus = setup.plan.cpus;
    record.box.device = device_line(item, setup);
    record.box.target = setup.disk == Disk::virtio ? "modeled" : "loop";
    if (disk) record.device = device_result(*disk, record.durable_s);
    record.box.environment["kernel_content"] = kernel.content;
    record.box.profile = {{"copy_us_per_page", static_cast<double>(setup.plan.costs.copy_ps_per_byte) * 4096e-6},
                          {"create_us", static_cast<double>(setup.plan.costs.file_ns) / 1000},
                          {"unlink_us", static_cast<double>(setup.plan.costs.unlink_ns) / 1000},
                          {"mark", "measured: reference machine, untars below the limit"}};
    record.host["wall_s"] = wall_s;
    record.host["virtual_s_per_wall_s"] = wall_s > 0 ? record.durable_s / wall_s : 0;
    return record;
  }

 private:
  static Result<GuestSetup> setup_of(const Case& item) {
    SPILLWAY_ASSIGN(const auto catalogue, catalogue_of(item.experiment.archive, item.experiment.folder));
    const auto kind = item.experiment.device.model == "limit" && item.experiment.target.kind != "modeled" ? Disk::loop : Disk::virtio;
    return translate(item, catalogue, {.disk = kind, .charge_cpu = true, .cgroup_v2 = false});
  }

  static std::string device_line(const Case& item, const GuestSetup& setup) {
    if (setup.disk == Disk::virtio) return "device model: " + device_sentence(item.experiment.device);
    std::string line = setup.bounded ? "loop over a loop on memory" : "loop on memory";
    if (setup.write_rate.value() > 0) line += fmt::format(", write limit {} B/s (blk-throttle)", setup.write_rate.value());
    if (setup.write_iops > 0) line += fmt::format(", {} write I/Os a second", setup.write_iops);
    return line;
  }

  std::string name_;
};

}  // namespace

std::unique_ptr<Box> make_kernel_box(const std::string& name) { return std::make_unique<KernelBox>(name); }

}  // namespace spillway::kernel
