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

 private:
  Limits limits_;
  std::int64_t entries_ = 0;
  std::int64_t bytes_ = 0;
  bool slash_removed_ = false;
};

inline constexpr std::string_view kSlashRemoved = "The leading \"/\" of member names is removed.";

}  // namespace spillway::extract
