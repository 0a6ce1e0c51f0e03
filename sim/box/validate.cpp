#include <fmt/format.h>

#include "sim/box/inputs.hpp"
#include "sim/xfs/geometry.hpp"
#include "sim/xfs/log_sizes.hpp"
#include "sim/job/validate_jobs.hpp"

namespace spillway::sim {

namespace {

Status refuse(std::string what) { return fail(ErrorKind::bad_input, std::move(what)); }

}  // namespace

Status validate(const BoxInputs& in) {
  if (in.hz != 100 && in.hz != 250 && in.hz != 300 && in.hz != 1000)
    return refuse(fmt::format("HZ is {}; a kernel has 100, 250, 300 or 1000 ticks a second", in.hz));
  if (in.cpu.cores < 1 || in.cpu.cores > 1024) return refuse(fmt::format("{} cores; give 1 to 1024", in.cpu.cores));
  if (in.cpu.numa_nodes < 1 || in.cpu.numa_nodes > in.cpu.cores)
    return refuse(fmt::format("{} NUMA nodes for {} cores", in.cpu.numa_nodes, in.cpu.cores));
  if (in.cpu.slice.count() <= 0 || in.cpu.memory_bandwidth.value() <= 0)
    return refuse("the scheduler's slice and the memory bandwidth must be above 0");
  const auto& dirty = in.memory.dirty;
  if (dirty.dirty_bytes.value() < 0 || dirty.background_bytes.value() < 0) return refuse("dirty limits must not be negative");
  if (dirty.dirty_bytes.value() != 0 && dirty.dirty_bytes.value() < 2 * kPageSize.value())
    return refuse(fmt::format("vm.dirty_bytes = {}; the kernel's minimum is two pages", dirty.dirty_bytes.value()));
  if (dirty.dirty_ratio < 0 || dirty.dirty_ratio > 100 || dirty.background_ratio < 0 || dirty.background_ratio > 100)
    return refuse("dirty ratios are percentages, 0 to 100");
  if (in.memory.ram.value() <= 0) return refuse("a box has RAM: memory.ram must be above 0");
  if (in.memory.writeback_interval.count() < 0 || in.memory.dirty_expire.count() < 0)
    return refuse("writeback interval and expiry must not be negative");
  const auto& b = in.before;
  if (b.device_completions < 0 || b.global_completions < b.device_completions)
    return refuse("the device's completions before the run must lie between 0 and the global ones");
  if (b.write_bandwidth.value() < 4096 || b.avg_write_bandwidth.value() < 4096 || b.dirty_ratelimit.value() < 4096)
    return refuse("bandwidth estimate and rate limit before the run must be at least one page a second");
  if (b.foreign_completions_per_s < 0) return refuse("foreign completions per second must not be negative");
  if (!(b.foreign_cpus >= 0 && b.foreign_cpus <= 1024)) return refuse("the cores that others keep busy must be 0 to 1024");
  if (b.tick_phase.count() < 0 || b.tick_phase.count() >= 1'000'000'000 / in.hz)
    return refuse("the tick's phase must lie within one tick");
  const auto& d = in.device;
  if (d.write_rate.value() <= 0 || d.read_rate.value() <= 0 || d.base_rate.value() <= 0)
    return refuse("a device's rates must be above 0: at a rate of 0 nothing would ever be written");
  if (d.queue_depth < 1 || d.max_request < kPageSize) return refuse("a device needs a tag and requests of at least a page");
  if (d.kind == DeviceInputs::Kind::model) {
    if (!d.model) return refuse("a device of the kind \"model\" needs a device model");
    const auto device = device::make_device(*d.model, in.seed);
    if (!device) return std::unexpected(device.error());
    if (to_bytes((*device)->capacity()) < in.filesystem.size)
      return refuse(fmt::format("the device \"{}\" holds {} bytes and the file system {}", d.model->name,
                                to_bytes((*device)->capacity()).value(), in.filesystem.size.value()));
  }
  if (d.write_iops < 0) return refuse("a limit on I/Os per second must not be negative");
  if (in.flushers.count < 1 || in.flushers.count > 4096) return refuse(fmt::format("{} flushers; give 1 to 4096", in.flushers.count));
  if (in.flushers.cgroup_limit.value() < 0 || (in.flushers.cgroup_limit.value() > 0 && in.flushers.kind != FlusherInputs::Kind::cgroup))
    return refuse("a cgroup's memory limit needs flushers of the kind \"cgroup\" and must not be negative");
  const auto& r = in.replay;
  if (r.untars > 0) {
    if (!r.catalogue || r.catalogue->files.empty()) return refuse("the untars have no files: the catalogue is empty");
    if (r.at_once < 1) return refuse(fmt::format("{} untars at once; at least one runs", r.at_once));
    if (r.engine.write_size.value() <= 0) return refuse("write(2) of 0 bytes makes no progress");
    if (r.engine.writers < 1) return refuse("an untar has at least one writer thread");
    for (const auto& f : r.catalogue->files)
      if (f.size.value() < 0 || f.directory < 0 || f.directory >= r.catalogue->directories)
        return refuse("a file of the catalogue has a negative size or no directory");
  }
  SPILLWAY_TRY(validate_jobs(in));
  if (in.filesystem.log_size.value() < kMiB) return refuse("the log must have at least 1 MiB");
  const auto& f = in.filesystem;
  if (f.filled < 0 || f.filled >= 1) return refuse("the filled share of a file system lies between 0 and 1");
  if (f.model == FilesystemInputs::Model::full) {
    const auto geometry = xfs::make_geometry(f);
    if (!geometry) return std::unexpected(geometry.error());
    if (f.log_buffers < 2 || f.log_buffers > 8) return refuse(fmt::format("{} log buffers; XFS has 2 to 8", f.log_buffers));
    const std::int64_t buffer = f.log_buffer.value();
    if (buffer < 16 * kKiB || buffer > 256 * kKiB || (buffer & (buffer - 1)) != 0)
      return refuse(fmt::format("log buffers of {} bytes; XFS has them of 16k, 32k, 64k, 128k and 256k", buffer));
    // The kernel refuses logs that hold less than about three of its largest transactions.
    const std::int64_t least = 3 * xfs::reservation(xfs::Transaction::itruncate, geometry->log_stripe_unit);
    if (f.log_size.value() < least)
      return refuse(fmt::format("a log of {} KiB is too small: its largest transaction reserves {} KiB and three must fit",
                                f.log_size.value() / kKiB, least / 3 / kKiB));
    if (f.allocsize && (f.allocsize->value() < 4096 || f.allocsize->value() > kGiB || (f.allocsize->value() & (f.allocsize->value() - 1)) != 0))
      return refuse(fmt::format("allocsize = {}; it is a power of two from 4 KiB to 1 GiB", f.allocsize->value()));
  }
  return {};
}

}  // namespace spillway::sim
