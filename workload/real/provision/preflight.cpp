#include "workload/real/provision/preflight.hpp"

#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "workload/real/capture/environment.hpp"
#include "workload/real/pipeline/pipeline.hpp"
#include "workload/real/provision/limit.hpp"
#include "workload/real/provision/mkfs.hpp"
#include "workload/real/provision/settings.hpp"
#include "workload/real/provision/signature.hpp"
#include "workload/real/provision/target.hpp"
#include "workload/real/replay/engine.hpp"
#include "workload/real/replay/jobs.hpp"
#include "workload/real/replay/user_flusher.hpp"
#include "workload/real/system/loop_device.hpp"
#include "workload/real/system/mounts.hpp"
#include "workload/real/system/process.hpp"
#include "workload/real/system/text_file.hpp"

namespace spillway::real {
namespace {

/// assumed: a disk without a limit writes this much.
constexpr double kUnlimitedBytesPerS = 400e6;
/// measured: image, loops, mkfs, mount, settle and teardown on the development box take 2 to 5 s.
constexpr double kProvisionSeconds = 5;

bool filesystem_known(const std::string& type) {
  const auto text = read_text("/proc/filesystems");
  if (!text) return false;
  for (const auto line : split_lines(*text))
    if (const auto words = split_words(line); !words.empty() && words.back() == type) return true;
  return false;
}

bool makes_file_system(const Experiment& experiment) { return experiment.target.kind != "mount"; }

/// Whether a group of processes can have a flusher of its own here, and whether this program does it.
Status flushers_available(const std::string& policy) {
  if (policy == "kernel" || user_flushers(policy)) return {};
  if (policy.starts_with("cgroup:")) {
    const auto place = limit_place();
    if (!place || place->version != LimitPlace::Version::v2)
      return fail(ErrorKind::unsupported, fmt::format("flushers = \"{}\" needs cgroup v2 with the controllers memory and io, which give each group a flusher of its own; this box has {}: "
                                                      "use `spillway run --box vm`, or flushers = \"user:N\"", policy, place ? "them on v1" : "neither"));
    return fail(ErrorKind::unsupported, fmt::format("flushers = \"{}\" is not done on the real box yet, although its cgroup v2 could; `spillway run --box vm` does it", policy));
  }
  return fail(ErrorKind::unsupported, fmt::format("flushers = \"{}\" exists in the simulated box only: a kernel has one flusher for each device (\"kernel\"), here helped by \"user:N\"", policy));
}

}  // namespace

bool needs_target(const Experiment& experiment) {
  return !experiment.pipeline || std::ranges::any_of(experiment.pipeline->stages, &StageSpec::device);
}

Bytes data_of(const Experiment& experiment, Bytes archive_data) {
  if (experiment.pipeline) return needs_target(experiment) ? Bytes{300 * kMiB} : Bytes{0};  // its file, pipeline_device.cpp
  Bytes data = experiment.has_replay ? archive_data * experiment.replay.untars : Bytes{0};
  for (const auto& job : experiment.jobs)
    data += std::max(job.size, job.filesize * job.nrfiles) * job.numjobs;
  return data;
}

Result<Bytes> free_space(const std::string& folder) {
  struct statvfs info {};
  std::filesystem::path place = folder;
  while (!place.empty() && ::statvfs(place.c_str(), &info) != 0 && errno == ENOENT && place != place.parent_path()) place = place.parent_path();
  if (::statvfs(place.c_str(), &info) != 0)
    return fail(ErrorKind::refused, fmt::format("cannot see how much space {} has: {}", folder, std::strerror(errno)), errno);
  return Bytes{static_cast<std::int64_t>(info.f_bavail) * static_cast<std::int64_t>(info.f_frsize)};
}

double estimated_seconds(const Experiment& experiment, Bytes data) {
  double rate = kUnlimitedBytesPerS;
  if (experiment.device.rate.value() > 0 && experiment.target.kind != "mount") rate = static_cast<double>(experiment.device.rate.value());
  return static_cast<double>(data.value()) / rate + kProvisionSeconds;
}

Status check_experiment(const Experiment& experiment) {
  if (experiment.pipeline) {
    if (experiment.has_replay || !experiment.jobs.empty())
      return fail(ErrorKind::unsupported, "the real box runs a [pipeline] alone: take [replay] and [[job]] out of the experiment");
    SPILLWAY_TRY(pipeline_available(*experiment.pipeline));
    if (!needs_target(experiment)) return {};
  }
  const auto& kind = experiment.target.kind;
  if (kind != "loop" && kind != "mount" && kind != "device" && kind != "modeled") return fail(ErrorKind::unsupported, fmt::format("the real box has no target '{}' yet", kind));
  if (kind == "loop" && experiment.device.model != "limit")
    return fail(ErrorKind::unsupported, fmt::format("target loop imitates a rate or IOPS limit only, not the device model '{}': "
                                                    "use target.kind = \"modeled\", or the simulated box", experiment.device.model));
  if (kind == "modeled" && !exists("/dev/fuse")) return fail(ErrorKind::unsupported, "target modeled needs /dev/fuse (modprobe fuse)");
  if (makes_file_system(experiment) && experiment.filesystem.type != "xfs")
    return fail(ErrorKind::unsupported, fmt::format("the real box makes XFS only, not {}; for another file system use target.kind = \"mount\"", experiment.filesystem.type));
  if (experiment.has_replay) {
    SPILLWAY_TRY(engine_available(experiment.replay));
    SPILLWAY_TRY(flushers_available(experiment.replay.flushers));
  }
  for (const auto& job : experiment.jobs) SPILLWAY_TRY(job_available(job));
  for (const auto& setting : knob_settings(experiment.knobs, "{dev}", "{bdi}"))
    if (!setting.path.contains('{') && !exists(setting.path))
      return fail(ErrorKind::unsupported, fmt::format("[knobs]: this kernel has no setting {}; take it out of the experiment, or mend its name", setting_name(setting.path)), ENOENT);
  if (makes_file_system(experiment)) {
    if (::geteuid() != 0)
      return fail(ErrorKind::unsupported, "loop devices, mounts and limits need root; as an ordinary user only target.kind = \"mount\" works, without a limit");
    if (!find_program("mkfs.xfs")) return fail(ErrorKind::unsupported, "mkfs.xfs is not installed (Debian: apt-get install xfsprogs)");
    if (!filesystem_known("xfs")) {
      (void)run_command({"modprobe", "xfs"});
      if (!filesystem_known("xfs")) return fail(ErrorKind::unsupported, "this kernel has no XFS (neither built in nor as a module)");
    }
    if (kind != "device" && !exists("/dev/loop-control")) {
      (void)run_command({"modprobe", "loop"});
      if (!exists("/dev/loop-control")) return fail(ErrorKind::unsupported, "this kernel has no loop driver (/dev/loop-control is missing)");
    }
  }
  return {};
}

Status check_resources(const Experiment& experiment, Bytes data, const std::filesystem::path& state, const std::string& destroy) {
  if (experiment.memory.ram && memory_bytes() < experiment.memory.ram->value() * 9 / 10)
    return fail(ErrorKind::refused, fmt::format("the experiment asks for {:.1f} GB of RAM, this box has {:.1f} GB", static_cast<double>(experiment.memory.ram->value()) / 1e9,
                                                static_cast<double>(memory_bytes()) / 1e9));
  if (!needs_target(experiment)) return {};
  const auto& kind = experiment.target.kind;
  if (kind == "device") return may_format(experiment.target.path, destroy);
  if (kind == "modeled") {
    SPILLWAY_ASSIGN(const Bytes size, image_size(experiment.filesystem, data));
    const std::int64_t available = table_number(read_text("/proc/meminfo").value_or(""), "MemAvailable").value_or(0) * 1024;
    // What is written stays in memory, and the dirty pages are there too.
    if (available < data.value() * 2)
      return fail(ErrorKind::refused, fmt::format("a modeled disk keeps its data in memory: {:.1f} GB are written, {:.1f} GB are available; ask for less data "
                                                  "(an image of {:.1f} GB is not the problem, what is written is)",
                                                  static_cast<double>(data.value()) / 1e9, static_cast<double>(available) / 1e9, static_cast<double>(size.value()) / 1e9), ENOMEM);
    return {};
  }
  const std::string folder = kind == "loop" ? image_folder(experiment.target, state) : experiment.target.path.empty() ? state.string() : experiment.target.path;
  SPILLWAY_ASSIGN(const Bytes free, free_space(folder));
  Bytes needed = data * 8 / 5;
  if (kind == "loop") {
    SPILLWAY_ASSIGN(const Bytes size, image_size(experiment.filesystem, data));
    needed = std::min(needed, size);
  }
  if (free < needed)
    return fail(ErrorKind::refused, fmt::format("{} has {:.2f} GB free; {:.2f} GB are needed (1.6 times the {:.2f} GB that the untars write): free space, "
                                                "set target.path to another disk, or ask for less data",
                                                folder, static_cast<double>(free.value()) / 1e9, static_cast<double>(needed.value()) / 1e9, static_cast<double>(data.value()) / 1e9),
                ENOSPC);
  return {};
}

Result<std::vector<std::string>> describe_plan(const Experiment& experiment, Bytes data, const std::filesystem::path& state) {
  if (!needs_target(experiment))
    return std::vector<std::string>{"Threads of this pipeline run on this box; no device, no file system and no setting is touched.",
                                    experiment.pipeline->requests > 0 ? fmt::format("Each repeat carries {} requests.", experiment.pipeline->requests)
                                                                      : fmt::format("Each repeat takes {:.1f} s.", to_seconds(experiment.pipeline->runtime))};
  SPILLWAY_ASSIGN(std::vector<std::string> lines, describe_target(experiment, data, state));
  for (const auto& setting : memory_settings(experiment.memory)) {
    std::string line = fmt::format("{} is set to {} (now {})", setting_name(setting.path), setting.value, read_line(setting.path).value_or("not readable"));
    if (!setting.other_form.empty()) line += fmt::format("; {} (now {}) then reads 0", setting_name(setting.other_form), read_line(setting.other_form).value_or("?"));
    lines.push_back(line + ".");
  }
  for (const auto& setting : knob_settings(experiment.knobs, "{dev}", "{bdi}"))
    lines.push_back(fmt::format("{} is set to {} (now {}).", setting_name(setting.path), setting.value, read_line(setting.path).value_or("known once the device is there")));
  if (read_number("/proc/sys/kernel/task_delayacct") == 0) lines.push_back("kernel.task_delayacct is set to 1 (now 0).");
  bool debugfs = false, tracefs = false;
  for (const auto& mount : mount_points()) {
    debugfs = debugfs || mount.type == "debugfs";
    tracefs = tracefs || mount.type == "tracefs";
  }
  if (!debugfs) lines.push_back("debugfs is mounted on /sys/kernel/debug for the run.");
  if (!tracefs) lines.push_back("tracefs is mounted on /sys/kernel/tracing for the run.");
  lines.push_back("A private trace instance is made for the run.");
  if (experiment.replay.cache == "cold") lines.push_back("Clean caches are dropped before each repeat (vm.drop_caches).");
  lines.push_back(fmt::format("Each repeat writes {:.2f} GB and takes about {:.1f} minutes.", static_cast<double>(data.value()) / 1e9, estimated_seconds(experiment, data) / 60));
  lines.push_back("Every setting, mount and device is put back afterwards, also after Ctrl-C; after a power loss, `spillway restore` does it.");
  return lines;
}

}  // namespace spillway::real
