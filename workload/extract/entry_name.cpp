#include "workload/extract/entry_name.hpp"

namespace spillway::extract {

std::expected<CleanName, NameRefusal> clean_name(std::string_view raw) {
  if (raw.empty()) return std::unexpected(NameRefusal::empty);
  if (raw.find('\0') != std::string_view::npos) return std::unexpected(NameRefusal::nul);
  CleanName clean;
  clean.was_absolute = raw.front() == '/';
  clean.trailing_slash = raw.back() == '/';
  clean.path.reserve(raw.size());
  std::size_t at = 0;
  while (at < raw.size()) {
    std::size_t end = raw.find('/', at);
    if (end == std::string_view::npos) end = raw.size();
    const std::string_view component = raw.substr(at, end - at);
    at = end + 1;
    if (component.empty() || component == ".") continue;
    if (component == "..") return std::unexpected(NameRefusal::dot_dot);
    if (!clean.path.empty()) clean.path += '/';
    clean.path += component;
    ++clean.depth;
  }
  return clean;
}

std::string_view sentence(NameRefusal refusal) {
  switch (refusal) {
    case NameRefusal::empty: return "The member has no name; it was not extracted.";
    case NameRefusal::dot_dot: return "The name contains \"..\"; it was not extracted.";
    case NameRefusal::nul: return "The name contains a NUL byte; it was not extracted.";
  }
  return "";
}

std::string_view parent_of(std::string_view clean_path) {
  const std::size_t slash = clean_path.rfind('/');
  return slash == std::string_view::npos ? std::string_view{} : clean_path.substr(0, slash);
}

std::string_view base_of(std::string_view clean_path) {
  const std::size_t slash = clean_path.rfind('/');
  return slash == std::string_view::npos ? clean_path : clean_path.substr(slash + 1);
}

}  // namespace spillway::extract
