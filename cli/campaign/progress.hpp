#pragma once
/// How far a campaign is: rate and time left from the points that this call has run (points kept from an earlier call
/// cost nothing and say nothing about the rate).

#include "sim/units.hpp"

#include <cstddef>
#include <optional>
#include <string>

namespace spillway::campaign {

struct Progress {
  std::size_t total = 0;   ///< points of this shard
  std::size_t kept = 0;    ///< done before this call
  std::size_t run = 0;     ///< done by this call, failed ones included
  std::size_t failed = 0;
  Duration elapsed{0};     ///< of this call
  [[nodiscard]] std::size_t ended() const { return kept + run; }
};

/// Mean over this call; none before the first point has ended.
std::optional<Duration> time_left(const Progress& progress);

/// "12 of 100 (5 kept), 3.1 a minute, 28 min left".
std::string progress_text(const Progress& progress);

/// "45 s", "3 min 20 s", "2 h 05 min": for people.
std::string duration_text(Duration duration);

}  // namespace spillway::campaign
