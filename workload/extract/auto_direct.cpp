#include "workload/extract/auto_direct.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <string_view>

#include "workload/extract/fd.hpp"

namespace spillway::extract {

bool auto_direct(const DirtyState& state, Bytes size, DirectPays pays) {
  if (pays == DirectPays::no || size < kAutoDirectFrom) return false;
  return state.dirty + state.writeback + to_pages_ceil(size) > state.freerun();
}

std::optional<DirtyState> read_dirty_state() {
  const Fd fd{::open("/proc/vmstat", O_RDONLY | O_CLOEXEC)};
  if (!fd) return std::nullopt;
  char text[16384];
  std::size_t length = 0;
  for (;;) {
    const ssize_t got = ::read(fd.get(), text + length, sizeof text - length);
    if (got <= 0) break;
    length += static_cast<std::size_t>(got);
  }
  const std::string_view all(text, length);
  const auto value = [all](std::string_view key) -> std::optional<Pages> {
    std::size_t at = 0;
    while (at < all.size()) {
      std::size_t end = all.find('\n', at);
      if (end == std::string_view::npos) end = all.size();
      const std::string_view line = all.substr(at, end - at);
      at = end + 1;
      if (!line.starts_with(key) || line.size() <= key.size() || line[key.size()] != ' ') continue;
      std::int64_t number = 0;
      const char* first = line.data() + key.size() + 1;
      if (std::from_chars(first, line.data() + line.size(), number).ec == std::errc{}) return Pages{number};
    }
    return std::nullopt;
  };
  const auto dirty = value("nr_dirty");
  const auto writeback = value("nr_writeback");
  const auto limit = value("nr_dirty_threshold");
  const auto background = value("nr_dirty_background_threshold");
  if (!dirty || !writeback || !limit || !background) return std::nullopt;
  return DirtyState{*dirty, *writeback, *limit, *background};
}

}  // namespace spillway::extract
