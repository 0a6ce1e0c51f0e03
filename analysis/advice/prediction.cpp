#include "analysis/advice/prediction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analysis/metrics/metric_value.hpp"
#include "analysis/statistics/summary.hpp"
#include "analysis/statistics/two_samples.hpp"
#include "analysis/verdict/case_selection.hpp"

namespace spillway::analysis {
namespace {

constexpr double kLevel = 0.95;
constexpr std::size_t kLeastForInterval = 3;

bool is_case(const Record& record, const Settings& settings) {
  return std::ranges::all_of(settings, [&](const auto& one) {
    const auto at = std::ranges::find(record.case_keys, one.first, &std::pair<std::string, std::string>::first);
    return at != record.case_keys.end() && same_value(at->second, one.second);
  });
}

std::string time_of(const Record& record) { return record.host.is_object() ? record.host.value("wall_clock", std::string{}) : std::string{}; }

}  // namespace

std::string settings_words(const Settings& settings) {
  std::string text;
  for (const auto& [key, value] : settings) text += fmt::format("{}{}={}", text.empty() ? "" : " ", key, value);
  return text.empty() ? "nothing" : text;
}

std::vector<Score> score(const Prediction& prediction, std::span<const Record> records, std::vector<std::string>* left_out) {
  struct Sides {
    std::vector<double> base, advised;
    std::string latest;
  };
  std::map<std::string, Sides> boxes;
  std::size_t old = 0;
  for (const Record& record : records) {
    if (!record.complete || is_simulated(record) || record.experiment_name != prediction.check) continue;
    const bool base = is_case(record, prediction.base);
    if (!base && !is_case(record, prediction.advised)) continue;
    const std::string time = time_of(record);
    if (time.empty() || time < prediction.made) {
      ++old;
      continue;
    }
    const auto value = metric_value(record, prediction.metric);
    if (!value) continue;
    Sides& sides = boxes[box_label(record)];
    (base ? sides.base : sides.advised).push_back(*value);
    sides.latest = std::max(sides.latest, time);
  }
  if (old > 0 && left_out != nullptr) {
    left_out->push_back(fmt::format("{} record{} of {} {} older than prediction {} and not counted", old, old == 1 ? "" : "s", prediction.check, old == 1 ? "is" : "are", prediction.id));
  }
  std::vector<Score> scores;
  for (const auto& [box, sides] : boxes) {
    if (sides.base.empty() || sides.advised.empty() || mean_of(sides.base) <= 0) continue;
    Score one{.id = prediction.id, .box = box, .made = sides.latest, .ratio = mean_of(sides.advised) / mean_of(sides.base), .interval = {},
              .repeats = std::min(sides.base.size(), sides.advised.size())};
    if (one.repeats >= kLeastForInterval) {
      if (const auto found = ratio_of(sides.base, sides.advised, kLevel)) {
        one.ratio = found->ratio;
        one.interval = found->interval;
      }
    }
    const double promised = 1.0 - prediction.ratio();
    one.share_of_gain = promised != 0 ? (1.0 - one.ratio) / promised : 0;
    const double low = one.interval ? one.interval->low : one.ratio;
    const double high = one.interval ? one.interval->high : one.ratio;
    one.inside = low <= prediction.high && prediction.low <= high;
    scores.push_back(one);
  }
  return scores;
}

}  // namespace spillway::analysis
