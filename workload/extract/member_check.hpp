#pragma once
/// What is checked about a member before it is given to a writer: its name and the limits. Pure; the same for every
/// engine and any number of writers.

#include <optional>
#include <variant>

#include "workload/extract/entry.hpp"
#include "workload/extract/entry_name.hpp"
#include "workload/extract/options.hpp"

namespace spillway::extract {

class MemberCheck {
 public:
  explicit MemberCheck(const Limits& limits) : limits_(limits) {}

  struct Verdict {
    std::optional<CleanName> name;  ///< set: extract it under this name
    std::string refusal;            ///< else: why this member is left out
    bool first_absolute = false;    ///< the first member whose leading "/" was removed
    std::string stop;               ///< not empty: a limit was reached, nothing further is extracted
  };
  [[nodiscard]] Verdict check(const Entry& entry);

  /// `arrived` bytes of the last checked member's data have come so far, the last of them for the file's byte `end` - 1.
  /// What a header does not promise counts against the limits as well: else a small zip could fill a disk.
  /// Not empty: a limit is reached, nothing further is extracted.
  [[nodiscard]] std::string check_data(std::int64_t arrived, std::int64_t end);

 private:
  Limits limits_;
  std::int64_t entries_ = 0;
  std::int64_t bytes_ = 0;      ///< of all members, the current one's promise included
  std::int64_t promised_ = 0;   ///< of bytes_, the current member's
  bool slash_removed_ = false;
};

inline constexpr std::string_view kSlashRemoved = "The leading \"/\" of member names is removed.";

}  // namespace spillway::extract
