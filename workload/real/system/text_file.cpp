#include "workload/real/system/text_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

namespace spillway::real {

Result<std::string> read_text(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fail(ErrorKind::refused, fmt::format("cannot read {}: {}", path, std::strerror(errno)), errno);
  std::string text;
  char buffer[16384];
  for (;;) {
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const int error = errno;
      ::close(fd);
      return fail(ErrorKind::refused, fmt::format("cannot read {}: {}", path, std::strerror(error)), error);
    }
    if (n == 0) break;
    text.append(buffer, static_cast<std::size_t>(n));
  }
  ::close(fd);
  return text;
}

Result<std::string> read_line(const std::string& path) {
  SPILLWAY_ASSIGN(std::string text, read_text(path));
  return std::string{trimmed(text)};
}

std::optional<std::int64_t> read_number(const std::string& path) {
  const auto text = read_text(path);
  if (!text) return std::nullopt;
  return first_number(*text);
}

Status write_text(const std::string& path, std::string_view value) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0)
    return fail(ErrorKind::refused, fmt::format("cannot open {} to write '{}': {}", path, value, std::strerror(errno)),
                errno);
  ssize_t n = 0;
  do n = ::write(fd, value.data(), value.size());
  while (n < 0 && errno == EINTR);
  const int error = n < 0 ? errno : 0;
  ::close(fd);
  if (n != static_cast<ssize_t>(value.size()))
    return fail(ErrorKind::refused,
                fmt::format("the kernel refused '{}' in {}: {}", value, path, error ? std::strerror(error) : "short write"),
                error);
  return {};
}

std::optional<std::int64_t> first_number(std::string_view text) {
  std::size_t at = text.find_first_of("-0123456789");
  while (at != std::string_view::npos) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), value);
    if (error == std::errc{}) return value;
    at = text.find_first_of("-0123456789", at + 1);
  }
  return std::nullopt;
}

std::optional<std::int64_t> table_number(std::string_view table, std::string_view key) {
  for (std::size_t at = 0; at < table.size();) {
    const std::size_t end = table.find('\n', at);
    const std::string_view line = table.substr(at, end == std::string_view::npos ? end : end - at);
    if (line.starts_with(key) && line.size() > key.size()) {
      const char next = line[key.size()];
      if (next == ' ' || next == ':' || next == '\t') return first_number(line.substr(key.size()));
    }
    if (end == std::string_view::npos) break;
    at = end + 1;
  }
  return std::nullopt;
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  for (;;) {
    const std::size_t begin = text.find_first_not_of(" \t\n");
    if (begin == std::string_view::npos) return words;
    text.remove_prefix(begin);
    const std::size_t end = text.find_first_of(" \t\n");
    words.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return words;
    text.remove_prefix(end);
  }
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

}  // namespace spillway::real
