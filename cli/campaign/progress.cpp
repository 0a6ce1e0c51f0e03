#include "cli/campaign/progress.hpp"

#include <algorithm>
#include <fmt/core.h>

namespace spillway::campaign {

std::optional<Duration> time_left(const Progress& progress) {
  if (progress.run == 0 || progress.total < progress.ended()) return std::nullopt;
  const auto remaining = static_cast<double>(progress.total - progress.ended());
  return Duration{static_cast<std::int64_t>(static_cast<double>(progress.elapsed.count()) / static_cast<double>(progress.run) * remaining)};
}

std::string progress_text(const Progress& progress) {
  std::string text = fmt::format("{} of {}", progress.ended(), progress.total);
  if (progress.kept > 0) text += fmt::format(" ({} kept)", progress.kept);
  if (progress.failed > 0) text += fmt::format(", {} failed", progress.failed);
  const auto left = time_left(progress);
  if (!left) return text;
  const double seconds = std::max(to_seconds(progress.elapsed), 1e-9);
  const double per_second = static_cast<double>(progress.run) / seconds;
  if (per_second >= 1) text += fmt::format(", {:.0f} a second", per_second);
  else if (per_second * 60 >= 1) text += fmt::format(", {:.1f} a minute", per_second * 60);
  else text += fmt::format(", {:.1f} an hour", per_second * 3600);
  if (progress.ended() < progress.total) text += fmt::format(", {} left", duration_text(*left));
  return text;
}

std::string duration_text(Duration duration) {
  const auto seconds = static_cast<std::int64_t>(to_seconds(duration) + 0.5);
  if (seconds < 60) return fmt::format("{} s", seconds);
  if (seconds < 3600) return fmt::format("{} min {:02} s", seconds / 60, seconds % 60);
  return fmt::format("{} h {:02} min", seconds / 3600, seconds / 60 % 60);
}

}  // namespace spillway::campaign
