#include "workload/kernel/kernel_box.hpp"

#include "workload/archive/catalogue.hpp"
#include "workload/kernel/child.hpp"
#include "workload/kernel/guest_setup.hpp"
#include "workload/kernel/kernel_store.hpp"
#include "workload/kernel/run_folder.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <sys/statvfs.h>

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
        fmt::format("Inside: XFS of {} MiB on a loop device, vm.dirty_bytes = {}, vm.dirty_background_bytes = {}, {} untars.", setup.disk_size.value() / kMiB,
                    setup.dirty_bytes, setup.background_bytes, setup.plan.untars)};
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
                         "time-travel=inf-cpu", fmt::format("time-travel-start={}", kStartOfTime),
                         "delayacct", "norandmaps", "con=null", "con0=null,fd:1",
                         "uml_dir=" + folder.string(), "spillway.run=" + folder.string()};
    command.environment = {{"TMPDIR", kMemoryFolder}};
    command.console = folder / "console.log";
    command.limit = kWallLimit;
    SPILLWAY_ASSIGN(const double wall_s, run_child(command, [&](double wall) {
                      if (context.live) context.live({fmt::format("{}: {:.0f} s of wall time", name(), wall)});
                    }));
    SPILLWAY_ASSIGN(auto record, make_record(folder, setup, item, context));
    record.box.kind = "kernel";
    record.box.name = kernel.name;
    record.box.hz = kernel.hz;
    record.box.cpus = setup.plan.cpus;
    record.box.device = device_line(setup);
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
    return translate(item, catalogue, {.disk = Disk::loop, .charge_cpu = true, .cgroup_v2 = false});
  }

  static std::string device_line(const GuestSetup& setup) {
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
