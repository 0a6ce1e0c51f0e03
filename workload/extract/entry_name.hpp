#pragma once
/// Names from an archive are made safe here, before anything touches a disk. Pure.

#include <expected>
#include <string>
#include <string_view>

namespace spillway::extract {

/// A name below the target: components joined by single slashes; no ".", no "..", no leading or trailing slash. Empty
/// for the target directory itself ("./").
struct CleanName {
  std::string path;
  int depth = 0;          ///< number of components
  bool was_absolute = false;
  bool trailing_slash = false;
};

enum class NameRefusal : unsigned char {
  empty,    ///< no name at all
  dot_dot,  ///< has a ".." component, wherever it would lead
  nul,      ///< has a NUL byte (pax records can)
};

[[nodiscard]] std::expected<CleanName, NameRefusal> clean_name(std::string_view raw);

/// The sentence for a report.
[[nodiscard]] std::string_view sentence(NameRefusal refusal);

/// "a/b" of "a/b/c"; "" of "c".
[[nodiscard]] std::string_view parent_of(std::string_view clean_path);
/// "c" of "a/b/c".
[[nodiscard]] std::string_view base_of(std::string_view clean_path);

}  // namespace spillway::extract
