#include "workload/real/provision/mkfs.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace spillway::real {

Result<Bytes> image_size(const FilesystemSpec& spec, Bytes data) {
  const auto mib_ceil = [](std::int64_t bytes) { return Bytes{(bytes + kMiB - 1) / kMiB * kMiB}; };
  if (spec.size.value() != 0) {
    if (spec.size < kSmallestXfs)
      return fail(ErrorKind::bad_input, fmt::format("filesystem.size is {} MiB, but mkfs.xfs makes nothing below 300 MiB",
                                                    spec.size.value() / kMiB));
    return mib_ceil(spec.size.value());
  }
  return mib_ceil(std::max(data.value() * 8 / 5, 1 * kGiB));
}

std::vector<std::string> mkfs_command(const FilesystemSpec& spec, const std::string& device, const std::string& log_device) {
  std::vector<std::string> words{"mkfs.xfs", "-f", "-q", "-K"};
  const auto add = [&](const char* section, std::string option) {
    words.emplace_back(section);
    words.push_back(std::move(option));
  };
  if (spec.su && spec.sw) add("-d", fmt::format("su={},sw={}", spec.su->value(), *spec.sw));
  if (spec.agcount) add("-d", fmt::format("agcount={}", *spec.agcount));
  if (!log_device.empty()) add("-l", fmt::format("logdev={}", log_device));
  if (spec.log_size) add("-l", fmt::format("size={}", spec.log_size->value()));
  if (spec.rmapbt) add("-m", fmt::format("rmapbt={}", *spec.rmapbt ? 1 : 0));
  if (spec.reflink) add("-m", fmt::format("reflink={}", *spec.reflink ? 1 : 0));
  if (spec.finobt) add("-m", fmt::format("finobt={}", *spec.finobt ? 1 : 0));
  if (spec.inode_size) add("-i", fmt::format("size={}", spec.inode_size->value()));
  words.push_back(device);
  return words;
}

std::string mount_options(const FilesystemSpec& spec, const std::string& log_device) {
  std::string options = fmt::format("{}", fmt::join(spec.mount_options, ","));
  if (!log_device.empty()) options += (options.empty() ? "" : ",") + fmt::format("logdev={}", log_device);
  return options;
}

}  // namespace spillway::real
