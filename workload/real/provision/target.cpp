#include "workload/real/provision/target.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "workload/real/modeled_disk/modeled_disk.hpp"
#include "workload/real/provision/limit.hpp"
#include "workload/real/provision/mkfs.hpp"
#include "workload/real/provision/settings.hpp"
#include "workload/real/provision/signature.hpp"
#include "workload/real/system/loop_device.hpp"
#include "workload/real/system/mounts.hpp"
#include "workload/real/system/process.hpp"
#include "workload/real/system/text_file.hpp"
#include "workload/device/device_model.hpp"

namespace spillway::real {
namespace {

LimitSpec limit_of(const DeviceSpecText& device) { return {device.rate, device.read_rate, device.iops}; }

Status make_folder(Journal& journal, const std::string& path) {
  return journal.change(OwnedPath{path}, [&]() -> Status {
    if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST)
      return fail(ErrorKind::refused, fmt::format("cannot make {}: {}", path, std::strerror(errno)), errno);
    return {};
  });
}

Status make_image(Journal& journal, const std::string& path, Bytes size) {
  return journal.change(OwnedPath{path}, [&]() -> Status {
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) return fail(ErrorKind::refused, fmt::format("cannot make the image {}: {}", path, std::strerror(errno)), errno);
    const int result = ::ftruncate(fd, size.value());
    const int error = errno;
    ::close(fd);
    if (result != 0)
      return fail(ErrorKind::refused, fmt::format("cannot make the image {} of {} bytes: {}", path, size.value(), std::strerror(error)), error);
    return {};
  });
}

/// A new loop number on `backing`.
Result<LoopDevice> make_loop(Journal& journal, const std::string& backing, std::vector<std::string>& notes, std::uint32_t block_size = 0) {
  SPILLWAY_ASSIGN(const int number, unused_loop_number());
  const std::function<Status()> attach = [&]() -> Status {
    auto added = add_loop(number);
    return added ? attach_loop(number, backing, true, block_size) : added;
  };
  SPILLWAY_TRY(journal.change(LoopAttachment{number, backing}, attach));
  const LoopDevice loop{number};
  if (!loop_is_direct(number))
    notes.push_back(fmt::format("{} has no direct I/O (its file system does not allow it): pages are cached twice", loop.path()));
  return loop;
}

Status make_mount(Session& session, const FilesystemSpec& spec, Target& target, const std::string& log_device) {
  SPILLWAY_TRY(run_checked(mkfs_command(spec, target.device, log_device)));
  const std::string point = session.journal().directory() / fmt::format("spillway-mnt-{}", ::getpid());
  SPILLWAY_TRY(make_folder(session.journal(), point));
  SPILLWAY_TRY(session.journal().change(MountMade{target.device, point, "xfs", true},
                                        [&] { return mount_file_system(target.device, point, "xfs", mount_options(spec, log_device)); }));
  target.mount_point = target.directory = point;
  target.type = "xfs";
  target.own_file_system = true;
  return {};
}

Status make_limit(Session& session, const DeviceSpecText& device, const std::string& number, Target& target) {
  const LimitSpec limit = limit_of(device);
  if (!limit.any()) return {};
  const auto place = limit_place();
  if (!place)
    return fail(ErrorKind::unsupported, "this box has neither cgroup v1 blkio nor cgroup v2 with io and memory, so the device "
                                        "cannot be limited; leave device.rate out, or mount a cgroup hierarchy");
  return set_limit(session.journal(), *place, number, limit, &target.cgroup);
}

Result<Target> make_loop_target(Session& session, const Experiment& experiment, Bytes data) {
  SPILLWAY_ASSIGN(const Bytes size, image_size(experiment.filesystem, data));
  Target target;
  target.kind = "loop";
  target.cold = true;
  const std::string image = fmt::format("{}/spillway-image-{}", image_folder(experiment.target, session.journal().directory()), ::getpid());
  SPILLWAY_TRY(make_image(session.journal(), image, size));
  SPILLWAY_ASSIGN(LoopDevice lower, make_loop(session.journal(), image, target.notes));
  LoopDevice upper = lower;
  if (experiment.device.queue == "bounded") {
    SPILLWAY_ASSIGN(upper, make_loop(session.journal(), lower.path(), target.notes));
  }
  std::string log_device;
  if (experiment.filesystem.external_log) {
    // Without a size mkfs takes the whole device, and an XFS log is at most 2 GiB less 10 MiB.
    const std::int64_t log_size = std::max<std::int64_t>(kGiB, experiment.filesystem.log_size.value_or(Bytes{0}).value());
    SPILLWAY_TRY(make_image(session.journal(), image + "-log", Bytes{log_size}));
    SPILLWAY_ASSIGN(const LoopDevice log, make_loop(session.journal(), image + "-log", target.notes));
    log_device = log.path();
    target.notes.push_back("the external log is on an unlimited loop device of its own");
  }
  target.device = upper.path();
  target.device_name = upper.name();
  target.device_number = device_number(upper.path()).value_or("");
  target.lower_name = lower.name();
  SPILLWAY_TRY(make_mount(session, experiment.filesystem, target, log_device));
  if (experiment.device.nr_requests != 128)
    SPILLWAY_TRY(apply(session.journal(), {fmt::format("/sys/block/{}/queue/nr_requests", upper.name()),
                                           std::to_string(experiment.device.nr_requests), ""}));
  SPILLWAY_TRY(make_limit(session, experiment.device, device_number(lower.path()).value_or(""), target));
  return target;
}

Result<Target> make_modeled_target(Session& session, const Experiment& experiment, Bytes data) {
  SPILLWAY_ASSIGN(const Bytes size, image_size(experiment.filesystem, data));
  SPILLWAY_ASSIGN(const auto spec, device_spec_of(experiment.device, size));
  Target target;
  target.kind = "modeled";
  target.cold = true;
  Journal& journal = session.journal();
  const std::string folder = fmt::format("{}/spillway-disk-{}", journal.directory().string(), ::getpid());
  SPILLWAY_TRY(make_folder(journal, folder));
  // A server whose caller is killed in between ends by itself when its mount goes.
  const MountMade mount{"spillway-disk", folder, "fuse.modeled", false, 3000};
  const std::function<Status()> start = [&]() -> Status {
    ModeledDiskOptions options;
    options.spec = spec;
    options.seed = experiment.seed;
    options.size = size;
    options.directory = folder;
    options.report_path = folder + ".json";
    options.queue_depth = experiment.device.nr_requests != 128 ? experiment.device.nr_requests : 0;
    auto disk = ModeledDisk::start(options);
    if (!disk) return std::unexpected(disk.error());
    target.modeled = std::make_shared<ModeledDisk>(std::move(*disk));
    return {};
  };
  SPILLWAY_TRY(journal.change(OwnedPath{folder + ".json"}, [] { return Status{}; }));
  SPILLWAY_TRY(journal.change(mount, start));
  if (const auto id = identify(target.modeled->pid()))
    if (const auto noted = journal.note(ChildProcess{*id, "modeled disk", true}); !noted) return std::unexpected(noted.error());
  SPILLWAY_ASSIGN(const LoopDevice loop, make_loop(journal, target.modeled->path(), target.notes, 4096));
  target.device = loop.path();
  target.device_name = target.lower_name = loop.name();
  target.device_number = device_number(loop.path()).value_or("");
  target.notes.push_back("the device is a model in real time: its server costs about one CPU second per GB on this box");
  SPILLWAY_TRY(make_mount(session, experiment.filesystem, target, ""));
  return target;
}

Result<Target> make_device_target(Session& session, const Experiment& experiment, const std::string& destroy) {
  SPILLWAY_TRY(may_format(experiment.target.path, destroy));
  Target target;
  target.kind = "device";
  target.device = experiment.target.path;
  target.device_name = block_name(target.device).value_or("");
  target.device_number = device_number(target.device).value_or("");
  target.lower_name = target.device_name;
  SPILLWAY_TRY(make_mount(session, experiment.filesystem, target, ""));
  SPILLWAY_TRY(make_limit(session, experiment.device, target.device_number, target));
  return target;
}

Result<Target> make_mount_target(Session& session, const Experiment& experiment) {
  Target target;
  target.kind = "mount";
  const std::string parent = experiment.target.path.empty() ? session.journal().directory().string() : experiment.target.path;
  char* resolved = ::realpath(parent.c_str(), nullptr);
  if (resolved == nullptr)
    return fail(ErrorKind::bad_input, fmt::format("target.path {} is not a folder: {}", parent, std::strerror(errno)), errno);
  target.directory = fmt::format("{}/spillway-run-{}", resolved, ::getpid());
  ::free(resolved);
  SPILLWAY_TRY(make_folder(session.journal(), target.directory));
  if (const auto mount = mount_of(target.directory)) {
    target.mount_point = mount->point;
    target.type = mount->type;
    if (mount->source.starts_with("/dev/")) target.device = mount->source;
    target.device_number = mount->device_number;
    if (const auto name = block_name(target.device)) target.device_name = *name;
  }
  if (limit_of(experiment.device).any())
    target.notes.push_back("the target is a folder on a file system that is there: device limits are not applied, the disk runs as fast as it is");
  return target;
}

}  // namespace

std::string image_folder(const TargetSpec& target, const std::filesystem::path& state) {
  return target.path.empty() ? state.string() : target.path;
}

Result<Target> make_target(Session& session, const Experiment& experiment, Bytes data, const std::string& destroy) {
  const std::string& kind = experiment.target.kind;
  if (kind == "loop") return make_loop_target(session, experiment, data);
  if (kind == "modeled") return make_modeled_target(session, experiment, data);
  if (kind == "device") return make_device_target(session, experiment, destroy);
  if (kind == "mount") return make_mount_target(session, experiment);
  return fail(ErrorKind::unsupported, fmt::format("the real box has no target '{}' yet", kind));
}

Result<std::vector<std::string>> describe_target(const Experiment& experiment, Bytes data, const std::filesystem::path& state) {
  std::vector<std::string> lines;
  const auto& device = experiment.device;
  std::string limit;
  if (device.rate.value() > 0) limit += fmt::format(" {:.1f} MB/s written", static_cast<double>(device.rate.value()) / 1e6);
  if (device.read_rate.value() > 0) limit += fmt::format(" {:.1f} MB/s read", static_cast<double>(device.read_rate.value()) / 1e6);
  if (device.iops > 0) limit += fmt::format(" {} writes a second", device.iops);
  const std::string& kind = experiment.target.kind;
  if (kind == "loop") {
    SPILLWAY_ASSIGN(const Bytes size, image_size(experiment.filesystem, data));
    lines.push_back(fmt::format("A sparse image of {:.2f} GB is made in {} and deleted afterwards.", static_cast<double>(size.value()) / 1e9,
                                image_folder(experiment.target, state)));
    lines.push_back(device.queue == "bounded" ? "Two loop devices with new numbers are stacked on it, with direct I/O."
                                              : "One loop device with a new number is put on it, with direct I/O.");
    lines.push_back(fmt::format("{} makes an XFS on it, mounted with '{}'.",
                                fmt::join(mkfs_command(experiment.filesystem, "/dev/loopN", ""), " "), mount_options(experiment.filesystem, "")));
  } else if (kind == "modeled") {
    SPILLWAY_ASSIGN(const Bytes size, image_size(experiment.filesystem, data));
    lines.push_back(fmt::format("A modeled disk ({}) of {:.2f} GB is served from memory through FUSE, with a loop device on it.", device.model, static_cast<double>(size.value()) / 1e9));
    lines.push_back(fmt::format("{} makes an XFS on it, mounted with '{}'.",
                                fmt::join(mkfs_command(experiment.filesystem, "/dev/loopN", ""), " "), mount_options(experiment.filesystem, "")));
    return lines;
  } else if (kind == "device") {
    lines.push_back(fmt::format("{} is FORMATTED: {}; mounted with '{}'.", experiment.target.path,
                                fmt::join(mkfs_command(experiment.filesystem, experiment.target.path, ""), " "),
                                mount_options(experiment.filesystem, "")));
  } else if (kind == "mount") {
    lines.push_back(fmt::format("A folder is made in {} and deleted afterwards.", experiment.target.path.empty() ? state.string() : experiment.target.path));
    return lines;
  }
  if (!limit.empty()) {
    const auto place = limit_place();
    lines.push_back(fmt::format("The device is limited to{} ({}).", limit,
                                !place ? std::string{"but no cgroup here can do that"}
                                : place->version == LimitPlace::Version::v1 ? place->directory + "/blkio.throttle.*"
                                                                            : place->directory + "/spillway-*/io.max"));
  }
  return lines;
}

}  // namespace spillway::real
