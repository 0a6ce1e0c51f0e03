#include "sim/xfs/free_space.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "sim/check.hpp"

namespace spillway::sim::xfs {

namespace {

std::int64_t round_up(std::int64_t n, std::int64_t unit) { return (n + unit - 1) / unit * unit; }

}  // namespace

std::optional<Placement> place_near(AgBlock want, std::int64_t want_length, std::int64_t alignment, bool user_data,
                                    AgExtent free) {
  const AgBlock free_end = free.end(), want_end = want + want_length;
  std::optional<AgBlock> at;
  if (free.start >= want || (user_data && free_end < want_end)) {
    const AgBlock first = round_up(free.start, alignment);
    if (first < free_end) at = first;
  } else if (free_end >= want_end && alignment > 1) {
    const AgBlock above = round_up(want, alignment), below = above - alignment;
    const std::int64_t above_length = above < free_end ? std::min(want_length, free_end - above) : 0;
    const std::int64_t below_length = below >= free.start ? std::min(want_length, free_end - below) : 0;
    if (above_length > 0 && below_length > 0) {
      const bool take_below = above_length < below_length ||
                              (above_length == below_length && std::abs(above - want) > std::abs(below - want));
      at = take_below ? below : above;
    } else if (below_length > 0) {
      at = below;
    } else if (above_length > 0) {
      at = above;
    }
  } else if (free_end >= want_end) {
    at = want;
  } else if (alignment > 1) {
    AgBlock last = round_up(free_end - want_length, alignment);
    if (last > free_end - want_length && last - alignment >= free.start) last -= alignment;
    if (last < free_end) at = std::max(last, round_up(free.start, alignment));
  } else {
    at = std::max(free.start, free_end - want_length);
  }
  if (!at || *at >= free_end) return std::nullopt;
  return Placement{*at, std::abs(*at - want)};
}

FreeSpace::FreeSpace(AgBlock first, std::int64_t blocks) {
  if (blocks > first) insert({first, blocks - first});
}

int FreeSpace::class_of(std::int64_t length) { return std::bit_width(static_cast<std::uint64_t>(length)) - 1; }

void FreeSpace::insert(AgExtent e) {
  by_start_.emplace(e.start, e.length);
  by_size_.emplace(e.length, e.start);
  classes_[static_cast<std::size_t>(class_of(e.length))].insert(e.start);
  free_blocks_ += e.length;
}

void FreeSpace::erase(AgExtent e) {
  by_start_.erase(e.start);
  by_size_.erase({e.length, e.start});
  classes_[static_cast<std::size_t>(class_of(e.length))].erase(e.start);
  free_blocks_ -= e.length;
}

AgExtent FreeSpace::carve(AgExtent from, AgExtent taken) {
  SPILLWAY_CHECK(taken.length > 0 && taken.start >= from.start && taken.end() <= from.end(), "an allocation lies outside its free extent");
  erase(from);
  if (taken.start > from.start) insert({from.start, taken.start - from.start});
  if (taken.end() < from.end()) insert({taken.end(), from.end() - taken.end()});
  return taken;
}

std::int64_t FreeSpace::longest() const { return by_size_.empty() ? 0 : by_size_.rbegin()->first; }

std::optional<AgExtent> FreeSpace::take_exact(AgBlock at, std::int64_t min, std::int64_t max) {
  auto above = by_start_.upper_bound(at);
  if (above == by_start_.begin()) return std::nullopt;
  const auto [start, length] = *std::prev(above);
  const AgExtent from{start, length};
  const std::int64_t room = from.end() - at;
  if (room < min || room <= 0) return std::nullopt;
  return carve(from, {at, std::min(room, max)});
}

std::optional<FreeSpace::Found> FreeSpace::nearest(AgBlock want, std::int64_t length, std::int64_t alignment, bool user_data) const {
  std::optional<Found> best;
  const auto consider = [&](AgBlock start) {
    const AgExtent from{start, by_start_.find(start)->second};
    const auto place = place_near(want, length, alignment, user_data, from);
    if (!place || from.end() - place->at < length) return false;
    if (!best || place->distance < best->place.distance) best = {from, *place};
    return true;
  };
  for (int c = class_of(length); c < static_cast<int>(classes_.size()); ++c) {
    const auto& starts = classes_[static_cast<std::size_t>(c)];
    if (starts.empty()) continue;
    const auto middle = starts.lower_bound(want);
    // In one class the first that fits in either direction is the nearest of it.
    int looked = 0;
    for (auto it = middle; it != starts.end() && looked < kLook; ++it, ++looked) {
      if (best && *it - want > best->place.distance) break;
      if (consider(*it)) break;
    }
    looked = 0;
    for (auto it = middle; it != starts.begin() && looked < kLook; ++looked) {
      --it;
      // File data goes to the front of an extent that lies before the wanted block: its start tells the distance.
      if (consider(*it)) break;
    }
  }
  return best;
}

std::optional<AgExtent> FreeSpace::take_near(AgBlock want, std::int64_t min, std::int64_t max, std::int64_t alignment, bool user_data) {
  if (longest() < min) return std::nullopt;
  if (const auto found = nearest(want, max, alignment, user_data)) return carve(found->from, {found->place.at, max});
  if (min >= max) return std::nullopt;
  // Nothing holds all of it: the longest there is, cut to its alignment.
  for (auto it = by_size_.rbegin(); it != by_size_.rend() && it->first >= min; ++it) {
    const AgExtent from{it->second, it->first};
    const AgBlock at = round_up(from.start, alignment);
    const std::int64_t got = std::min(from.end() - at, max);
    if (got < min || got <= 0) continue;
    return carve(from, {at, got});
  }
  return std::nullopt;
}

std::optional<AgExtent> FreeSpace::take_by_size(std::int64_t min, std::int64_t max, std::int64_t alignment) {
  // The shortest that surely holds it aligned; it may begin aligned by chance in a shorter one, which the kernel also does
  // not look for.
  for (auto it = by_size_.lower_bound({max + alignment - 1, 0}); it != by_size_.end(); ++it) {
    const AgExtent from{it->second, it->first};
    return carve(from, {round_up(from.start, alignment), max});
  }
  for (auto it = by_size_.rbegin(); it != by_size_.rend() && it->first >= min; ++it) {
    const AgExtent from{it->second, it->first};
    const AgBlock at = round_up(from.start, alignment);
    const std::int64_t got = std::min(from.end() - at, max);
    if (got >= min && got > 0) return carve(from, {at, got});
  }
  return std::nullopt;
}

void FreeSpace::give(AgExtent extent) {
  if (extent.length <= 0) return;
  auto above = by_start_.lower_bound(extent.start);
  SPILLWAY_CHECK(above == by_start_.end() || above->first >= extent.end(), "freed blocks are free already");
  if (above != by_start_.begin()) {
    const auto below = std::prev(above);
    SPILLWAY_CHECK(below->first + below->second <= extent.start, "freed blocks are free already");
    if (below->first + below->second == extent.start) {
      const AgExtent joined{below->first, below->second};
      erase(joined);
      extent = {joined.start, joined.length + extent.length};
      above = by_start_.lower_bound(extent.end());
    }
  }
  if (above != by_start_.end() && above->first == extent.end()) {
    const AgExtent joined{above->first, above->second};
    erase(joined);
    extent.length += joined.length;
  }
  insert(extent);
}

std::array<std::int64_t, 40> FreeSpace::size_classes() const {
  std::array<std::int64_t, 40> out{};
  for (std::size_t c = 0; c < classes_.size(); ++c) out[c] = static_cast<std::int64_t>(classes_[c].size());
  return out;
}

}  // namespace spillway::sim::xfs
