#pragma once
/// Records sorted into cases, and the cases that an expectation means by `of` and `versus`.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "workload/record/record.hpp"
#include "workload/record/expectation.hpp"

namespace spillway::analysis {

/// All repeats of one case in one box, in the order of their repeats.
struct CaseRecords {
  std::vector<std::pair<std::string, std::string>> keys;  ///< swept keys and values
  std::string box;                                        ///< box_label()
  bool simulated = false;
  std::vector<const Record*> repeats;
  /// "memory.dirty_bytes=1GB, replay.at_once=4", or "the only case".
  [[nodiscard]] std::string name() const;
};

/// "simulated", "real:loop", "kernel:6.12", "vm": the kind, and the target or name where there is one.
std::string box_label(const Record& record);
bool is_simulated(const Record& record);

/// Incomplete records are left out. Cases are in the order of their first record. The records must outlive the result.
std::vector<CaseRecords> group_by_case(std::span<const Record> records);

/// The value of a key in a case, as text: swept values first, then the effective experiment. Empty: not set there.
std::optional<std::string> case_value(const CaseRecords& item, std::string_view key);

/// Equal as text, or equal as quantities: "1GB" is "1000MB", "0.5" is ".5". Units must be of the same kind.
bool same_value(std::string_view a, std::string_view b);

bool matches(const CaseRecords& item, const CaseSelector& selector);

/// Same box, and the same value of every swept key that is not named in `free`.
bool same_but_for(const CaseRecords& a, const CaseRecords& b, const std::vector<std::string>& free);

}  // namespace spillway::analysis
