#pragma once
/// Records side by side: for each untar, phase and total the value of either side and the ratio with its interval.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/statistics/two_samples.hpp"
#include "sim/result.hpp"
#include "workload/record/record.hpp"

namespace spillway::analysis {

struct ComparedRow {
  std::string what;                  ///< "untar 3", "sync", "untars end", "durable", "CPU s in all"
  std::string unit;
  double a = 0, b = 0;               ///< geometric means over the repeats
  double ratio = 1;                  ///< b / a
  std::optional<Interval> interval;  ///< of the ratio; with two repeats a side and more
  std::optional<double> p;           ///< corrected for the number of rows (Holm)
};

struct Comparison {
  std::string a_name, b_name;
  std::size_t a_repeats = 0, b_repeats = 0;
  std::vector<ComparedRow> rows;
  std::vector<std::string> differences;  ///< settings in which they differ
};

struct CompareOptions {
  double level = 0.95;
  bool force = false;  ///< compare apples and oranges all the same
};

/// Repeats of one case on either side. Refused with a sentence where the work differs, unless forced.
Result<Comparison> compare_records(std::span<const Record* const> a, std::span<const Record* const> b, const CompareOptions& options = {});

/// At most 72 columns.
std::string comparison_table(const Comparison& comparison);

}  // namespace spillway::analysis
