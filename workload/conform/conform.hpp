#pragma once
/// Does the simulated controller decide as a real kernel did? Each line of a kernel's traces holds the inputs of one
/// decision and what the kernel made of them; the same pure functions that the simulated box runs (sim/memory/) are fed
/// with the inputs and their results held against the kernel's, to the page and to the jiffy.

#include "workload/conform/trace_table.hpp"

#include <string>
#include <vector>

namespace spillway::conform {

/// One decision that came out otherwise.
struct Divergence {
  std::string file;
  int line = 0;          ///< 1-based, in the file
  double t_s = 0;        ///< CLOCK_MONOTONIC
  std::string what;      ///< a sentence with the inputs, the kernel's result and ours
};

struct Check {
  std::string name;              ///< "pauses", "task rates", "balanced rates", ...
  std::int64_t checked = 0, exact = 0;
  double required_pct = 100;     ///< of `checked` that must be exact
  std::string why_not_all;       ///< where fewer than all are required: why
  std::vector<Divergence> diverged;  ///< the first few
  [[nodiscard]] bool met() const { return static_cast<double>(exact) * 100 >= required_pct * static_cast<double>(checked); }
};

struct Conformance {
  int hz = 0;
  std::int64_t decisions = 0;          ///< lines of bdp.csv
  std::int64_t decisions_not_exact = 0;  ///< of these without the kernel's own variables: not judged
  std::int64_t updates = 0;            ///< lines of ratelimit.csv
  std::vector<Check> checks;
  /// Nothing was checked, or a check is not met.
  [[nodiscard]] bool met() const;
  /// The earliest divergence of all checks.
  [[nodiscard]] const Divergence* first() const;
};

/// `decisions` is bdp.csv, `updates` is ratelimit.csv of the same run; either may be null. `pauses_pct`: how many of the
/// pauses must be exact. `hz` is used where the trace does not say it (0: then it must).
Result<Conformance> conform(const TraceTable* decisions, const TraceTable* updates, int hz, double pauses_pct);

/// The counts as a table of at most 72 columns, and the first divergence.
std::string conformance_text(const Conformance& result);

}  // namespace spillway::conform
