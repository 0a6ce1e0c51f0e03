#include "analysis/compare/comparable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "analysis/quantity.hpp"
#include "analysis/verdict/case_selection.hpp"

namespace spillway::analysis {
namespace {

using Json = nlohmann::ordered_json;

/// Sections and keys that do not say what was asked of the box.
constexpr std::array<std::string_view, 10> kBeside{"title", "name", "question", "repeats", "order", "seed", "expect", "box", "target", "sweep"};

std::string text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

void flatten(const Json& value, const std::string& path, std::vector<std::pair<std::string, std::string>>& out) {
  if (!value.is_object()) {
    if (!value.is_null()) out.emplace_back(path, text_of(value));
    return;
  }
  for (const auto& [key, member] : value.items()) {
    if (path.empty() && std::ranges::find(kBeside, key) != kBeside.end()) continue;
    flatten(member, path.empty() ? key : path + "." + key, out);
  }
}

std::string work_of(const Record& record) {
  if (record.untars.empty()) return fmt::format("{} jobs, {} stages", record.jobs.size(), record.stages.size());
  const UntarResult& first = record.untars.front();
  return fmt::format("{} untars of {:.0f} MB in {} files", record.untars.size(), static_cast<double>(first.bytes) / 1e6, first.files);
}

}  // namespace

std::optional<std::string> why_not_comparable(const Record& a, const Record& b) {
  const bool same_count = a.untars.size() == b.untars.size() && a.jobs.size() == b.jobs.size() && a.stages.size() == b.stages.size();
  bool same_data = same_count;
  for (std::size_t i = 0; same_data && i < a.untars.size(); ++i) {
    const auto x = static_cast<double>(a.untars[i].bytes);
    const auto y = static_cast<double>(b.untars[i].bytes);
    same_data = std::abs(x - y) <= 0.001 * std::max(x, y);
  }
  for (std::size_t i = 0; same_data && i < a.jobs.size(); ++i) same_data = a.jobs[i].name == b.jobs[i].name;
  if (same_data) return std::nullopt;
  return fmt::format("these are apples and oranges: one record has {}, the other {}", work_of(a), work_of(b));
}

std::vector<std::string> differing_keys(const Record& a, const Record& b) {
  std::vector<std::pair<std::string, std::string>> left;
  std::vector<std::pair<std::string, std::string>> right;
  flatten(a.experiment, "", left);
  flatten(b.experiment, "", right);
  std::set<std::string> keys;
  for (const auto& [key, value] : left) keys.insert(key);
  for (const auto& [key, value] : right) keys.insert(key);
  std::vector<std::string> found;
  for (const std::string& key : keys) {
    const auto x = text_at(a.experiment, key);
    const auto y = text_at(b.experiment, key);
    if (x && y && same_value(*x, *y)) continue;
    found.push_back(fmt::format("{} ({}, {})", key, x.value_or("unset"), y.value_or("unset")));
  }
  return found;
}

std::optional<std::string> why_not_same_experiment(const Record& real, const Record& simulated) {
  if (const auto why = why_not_comparable(real, simulated)) return why;
  const std::vector<std::string> keys = differing_keys(real, simulated);
  if (keys.empty()) return std::nullopt;
  std::string list;
  for (std::size_t i = 0; i < keys.size() && i < 4; ++i) list += (i == 0 ? "" : ", ") + keys[i];
  if (keys.size() > 4) list += fmt::format(" and {} more", keys.size() - 4);
  return fmt::format("these are not the same experiment: they differ in {}", list);
}

}  // namespace spillway::analysis
