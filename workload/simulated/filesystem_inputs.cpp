// [filesystem] of an experiment as the simulated XFS has it: what mkfs.xfs was told, over it the mount options.

#include <algorithm>
#include <charconv>
#include <fmt/core.h>
#include <fmt/format.h>
#include <map>

#include "sim/xfs/geometry.hpp"
#include "workload/experiment/quantity.hpp"
#include "workload/simulated/translate.hpp"

namespace spillway::simulated {

namespace {

/// "128k", "1m", "4096": as mount options have sizes.
std::optional<Bytes> mount_size(std::string_view text) {
  std::int64_t n = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (code != std::errc{} || n < 0) return std::nullopt;
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  if (unit.empty()) return Bytes{n};
  if (unit == "k" || unit == "K") return Bytes{n * kKiB};
  if (unit == "m" || unit == "M") return Bytes{n * kMiB};
  if (unit == "g" || unit == "G") return Bytes{n * kGiB};
  return std::nullopt;
}

/// Options that change nothing that is modelled, and those whose effect is left out and said so.
constexpr std::string_view kNoEffect[] = {"defaults", "rw", "attr2", "noattr2", "noquota", "nolargeio", "nodiscard", "ikeep", "noikeep", "nouuid",
                                          "grpid", "nogrpid", "bsdgroups", "sysvgroups", "delaylog", "barrier", "nodev", "dev", "noexec", "exec",
                                          "nosuid", "suid", "noatime", "relatime", "nodiratime", "osyncisdsync"};
const std::map<std::string_view, std::string_view> kRefused = {
    {"discard", "trims while it runs"}, {"wsync", "writes its log at every change of a name"}, {"sync", "writes through"},
    {"dirsync", "writes directories through"}, {"filestreams", "places files by stream"}, {"dax", "maps its device"},
    {"quota", "has quotas"}, {"uquota", "has quotas"}, {"usrquota", "has quotas"}, {"gquota", "has quotas"}, {"grpquota", "has quotas"},
    {"pquota", "has quotas"}, {"prjquota", "has quotas"}, {"rtdev", "has a realtime part"}, {"ro", "is read-only"}, {"norecovery", "is read-only"},
    {"nodelaylog", "logs without a checkpoint in memory"}};

}  // namespace

Result<sim::FilesystemInputs> filesystem_inputs(const FilesystemSpec& spec, Bytes data, std::vector<std::string>* notes) {
  sim::FilesystemInputs out;
  const auto note = [notes](std::string text) {
    if (notes) notes->push_back(std::move(text));
  };
  out.model = sim::FilesystemInputs::Model::full;  // the default and why: sim/xfs/README.md
  out.size = spec.size.value() > 0 ? spec.size : Bytes{std::max<std::int64_t>(kGiB, data.value() / 10 * 16)};
  out.allocation_groups = spec.agcount.value_or(0);  // 0: as many as mkfs makes
  if (spec.su && spec.sw) {
    out.stripe_unit = *spec.su;
    out.stripe_width = *spec.su * *spec.sw;
  }
  out.external_log = spec.external_log;
  out.inode_size = spec.inode_size.value_or(out.inode_size);
  out.finobt = spec.finobt.value_or(out.finobt);
  out.reflink = spec.reflink.value_or(out.reflink);
  out.rmapbt = spec.rmapbt.value_or(out.rmapbt);
  out.filled = spec.filled;
  bool log_buffer_given = false, noalign = false;
  for (const std::string& option : spec.mount_options) {
    const std::size_t equals = option.find('=');
    const std::string name = option.substr(0, equals);
    const std::string text = equals == std::string::npos ? "" : option.substr(equals + 1);
    const auto size = mount_size(text);
    const auto bad = [&] { return fail(ErrorKind::bad_input, fmt::format("the mount option \"{}\" has no size such as 128k", option)); };
    if (std::find(std::begin(kNoEffect), std::end(kNoEffect), name) != std::end(kNoEffect)) continue;
    if (const auto refused = kRefused.find(name); refused != kRefused.end())
      return fail(ErrorKind::unsupported, fmt::format("the simulated box has no file system that {}: take \"{}\" out of filesystem.mount_options", refused->second, option));
    if (name == "swalloc") {
      out.swalloc = true;
    } else if (name == "largeio") {
      out.largeio = true;
    } else if (name == "inode64") {
      out.inode64 = true;
    } else if (name == "inode32") {
      out.inode64 = false;
    } else if (name == "noalign") {
      noalign = true;
    } else if (name == "lazytime" || name == "nobarrier") {
      continue;  // noted as without effect: unmodelled.cpp
    } else if (name == "allocsize" || name == "logbsize" || name == "logbufs" || name == "sunit" || name == "swidth") {
      if (!size) return bad();
      if (name == "allocsize") out.allocsize = *size;
      if (name == "logbsize") out.log_buffer = *size, log_buffer_given = true;
      if (name == "logbufs") out.log_buffers = static_cast<int>(size->value());
      if (name == "sunit") out.stripe_unit = *size * 512;  // mount options count 512-byte units
      if (name == "swidth") out.stripe_width = *size * 512;
    } else {
      return fail(ErrorKind::unsupported, fmt::format("the simulated box does not know the mount option \"{}\"; take it out of filesystem.mount_options", option));
    }
  }
  if (out.stripe_unit.has_value() != out.stripe_width.has_value())
    return fail(ErrorKind::bad_input, "filesystem.mount_options: sunit and swidth go together; one is missing");
  if (noalign) out.stripe_unit = out.stripe_width = std::nullopt;
  if (out.stripe_unit && out.stripe_unit->value() == 0) out.stripe_unit = out.stripe_width = std::nullopt;
  // mkfs's log; a small group may not hold it: then as much as fits into the group.
  out.log_size = spec.log_size.value_or(sim::xfs::default_log_size(out.size));
  if (out.model == sim::FilesystemInputs::Model::full) {
    auto geometry = sim::xfs::make_geometry(out);
    if (!geometry && !spec.log_size && !out.external_log) {
      const int groups = out.allocation_groups > 0 ? out.allocation_groups : sim::xfs::default_allocation_groups(out.size, out.stripe_unit.has_value());
      out.log_size = Bytes{std::max<std::int64_t>(10 * kMiB, out.size.value() / groups / kMiB * kMiB * 95 / 100 / kMiB * kMiB)};
      geometry = sim::xfs::make_geometry(out);
      if (geometry) note(fmt::format("the log is {}: no more fits into an allocation group", size_text(out.log_size)));
    }
    if (!geometry) return fail(ErrorKind::bad_input, fmt::format("[filesystem] gives {}", geometry.error().what));
    // A log with a stripe unit has buffers of at least that. cited: xlog_get_iclog_buffer_size().
    if (!log_buffer_given) out.log_buffer = Bytes{std::max<std::int64_t>(out.log_buffer.value(), geometry->log_stripe_unit)};
    if (out.log_buffer.value() < geometry->log_stripe_unit)
      return fail(ErrorKind::bad_input, fmt::format("logbsize = {} is smaller than the log's stripe unit of {}; the kernel refuses that", size_text(out.log_buffer), size_text(Bytes{geometry->log_stripe_unit})));
    if (!out.inode64 && out.size.value() / out.inode_size.value() <= (std::int64_t{1} << 32))
      note("inode32 changes nothing on a file system whose inode numbers fit into 32 bits");
    if (out.largeio) note("largeio only changes the block size that stat reports; no engine asks for it");
  }
  return out;
}

void name_device(const Experiment& e, sim::DeviceInputs& device) {
  if (e.target.kind != "loop" && e.target.kind != "modeled") return;
  device.name = "loop0";
  device.major = 7;
  device.loop = true;
}

}  // namespace spillway::simulated
