#pragma once
/// The unit of a campaign: one repeat of one case. A point's number, its seed and its place in the table depend on the
/// experiment only, never on the order in which points are run, on threads, shards or interruptions.

#include "sim/result.hpp"
#include "workload/box.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

namespace spillway::campaign {

struct Point {
  std::size_t case_index = 0;  ///< in written order, from 0
  int repeat = 1;              ///< from 1
  friend auto operator<=>(const Point&, const Point&) = default;
};

/// The cases of an experiment, one at a time, so that a sweep of 100,000 cases need not be in memory at once.
struct CaseSource {
  std::size_t count = 0;
  /// Must give the same case for the same index every time; called from several threads at once.
  std::function<Result<Case>(std::size_t)> at;
};

/// Cases that are in memory already; `cases` must outlive the source.
CaseSource source_of(const std::vector<Case>& cases);

/// Seed of a repeat. All cases share the seed of repeat N (common random numbers), so that a difference between two
/// cases is not hidden behind two different draws; repeats differ.
std::uint64_t seed_of_repeat(std::uint64_t campaign_seed, int repeat);
/// The same for a case: where `seed` is swept, the case's own stands for the campaign's.
std::uint64_t seed_of_repeat(const Case& item, std::uint64_t campaign_seed, int repeat);

/// `--shard i/n`: this process does the points with number % n == i - 1. Points are numbered case by case, repeat by
/// repeat, so neighbours in a sweep, which take about as long as each other, go to different shards.
struct Shard {
  int index = 1;  ///< from 1
  int count = 1;
  [[nodiscard]] bool whole() const { return count == 1; }
  [[nodiscard]] bool holds(Point point, int repeats) const;
};

/// "2/8" as typed. Bad input: a sentence with an example.
Result<Shard> parse_shard(std::string_view text);

}  // namespace spillway::campaign
