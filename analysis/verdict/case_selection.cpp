#include "analysis/verdict/case_selection.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/quantity.hpp"

namespace spillway::analysis {
namespace {

std::string_view bare(std::string_view text) {
  if (text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front()) {
    return text.substr(1, text.size() - 2);
  }
  return text;
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
  return text_at(item.repeats.front()->experiment, key);
}

bool same_value(std::string_view a, std::string_view b) {
  a = bare(a);
  b = bare(b);
  if (a == b) return true;
  const auto x = read_quantity(a);
  const auto y = read_quantity(b);
  return x && y && x->kind == y->kind && std::abs(x->value - y->value) <= 1e-9 * std::max(std::abs(x->value), std::abs(y->value));
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
