#pragma once
/// Apples and oranges: may these two records be held against each other at all?

#include <optional>
#include <string>
#include <vector>

#include "workload/record/record.hpp"

namespace spillway::analysis {

/// Why a comparison of work would mean nothing: other numbers of untars, other archives, other jobs. One sentence; empty: fine.
/// What differs in settings is the point of a comparison and no reason.
std::optional<std::string> why_not_comparable(const Record& a, const Record& b);

/// Why a simulation may not be scored against a real run: it must be the same experiment but for box and target. One
/// sentence that names the keys; empty: fine.
std::optional<std::string> why_not_same_experiment(const Record& real, const Record& simulated);

/// Dotted keys in which two effective experiments differ, words and box left out: "memory.dirty_bytes (500MB, 1GB)".
std::vector<std::string> differing_keys(const Record& a, const Record& b);

}  // namespace spillway::analysis
