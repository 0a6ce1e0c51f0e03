#pragma once
/// Names of metrics: what an expectation, a sweep's objective or a report asks of a record. One table; `spillway keys`
/// lists it, the experiment parser checks names with it, analysis/ computes the values.
///
/// A name is GROUP[SELECTOR].FIELD, for example "untar[8].elapsed_s", "phase[sync].elapsed_s", "job[dd].mb_per_s",
/// "total.durable_s", or one word ("bottleneck"). A selector is a number from 1, `first`, `last`, `all`, or a name.

#include "sim/result.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace spillway {

struct MetricInfo {
  std::string_view group;     ///< "untar"
  std::string_view selector;  ///< "K|first|last|all"; empty: the group takes none
  std::string_view field;     ///< "elapsed_s"; empty: the group is the whole name
  std::string_view unit;      ///< "s", "%", "MB/s", "count", "account key"
  std::string_view meaning;
  /// Which way is better for whoever waits: -1 smaller, +1 larger, 0 neither.
  int better = 0;
};

/// Every metric, grouped, in the order in which they are listed.
std::span<const MetricInfo> all_metrics();

struct MetricName {
  std::string group;
  std::string selector;  ///< as written; empty where the group takes none
  std::string field;     ///< empty for one-word metrics
  const MetricInfo* info = nullptr;

  /// The selector as a number from 1, when it is one.
  [[nodiscard]] std::optional<int> number() const;
  [[nodiscard]] std::string text() const;
};

/// The error says what is wrong with the name and what is near it. An account field may be written without its unit
/// ("untar[8].throttled" is "untar[8].throttled_s").
Result<MetricName> parse_metric(std::string_view text);

/// Keys of the account of time, in its order: user, system, runqueue, throttled, device, lock, log, unknown.
std::span<const std::string_view> account_keys();

/// Insertions, deletions, replacements and swaps of neighbours between two words; for "the nearest is".
int edit_distance(std::string_view a, std::string_view b);

}  // namespace spillway
