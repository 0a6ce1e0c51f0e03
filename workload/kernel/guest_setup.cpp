#include "workload/kernel/guest_setup.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace spillway::kernel {
namespace {

// measured: see GuestCosts.
constexpr std::int64_t kCopyPicosecondsPerByte = 930;
constexpr std::int64_t kFileNs = 30'000;
constexpr std::int64_t kDirectoryNs = 30'000;  // assumed: as a file
constexpr std::int64_t kUnlinkNs = 36'000;     // cited: 36 us with the inactivation's share, facts on XFS in sim/cpu/costs.hpp
// measured: the five runs of a_quiet started with 42 to 126 MiB of recent completions of the machine's other disk in the
// kernel's counters (from bdi_written and bdi_thresh of the first rows of their timelines); 90 is their mean.
constexpr Bytes kForeignHistory{90 * kMiB};
// What the guest kernel itself, its log and the scratch device need beside the page cache.
constexpr Bytes kGuestSpare{640 * kMiB};
constexpr Bytes kMinDisk{kGiB};

std::optional<int> cgroup_flushers(const std::string& text) {
  constexpr std::string_view prefix = "cgroup:";
  if (!text.starts_with(prefix)) return std::nullopt;
  return std::max(1, std::atoi(text.c_str() + prefix.size()));
}

double cost(const BoxSpec& box, std::string_view name, double otherwise) {
  for (const auto& [key, value] : box.costs) {
    if (key == name) return value;
  }
  return otherwise;
}

Status check_supported(const Case& item, const GuestOptions& options) {
  const auto& experiment = item.experiment;
  const auto no = [](std::string what) { return fail(ErrorKind::unsupported, std::move(what)); };
  if (!experiment.has_replay) return no("This box runs untars only; the experiment has no [replay].");
  if (!experiment.jobs.empty()) return no("This box has no fio inside: [[job]] runs on the real and the simulated box.");
  if (experiment.pipeline) return no("[pipeline] does not run in a box with its own kernel; use the simulated or the real box.");
  if (experiment.filesystem.type != "xfs") return no(fmt::format("filesystem.type = \"{}\": this box makes XFS only.", experiment.filesystem.type));
  if (experiment.filesystem.external_log) return no("filesystem.external_log: this box has one disk.");
  if (experiment.memory.cgroup_limit && !options.cgroup_v2) return no("memory.cgroup_limit needs cgroup v2 memory control; use --box vm.");
  const auto& flushers = experiment.replay.flushers;
  if (flushers != "kernel" && !(cgroup_flushers(flushers) && options.cgroup_v2)) {
    return no(fmt::format("replay.flushers = \"{}\" is not possible here; {}.", flushers,
                          cgroup_flushers(flushers) ? "use --box vm" : "use the real or the simulated box"));
  }
  if (experiment.replay.writers > 1) return no("replay.writers > 1: the guest's untar has one thread.");
  if (options.disk == Disk::loop && experiment.device.model != "limit") {
    return no(fmt::format("device.model = \"{}\": behind a loop this box takes rate and IOPS limits only (device.model = \"limit\").",
                          experiment.device.model));
  }
  if (options.disk == Disk::loop && experiment.device.read_rate.value() > 0) return no("device.read_rate: this box limits writes only.");
  return {};
}

}  // namespace

Result<GuestSetup> translate(const Case& item, const Catalogue& catalogue, const GuestOptions& options) {
  SPILLWAY_TRY(check_supported(item, options));
  const auto& experiment = item.experiment;
  const auto& replay = experiment.replay;
  GuestSetup setup;
  setup.disk = options.disk;
  setup.bounded = experiment.device.queue != "unlimited";
  setup.write_rate = experiment.device.rate;
  setup.write_iops = experiment.device.iops;
  setup.nr_requests = experiment.device.nr_requests;
  setup.cgroups = cgroup_flushers(replay.flushers).value_or(0);
  setup.cgroup_limit = experiment.memory.cgroup_limit.value_or(Bytes{0});
  if (setup.cgroup_limit.value() > 0) setup.cgroups = std::max(1, setup.cgroups);
  setup.knobs = experiment.knobs;

  const Bytes written = catalogue.data_bytes * replay.untars;
  setup.disk_size = experiment.filesystem.size.value() > 0 ? experiment.filesystem.size
                                                            : Bytes{std::max(kMinDisk.value(), written.value() * 8 / 5)};
  setup.disk_size = Bytes{(setup.disk_size.value() + kMiB - 1) / kMiB * kMiB};

  const auto& memory = experiment.memory;
  const Bytes ram = memory.ram.value_or(Bytes{4 * kGiB});
  const auto share = [&](std::optional<Bytes> bytes, std::optional<int> percent, int otherwise) -> std::int64_t {
    if (bytes) return bytes->value();
    // The guest's memory also holds its disk, so a share of it would mean something else than on the box that is meant.
    return static_cast<std::int64_t>(static_cast<double>(ram.value()) * 0.9 * percent.value_or(otherwise) / 100.0);
  };
  setup.dirty_bytes = share(memory.dirty_bytes, memory.dirty_ratio, 20);
  setup.background_bytes = share(memory.dirty_background_bytes, memory.dirty_background_ratio, 10);
  if (!memory.dirty_bytes || !memory.dirty_background_bytes) {
    setup.notes.push_back(fmt::format("Dirty limits given as a share were set as bytes, of nine tenths of {} of RAM: {} and background {}.",
                                      ram.value(), setup.dirty_bytes, setup.background_bytes));
  }
  const auto centiseconds = [](std::optional<Duration> time, std::int64_t otherwise) {
    return time ? std::chrono::duration_cast<std::chrono::milliseconds>(*time).count() / 10 : otherwise;
  };
  setup.expire_cs = centiseconds(memory.dirty_expire, setup.expire_cs);
  setup.writeback_cs = centiseconds(memory.dirty_writeback, setup.writeback_cs);
  // A virtual disk is as fast as its model; blk-throttle is for the loop.
  setup.foreign_history = experiment.box.completion_share.value_or(0) >= 1 || !experiment.target.cold ? Bytes{0} : kForeignHistory;
  // The page cache of all untars twice: as files and as blocks of the disk, which is memory too.
  setup.memory = written * (options.disk == Disk::loop ? 2 : 1) + Bytes{setup.dirty_bytes} + kGuestSpare;

  const auto& fs = experiment.filesystem;
  // A fixed identity: the same run writes the same bytes.
  setup.mkfs_options = "-m uuid=5b111a7e-0000-4000-8000-000000000001";
  const auto mkfs = [&](std::string_view text) { setup.mkfs_options += fmt::format(" {}", text); };
  if (fs.su && fs.sw) mkfs(fmt::format("-d su={},sw={}", fs.su->value(), *fs.sw));
  if (fs.agcount) mkfs(fmt::format("-d agcount={}", *fs.agcount));
  if (fs.log_size) mkfs(fmt::format("-l size={}", fs.log_size->value()));
  if (fs.inode_size) mkfs(fmt::format("-i size={}", fs.inode_size->value()));
  const auto feature = [&](std::optional<bool> on, const char* name) {
    if (on) mkfs(fmt::format("-m {}={}", name, *on ? 1 : 0));
  };
  feature(fs.rmapbt, "rmapbt");
  feature(fs.reflink, "reflink");
  feature(fs.finobt, "finobt");
  setup.mount_options = fmt::format("{}", fmt::join(fs.mount_options, ","));

  auto& plan = setup.plan;
  const bool stacked = options.disk == Disk::loop && setup.bounded;
  plan.limited_device = options.disk == Disk::virtio ? "vda" : "loop0";
  plan.device = options.disk == Disk::virtio ? "vda" : (stacked ? "loop1" : "loop0");
  plan.untars = replay.untars;
  plan.at_once = replay.at_once;
  plan.write_bytes = replay.engine == "posix" || replay.engine == "uring" ? 0 : 10240;
  plan.direct = replay.direct == "true";
  plan.drop_behind = replay.drop_behind;
  plan.unlink_existing = replay.existing != "overwrite";
  plan.before = replay.before;
  plan.after = replay.after;
  if (options.charge_cpu) {
    plan.cpus = experiment.box.cpus.value_or(2);
    plan.costs.copy_ps_per_byte =
        std::llround(cost(experiment.box, "copy_us_per_page", static_cast<double>(kCopyPicosecondsPerByte) * 4096e-6) * 1e6 / 4096);
    plan.costs.file_ns = std::llround(cost(experiment.box, "create_us", static_cast<double>(kFileNs) / 1000) * 1000);
    plan.costs.directory_ns = kDirectoryNs;
    plan.costs.unlink_ns = std::llround(cost(experiment.box, "unlink_us", static_cast<double>(kUnlinkNs) / 1000) * 1000);
    setup.notes.emplace_back(
        "CPU time is charged to the untars only (a cost a byte and a cost a file, as measured on the reference machine); the kernel's own "
        "workers compute in no time.");
  }
  if (replay.engine == "uring" || replay.engine == "libarchive" || replay.engine == "bsdtar") {
    setup.notes.push_back(fmt::format("Engine {}: the guest makes its writes of {} through plain system calls.", replay.engine,
                                      plan.write_bytes > 0 ? "10240 bytes" : "whole files"));
  }
  if (setup.foreign_history.value() > 0) {
    setup.notes.push_back(fmt::format("{} MiB were written to another device just before the run, so that this one starts with no share of the limit.",
                                      setup.foreign_history.value() / kMiB));
  }
  for (int group = 0; group < setup.cgroups; ++group) plan.cgroups.push_back(fmt::format("/sys/fs/cgroup/s{}", group));
  std::int64_t other = 0;
  for (const auto& entry : catalogue.entries) {
    if (entry.type == EntryType::directory) {
      plan.entries.push_back({.directory = true, .bytes = 0, .path = entry.path});
    } else if (entry.type == EntryType::file) {
      plan.entries.push_back({.directory = false, .bytes = entry.stored.value(), .path = entry.path});
    } else {
      ++other;
    }
  }
  if (other > 0) setup.notes.push_back(fmt::format("{} entries that are neither files nor directories were left out.", other));
  return setup;
}

std::string init_script(const GuestSetup& setup) {
  std::string script = "set -e\n";
  const auto line = [&script]<class... Args>(fmt::format_string<Args...> format, Args&&... args) {
    script += fmt::format(format, std::forward<Args>(args)...);
    script += '\n';
  };
  const auto& plan = setup.plan;
  line("mount -t tmpfs -o size=100% tmpfs /tmp");
  line("mkdir /tmp/out");
  if (setup.disk == Disk::loop) {
    line("truncate -s {} /tmp/disk", setup.disk_size.value());
    line("/run/spillway-guest loop /dev/loop0 /tmp/disk");
    if (setup.bounded) line("/run/spillway-guest loop /dev/loop1 /dev/loop0 direct");
  }
  line("for d in loop0 loop1 vda; do [ -e /sys/block/$d/queue/nr_requests ] && echo {} > /sys/block/$d/queue/nr_requests || true; done", setup.nr_requests);
  line("mkfs.xfs -q -f -K {} /dev/{}", setup.mkfs_options, plan.device);
  line("mount -t xfs {}/dev/{} {}", setup.mount_options.empty() ? "" : "-o " + setup.mount_options + " ", plan.device, plan.mount_point);
  if (setup.cgroups > 0) {
    line("mount -t cgroup2 none /sys/fs/cgroup");
    line("echo '+memory +io' > /sys/fs/cgroup/cgroup.subtree_control");
    for (const auto& group : plan.cgroups) {
      line("mkdir {}", group);
      if (setup.cgroup_limit.value() > 0) line("echo {} > {}/memory.max", setup.cgroup_limit.value(), group);
    }
  } else if (setup.disk == Disk::loop) {
    line("mount -t cgroup -o blkio none /sys/fs/cgroup");
  }
  line("echo {} > /proc/sys/vm/dirty_bytes", setup.dirty_bytes);
  line("echo {} > /proc/sys/vm/dirty_background_bytes", setup.background_bytes);
  line("echo {} > /proc/sys/vm/dirty_expire_centisecs", setup.expire_cs);
  line("echo {} > /proc/sys/vm/dirty_writeback_centisecs", setup.writeback_cs);
  for (const auto& [knob, value] : setup.knobs) {
    auto path = knob;
    if (const auto at = path.find("{dev}"); at != std::string::npos) path.replace(at, 5, plan.device);
    line("echo '{}' > '{}'", value, path);
  }
  if (setup.disk == Disk::loop && setup.write_rate.value() > 0) {
    line("echo '7:0 {}' > /sys/fs/cgroup/blkio.throttle.write_bps_device", setup.write_rate.value());
  }
  if (setup.disk == Disk::loop && setup.write_iops > 0) {
    line("echo '7:0 {}' > /sys/fs/cgroup/blkio.throttle.write_iops_device", setup.write_iops);
  }
  if (setup.foreign_history.value() > 0) {
    line("truncate -s {} /tmp/other", setup.foreign_history.value() + kMiB);
    line("/run/spillway-guest loop /dev/loop7 /tmp/other");
    line("dd if=/dev/zero of=/dev/loop7 bs=1M count={} conv=fsync 2>/dev/null", setup.foreign_history.value() / kMiB);
    // When that was: the kernel halves what it remembers of it every 3 s from then on.
    line("cat /proc/uptime > /run/uptime.history");
  }
  line("cd /sys/kernel/tracing");
  line("echo mono > trace_clock");
  line("echo 65536 > buffer_size_kb");
  line("for e in balance_dirty_pages bdi_dirty_ratelimit writeback_start; do echo 1 > events/writeback/$e/enable; done");
  line("uname -r > /run/release");
  line("cat /proc/meminfo > /run/meminfo.before");
  line("for f in dirty_bytes dirty_background_bytes dirty_expire_centisecs dirty_writeback_centisecs; do echo $f $(cat /proc/sys/vm/$f); done > /run/vm");
  line("for f in nr_requests scheduler wbt_lat_usec write_cache rotational max_sectors_kb; do echo $f $(cat /sys/block/{}/queue/$f); done > /run/queue || true", plan.device);
  line("set +e");
  line("/run/spillway-guest run /run/plan /tmp/out");
  line("status=$?");
  line("echo 0 > tracing_on");
  line("cat trace > /run/trace");
  line("cat /tmp/out/results.txt > /run/results.txt");
  line("cat /tmp/out/samples.csv > /run/samples.csv");
  line("cat /tmp/out/workers.tsv > /run/workers.tsv");
  if (setup.cgroups > 0) line("for g in /sys/fs/cgroup/s*; do echo $g $(cat $g/io.stat); done > /run/io.stat");
  line("exit $status");
  return script;
}

}  // namespace spillway::kernel
