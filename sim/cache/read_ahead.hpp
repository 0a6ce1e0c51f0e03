#pragma once
/// Read-ahead of one open file, window by window. mm/readahead.c, ondemand_readahead() (4.18; recollection).
///
/// A sequential reader that misses gets a window; the window's marker, when the reader comes to it, starts the next one
/// while this one is still being read. Windows double up to the limit. A reader that jumps gets what it asked for, no more.

#include <algorithm>
#include <bit>
#include <cstdint>

namespace spillway::sim {

/// The first window for a request of `request` pages. get_init_ra_size().
[[nodiscard]] constexpr std::int64_t initial_window(std::int64_t request, std::int64_t limit) {
  const auto size = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(request, 1))));
  if (size <= limit / 32) return size * 4;
  if (size <= limit / 4) return size * 2;
  return limit;
}

/// The window after one of `window` pages. get_next_ra_size().
[[nodiscard]] constexpr std::int64_t next_window(std::int64_t window, std::int64_t limit) {
  return std::min(window < limit / 16 ? 4 * window : 2 * window, limit);
}

class ReadAhead {
 public:
  /// `setting`: pages of read_ahead_kb; a request larger than that may read ahead up to `io_pages` (the largest request of
  /// the device) at once.
  ReadAhead(std::int64_t setting, std::int64_t io_pages) : setting_(std::max<std::int64_t>(setting, 1)), io_pages_(io_pages) {}

  struct Window {
    std::int64_t first = 0, end = 0;
  };
  /// The reader needs `page`, which is not cached, out of a request that has `request` pages left.
  Window missed(std::int64_t page, std::int64_t request) {
    const std::int64_t limit = limit_for(request);
    if (page != 0 && page != next_expected_) {  // a jump: no state
      next_expected_ = page + request;
      size_ = async_ = 0;
      start_ = page;
      return {page, page + std::min(request, limit)};
    }
    if (size_ > 0 && page == start_ + size_) {
      start_ = page;
      size_ = async_ = next_window(size_, limit);
    } else {
      start_ = page;
      size_ = initial_window(request, limit);
      async_ = size_ > request ? size_ - request : size_;
    }
    return {start_, start_ + size_};
  }
  /// Where the reader must come to for the next window to start.
  [[nodiscard]] std::int64_t marker() const { return size_ > 0 ? start_ + size_ - async_ : INT64_MAX; }
  /// The reader came to the marker.
  Window came_to_marker(std::int64_t request) {
    start_ += size_;
    size_ = async_ = next_window(size_, limit_for(request));
    return {start_, start_ + size_};
  }
  /// The reader read up to `page`.
  void read_to(std::int64_t page) { next_expected_ = page; }

 private:
  [[nodiscard]] std::int64_t limit_for(std::int64_t request) const {
    return request > setting_ && io_pages_ > setting_ ? std::min(request, io_pages_) : setting_;
  }
  std::int64_t setting_, io_pages_;
  std::int64_t start_ = 0, size_ = 0, async_ = 0;
  std::int64_t next_expected_ = 0;
};

}  // namespace spillway::sim
