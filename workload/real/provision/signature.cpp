#include "workload/real/provision/signature.hpp"

#include <blkid/blkid.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "workload/real/system/loop_device.hpp"
#include "workload/real/system/mounts.hpp"

namespace spillway::real {

Result<std::optional<std::string>> signature_of(const std::string& device) {
  blkid_probe probe = blkid_new_probe_from_filename(device.c_str());
  if (probe == nullptr)
    return fail(ErrorKind::refused, fmt::format("cannot look at {}: {}", device, std::strerror(errno)), errno);
  blkid_probe_enable_superblocks(probe, 1);
  blkid_probe_set_superblocks_flags(probe, BLKID_SUBLKS_TYPE | BLKID_SUBLKS_USAGE);
  blkid_probe_enable_partitions(probe, 1);
  std::optional<std::string> found;
  const int result = blkid_do_safeprobe(probe);
  if (result == -2) {
    found = "several signatures at once";
  } else if (result == 0) {
    const char* value = nullptr;
    if (blkid_probe_lookup_value(probe, "TYPE", &value, nullptr) == 0) found = fmt::format("a {} signature", value);
    else if (blkid_probe_lookup_value(probe, "PTTYPE", &value, nullptr) == 0) found = fmt::format("a {} partition table", value);
    else found = "a signature";
  } else if (result < 0) {
    blkid_free_probe(probe);
    return fail(ErrorKind::refused, fmt::format("cannot read {} to see what it bears", device));
  }
  blkid_free_probe(probe);
  return found;
}

Status may_format(const std::string& device, const std::string& destroy) {
  if (!device_number(device)) return fail(ErrorKind::refused, fmt::format("{} is not a block device", device));
  if (device_in_use(device))
    return fail(ErrorKind::refused, fmt::format("{} is mounted or used as swap; it is never formatted", device));
  SPILLWAY_ASSIGN(const auto signature, signature_of(device));
  if (signature && destroy != device)
    return fail(ErrorKind::refused, fmt::format("{} bears {}; to lose what is on it, say --destroy {}", device, *signature, device));
  return {};
}

}  // namespace spillway::real
