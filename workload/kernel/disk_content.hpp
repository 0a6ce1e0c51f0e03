#pragma once
/// What a virtual disk holds, 4 KiB at a time. A page whose bytes are all equal costs nothing, which the replayed files
/// are; so a disk of any size fits.

#include "sim/units.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

namespace spillway::kernel {

class DiskContent {
 public:
  explicit DiskContent(Bytes size) : fill_(static_cast<std::size_t>((size.value() + kPage - 1) / kPage)) {}

  /// Any offset and length inside the disk.
  void write(std::int64_t offset, std::span<const std::byte> bytes);
  void read(std::int64_t offset, std::span<std::byte> bytes) const;
  /// Pages that are really kept.
  [[nodiscard]] std::size_t kept_pages() const { return pages_.size(); }

 private:
  static constexpr std::int64_t kPage = 4096;
  using Page = std::array<std::byte, kPage>;
  std::vector<std::byte> fill_;                                     // the byte of a page that is not kept
  std::unordered_map<std::int64_t, std::unique_ptr<Page>> pages_;   // looked up only, never walked
};

}  // namespace spillway::kernel
