#include "analysis/verdict/case_selection.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace spillway::analysis {
namespace {

struct Unit {
  std::string_view text;
  char kind;  ///< bytes, rate, time, percent, or a plain number
  double factor;
};
constexpr std::array<Unit, 22> kUnits{{{"", 'n', 1},          {"B", 'b', 1},           {"kB", 'b', 1e3},
                                       {"MB", 'b', 1e6},      {"GB", 'b', 1e9},        {"TB", 'b', 1e12},
                                       {"KiB", 'b', 1024},    {"MiB", 'b', 1048576},   {"GiB", 'b', 1073741824},
                                       {"TiB", 'b', 1099511627776}, {"B/s", 'r', 1},   {"kB/s", 'r', 1e3},
                                       {"MB/s", 'r', 1e6},    {"GB/s", 'r', 1e9},      {"KiB/s", 'r', 1024},
                                       {"MiB/s", 'r', 1048576}, {"GiB/s", 'r', 1073741824}, {"s", 't', 1},
                                       {"ms", 't', 1e-3},     {"us", 't', 1e-6},       {"min", 't', 60},
                                       {"%", 'p', 0.01}}};

std::string_view bare(std::string_view text) {
  if (text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front()) {
    return text.substr(1, text.size() - 2);
  }
  return text;
}

std::optional<std::pair<char, double>> quantity(std::string_view text) {
  double number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc{}) return std::nullopt;
  std::string_view unit{end, static_cast<std::size_t>(text.data() + text.size() - end)};
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  const auto known = std::ranges::find(kUnits, unit, &Unit::text);
  if (known == kUnits.end()) return std::nullopt;
  return std::pair{known->kind, number * known->factor};
}

std::optional<std::string> from_experiment(const nlohmann::ordered_json& experiment, std::string_view key) {
  const nlohmann::ordered_json* at = &experiment;
  // Knob names hold dots and slashes themselves: what follows "knobs." is one name.
  while (!key.empty()) {
    if (!at->is_object()) return std::nullopt;
    const std::size_t dot = key.starts_with('/') ? std::string_view::npos : key.find('.');
    const auto member = at->find(std::string{key.substr(0, dot)});
    if (member == at->end() || member->is_null()) return std::nullopt;
    at = &*member;
    key = dot == std::string_view::npos ? std::string_view{} : key.substr(dot + 1);
  }
  return at->is_string() ? at->get<std::string>() : at->dump();
}

}  // namespace

std::string CaseRecords::name() const {
  std::string text;
  for (const auto& [key, value] : keys) text += (text.empty() ? "" : ", ") + key + "=" + value;
  return text.empty() ? "the only case" : text;
}

bool is_simulated(const Record& record) { return record.box.kind == "simulated"; }

std::string box_label(const Record& record) {
  if (is_simulated(record)) return "simulated";
  if (record.box.kind == "real") return record.box.target.empty() ? "real" : "real:" + record.box.target;
  return record.box.name.empty() ? record.box.kind : record.box.kind + ":" + record.box.name;
}

std::vector<CaseRecords> group_by_case(std::span<const Record> records) {
  std::vector<CaseRecords> cases;
  for (const Record& record : records) {
    if (!record.complete) continue;
    const std::string label = box_label(record);
    const auto known = std::ranges::find_if(
        cases, [&](const CaseRecords& one) { return one.box == label && one.keys == record.case_keys; });
    if (known != cases.end()) {
      known->repeats.push_back(&record);
    } else {
      cases.push_back({record.case_keys, label, is_simulated(record), {&record}});
    }
  }
  for (CaseRecords& one : cases) std::ranges::stable_sort(one.repeats, {}, [](const Record* r) { return r->repeat; });
  return cases;
}

std::optional<std::string> case_value(const CaseRecords& item, std::string_view key) {
  for (const auto& [swept, value] : item.keys) {
    if (swept == key) return value;
  }
  if (item.repeats.empty()) return std::nullopt;
  return from_experiment(item.repeats.front()->experiment, key);
}

bool same_value(std::string_view a, std::string_view b) {
  a = bare(a);
  b = bare(b);
  if (a == b) return true;
  const auto x = quantity(a);
  const auto y = quantity(b);
  return x && y && x->first == y->first &&
         std::abs(x->second - y->second) <= 1e-9 * std::max(std::abs(x->second), std::abs(y->second));
}

bool matches(const CaseRecords& item, const CaseSelector& selector) {
  return std::ranges::all_of(selector, [&](const auto& wanted) {
    const auto value = case_value(item, wanted.first);
    return value ? same_value(*value, wanted.second) : wanted.second == "unset";
  });
}

bool same_but_for(const CaseRecords& a, const CaseRecords& b, const std::vector<std::string>& free) {
  if (a.box != b.box) return false;
  return std::ranges::all_of(a.keys, [&](const auto& swept) {
    if (std::ranges::find(free, swept.first) != free.end()) return true;
    const auto other = case_value(b, swept.first);
    return other && same_value(*other, swept.second);
  });
}

}  // namespace spillway::analysis
