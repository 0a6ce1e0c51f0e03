#include "workload/kernel/disk_content.hpp"

#include <algorithm>
#include <cstring>

namespace spillway::kernel {

void DiskContent::write(std::int64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::int64_t page = offset / kPage, within = offset % kPage;
    const auto piece = bytes.first(std::min(bytes.size(), static_cast<std::size_t>(kPage - within)));
    auto& fill = fill_[static_cast<std::size_t>(page)];
    const bool whole = piece.size() == static_cast<std::size_t>(kPage);
    if (whole && std::memcmp(piece.data(), piece.data() + 1, piece.size() - 1) == 0) {
      fill = piece[0];
      pages_.erase(page);
    } else {
      auto& kept = pages_[page];
      if (!kept) {
        kept = std::make_unique<Page>();
        kept->fill(fill);
      }
      std::memcpy(kept->data() + within, piece.data(), piece.size());
    }
    bytes = bytes.subspan(piece.size());
    offset += static_cast<std::int64_t>(piece.size());
  }
}

void DiskContent::read(std::int64_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const std::int64_t page = offset / kPage, within = offset % kPage;
    const auto piece = bytes.first(std::min(bytes.size(), static_cast<std::size_t>(kPage - within)));
    if (const auto kept = pages_.find(page); kept != pages_.end()) {
      std::memcpy(piece.data(), kept->second->data() + within, piece.size());
    } else {
      std::fill(piece.begin(), piece.end(), fill_[static_cast<std::size_t>(page)]);
    }
    bytes = bytes.subspan(piece.size());
    offset += static_cast<std::int64_t>(piece.size());
  }
}

}  // namespace spillway::kernel
