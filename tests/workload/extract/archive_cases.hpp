#pragma once
/// Archives that broke an extractor somewhere, made byte by byte, with what ours does: one table row each. The names
/// (A01 ...) are those of the list of published cases; the source of each is in the row.

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "workload/extract/options.hpp"
#include "workload/extract/report.hpp"

namespace spillway::test {

enum class Outcome {
  good,      ///< all extracted, nothing to say but perhaps a warning
  errors,    ///< the rest is extracted, some members are errors
  cut,       ///< the archive could not be read to its end
};

/// Do GNU tar and bsdtar make the same tree as we do?
enum class Peers {
  same,      ///< where the two agree, we agree with them
  differ,    ///< on purpose; `why` says so
};

struct ArchiveCase {
  std::string id{};
  std::string what{};
  std::string source{};
  std::string bytes{};                              ///< the archive
  Outcome outcome = Outcome::good;
  std::vector<std::string> tree{};                  ///< lines "path kind [content or -> target]", sorted
  std::string message{};                            ///< part of an error, or of a warning when the outcome is good
  Peers peers = Peers::same;
  std::string why{};
  std::function<void(const std::filesystem::path& target, const std::filesystem::path& outside)> before{};
  std::function<void(extract::ExtractOptions&)> options{};
  std::function<std::string(const std::filesystem::path& target, const extract::ExtractReport&)> also{};  ///< "" is good
};

/// `outside`: an absolute directory beside the target that hostile members aim at.
[[nodiscard]] std::vector<ArchiveCase> archive_cases(const std::filesystem::path& outside);

}  // namespace spillway::test
