#include "workload/kernel/vm_box.hpp"

#include "workload/archive/catalogue.hpp"
#include "workload/device/device_model.hpp"
#include "workload/kernel/child.hpp"
#include "workload/kernel/cpio.hpp"
#include "workload/kernel/guest_setup.hpp"
#include "workload/kernel/kernel_store.hpp"
#include "workload/kernel/run_folder.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <optional>
#include <sys/statvfs.h>
#include <unistd.h>

namespace spillway::kernel {
namespace {

namespace fs = std::filesystem;

// The disk's image is memory of the host, so that no disk of the host is measured by mistake.
constexpr const char* kImageFolder = "/dev/shm";
constexpr std::chrono::seconds kVmWallLimit{3600};
// measured: an emulated boot to power-off takes 5 s; a KVM guest that hangs shows nothing at all.
constexpr std::chrono::seconds kProbeLimit{20};
constexpr Bytes kResultsDisk{256 * kMiB};

std::string read_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::optional<fs::path> find_qemu() {
  for (const char* folder : {"/usr/bin", "/usr/local/bin", "/bin"}) {
    std::error_code error;
    if (const auto path = fs::path(folder) / "qemu-system-x86_64"; fs::exists(path, error)) return path;
  }
  return std::nullopt;
}

Result<fs::path> find_vm() {
  const auto folder = kernel_folder() / "vm";
  std::error_code error;
  if (fs::exists(folder / ".complete", error)) return folder;
  return fail(ErrorKind::unsupported, fmt::format("No kernel for the VM in {}. Make it with: scripts/kernel-vm", folder.string()));
}

// A file on the host's memory that goes away with this object.
class Image {
 public:
  Image(const char* what, Bytes size) : path_(fs::path(kImageFolder) / fmt::format("spillway-{}-{}", what, getpid())) {
    const std::ofstream create(path_);
    std::error_code ignored;
    fs::resize_file(path_, static_cast<std::uintmax_t>(size.value()), ignored);
  }
  ~Image() {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

class VmBox final : public Box {
 public:
  [[nodiscard]] std::string name() const override { return "vm"; }

  Status check(const Case& item) override {
    SPILLWAY_TRY(setup_of(item));
    if (!find_qemu()) return fail(ErrorKind::unsupported, "qemu-system-x86_64 is not installed (apt-get install --no-install-recommends qemu-system-x86).");
    SPILLWAY_TRY(find_vm());
    SPILLWAY_TRY(find_guest_program());
    return {};
  }

  Result<std::vector<std::string>> plan(const Case& item) override {
    SPILLWAY_ASSIGN(const auto setup, setup_of(item));
    SPILLWAY_ASSIGN(const auto vm, find_vm());
    return std::vector<std::string>{
        fmt::format("Boots kernel {} in a virtual machine with {} MiB of RAM; nothing on this machine is changed.", first_line(vm / "release"), setup.memory.value() / kMiB),
        fmt::format("Its disk is a file of at most {} MiB in {}.", setup.disk_size.value() / kMiB, kImageFolder),
        "It runs in real time; where KVM does not work it is emulated, and CPU-bound results mean nothing."};
  }

  Result<Record> run(const Case& item, const RepeatContext& context) override {
    SPILLWAY_TRY(check(item));
    SPILLWAY_ASSIGN(const auto setup, setup_of(item));
    SPILLWAY_ASSIGN(const auto vm, find_vm());
    SPILLWAY_ASSIGN(const auto guest, find_guest_program());
    SPILLWAY_ASSIGN(const auto folder, make_run_folder(context.dir, guest, setup));
    const bool kvm = kvm_works(vm, folder);
    {
      std::ofstream initrd(folder / "initrd", std::ios::binary);
      initrd << cpio_archive({{"run", "", true, false},
                              {"run/init.sh", read_text(folder / "init.sh"), false, false},
                              {"run/plan", read_text(folder / "plan"), false, false},
                              {"run/spillway-guest", read_text(folder / "spillway-guest"), false, true}})
             << read_text(vm / "base.cpio.gz");
    }
    const Image disk("disk", setup.disk_size), results("results", kResultsDisk);
    std::string throttle;
    if (setup.write_rate.value() > 0) throttle += fmt::format(",throttling.bps-write={}", setup.write_rate.value());
    if (setup.write_iops > 0) throttle += fmt::format(",throttling.iops-write={}", setup.write_iops);
    ChildCommand command;
    command.program = *find_qemu();
    command.arguments = base_arguments(vm, kvm, setup.memory, item.experiment.box.cpus.value_or(2));
    const auto add = [&command](std::initializer_list<std::string> words) { command.arguments.insert(command.arguments.end(), words); };
    add({"-initrd", (folder / "initrd").string(), "-append", "console=ttyS0 quiet panic=-1 rdinit=/init.vm delayacct"});
    add({"-drive", fmt::format("file={},if=virtio,format=raw,cache=unsafe{}", disk.path().string(), throttle)});
    add({"-drive", fmt::format("file={},if=virtio,format=raw,cache=unsafe", results.path().string())});
    command.console = folder / "console.log";
    command.limit = kVmWallLimit;
    SPILLWAY_ASSIGN(const double wall_s, run_child(command, [&](double wall) {
                      if (context.live) context.live({fmt::format("vm: {:.0f} s", wall)});
                    }));
    std::error_code ignored;
    fs::remove(folder / "initrd", ignored);
    SPILLWAY_TRY(unpack(results.path(), folder));
    SPILLWAY_ASSIGN(auto record, make_record(folder, setup, item, context));
    record.box.kind = "vm";
    record.box.name = "vm";
    record.box.hz = std::atoi(first_line(vm / "hz").c_str());
    record.box.cpus = item.experiment.box.cpus.value_or(2);
    record.box.target = "modeled";
    record.box.device = "virtio disk on the host's memory, limited by QEMU: " + device_sentence(item.experiment.device);
    record.box.environment["acceleration"] = kvm ? "kvm" : "tcg (emulation)";
    if (!kvm) {
      record.notes.emplace_back("Emulated processor: 10 to 20 times slower, so nothing that is bound by CPU means anything here; device rates were taken as given.");
    }
    record.host["wall_s"] = wall_s;
    return record;
  }

 private:
  static Result<GuestSetup> setup_of(const Case& item) {
    if (item.experiment.device.model != "limit") {
      return fail(ErrorKind::unsupported, fmt::format("device.model = \"{}\": the VM's disk takes rate and IOPS limits only; --box kernel has device models.", item.experiment.device.model));
    }
    SPILLWAY_ASSIGN(const auto catalogue, catalogue_of(item.experiment.archive, item.experiment.folder));
    return translate(item, catalogue, {.disk = Disk::virtio, .charge_cpu = false, .cgroup_v2 = true});
  }

  static std::vector<std::string> base_arguments(const fs::path& vm, bool kvm, Bytes memory, int cpus) {
    return {"-accel", kvm ? "kvm" : "tcg,thread=multi", "-cpu", kvm ? "host" : "max", "-m", fmt::format("{}M", (memory.value() + kMiB - 1) / kMiB),
            "-smp", std::to_string(cpus), "-kernel", (vm / "vmlinuz").string(), "-nographic", "-no-reboot", "-nodefaults", "-serial", "stdio"};
  }

  // Some hosts have /dev/kvm and guests that hang on it: boot once and see.
  static bool kvm_works(const fs::path& vm, const fs::path& folder) {
    static std::optional<bool> known;
    if (known) return *known;
    if (access("/dev/kvm", R_OK | W_OK) != 0) return *(known = false);
    ChildCommand command;
    command.program = *find_qemu();
    command.arguments = base_arguments(vm, true, Bytes{512 * kMiB}, 1);
    for (const auto& word : {std::string("-initrd"), (vm / "base.cpio.gz").string(), std::string("-append"), std::string("console=ttyS0 panic=-1 rdinit=/init.vm spillway.probe")}) {
      command.arguments.push_back(word);
    }
    command.console = folder / "probe.log";
    command.limit = kProbeLimit;
    const auto ran = run_child(command, {});
    known = ran.has_value() && read_text(folder / "probe.log").find("init.vm") != std::string::npos;
    return *known;
  }

  static Status unpack(const fs::path& image, const fs::path& folder) {
    ChildCommand command;
    command.program = "/bin/tar";
    command.arguments = {"xf", image.string(), "-C", folder.string(), "--no-same-owner"};
    command.console = folder / "unpack.log";
    command.limit = std::chrono::seconds{60};
    SPILLWAY_TRY(run_child(command, {}));
    return {};
  }
};

}  // namespace

std::unique_ptr<Box> make_vm_box() { return std::make_unique<VmBox>(); }

}  // namespace spillway::kernel
