#include "cli/campaign/point.hpp"

#include <charconv>
#include <fmt/core.h>

namespace spillway::campaign {

CaseSource source_of(const std::vector<Case>& cases) {
  return {cases.size(), [&cases](std::size_t index) -> Result<Case> { return cases.at(index); }};
}

std::uint64_t seed_of_repeat(std::uint64_t campaign_seed, int repeat) {
  if (repeat == 1) return campaign_seed;  // One repeat is the run that --seed names.
  // splitmix64 (Steele, Lea, Flood 2014): neighbouring inputs give unrelated outputs.
  std::uint64_t z = campaign_seed + 0x9e3779b97f4a7c15ULL * static_cast<std::uint64_t>(repeat);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return (z ^ (z >> 31)) >> 1;  // 63 bits: TOML and JSON readers elsewhere keep it exact as a signed number.
}

bool Shard::holds(Point point, int repeats) const {
  const std::size_t number = point.case_index * static_cast<std::size_t>(repeats) + static_cast<std::size_t>(point.repeat - 1);
  return number % static_cast<std::size_t>(count) == static_cast<std::size_t>(index - 1);
}

Result<Shard> parse_shard(std::string_view text) {
  Shard shard;
  const char* const end = text.data() + text.size();
  const auto [slash, error] = std::from_chars(text.data(), end, shard.index);
  bool good = error == std::errc{} && slash != end && *slash == '/';
  if (good) {
    const auto [rest, second_error] = std::from_chars(slash + 1, end, shard.count);
    good = second_error == std::errc{} && rest == end;
  }
  if (!good || shard.count < 1 || shard.index < 1 || shard.index > shard.count) {
    return fail(ErrorKind::bad_input,
                fmt::format("--shard {}: expected i/n with 1 <= i <= n, for example --shard 2/8 for the second of eight", text));
  }
  return shard;
}

std::uint64_t seed_of_repeat(const Case& item, std::uint64_t campaign_seed, int repeat) {
  for (const auto& [key, value] : item.keys)
    if (key == "seed") return seed_of_repeat(item.experiment.seed, repeat);
  return seed_of_repeat(campaign_seed, repeat);
}

}  // namespace spillway::campaign
