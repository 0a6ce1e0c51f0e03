#include "workload/experiment/sweep.hpp"

#include "workload/experiment/keys.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fmt/core.h>
#include <set>

namespace spillway {

namespace {

using Kind = TomlValue::Kind;

constexpr std::size_t kMostCases = 10'000;
const std::string kUnset = "unset";

std::unexpected<Error> refuse(const std::string& place, std::string sentence) {
  return fail(ErrorKind::bad_input, fmt::format("{}: {}", place, sentence));
}

Status check_sweepable(const std::string& key, const std::string& place) {
  if (const auto info = find_key(key); !info) return refuse(place, info.error().what);
  for (const std::string_view fixed : {"title", "name", "question", "repeats", "order"}) {
    if (key == fixed) return refuse(place, fmt::format("\"{}\" belongs to the whole experiment and cannot be swept", key));
  }
  return {};
}

Result<std::string> sweep_value(const std::string& key, const TomlValue& value, const std::string& place) {
  if (value.is(Kind::text) && value.text == kUnset) return kUnset;
  auto json = normalised(key, value);
  if (!json) return refuse(place, json.error().what);
  return short_text(*json);
}

Status check_rows(const SweepSpec& sweep, const std::string& place) {
  if (sweep.rows.empty()) return refuse(place, fmt::format("the sweep of {} has no values", sweep.keys.front()));
  std::set<std::vector<std::string>> seen;
  for (const auto& row : sweep.rows) {
    if (seen.insert(row).second) continue;
    std::string shown_row;
    for (const std::string& value : row) shown_row += (shown_row.empty() ? "" : ", ") + value;
    return refuse(place, fmt::format("the sweep of {} has the value {} twice", sweep.keys.front(), shown_row));
  }
  return {};
}

Result<SweepSpec> read_sweep(const TomlValue& table, int number, const Places& places) {
  const std::string name = fmt::format("sweep[{}]", number);
  const TomlValue *key = nullptr, *values = nullptr, *keys = nullptr, *rows = nullptr;
  for (const auto& [member, value] : table.members) {
    if (member == "key") key = &value;
    else if (member == "values") values = &value;
    else if (member == "keys") keys = &value;
    else if (member == "rows") rows = &value;
    else {
      const std::string near = nearest_key("sweep[]", member);
      return refuse(places.of(value), near.empty() ? fmt::format("there is no key \"sweep[].{}\"; a sweep has key and values, or keys and rows", member)
                                                   : fmt::format("there is no key \"sweep[].{}\"; the nearest is \"{}\"", member, near));
    }
  }
  SweepSpec out;
  if (key != nullptr && keys != nullptr) return refuse(places.of(*keys), fmt::format("{} has both key and keys; use key with values, or keys with rows", name));
  if (key != nullptr) {
    if (rows != nullptr) return refuse(places.of(*rows), fmt::format("{}: rows go with `keys`; with `key` write values = [...]", name));
    if (!key->is(Kind::text)) return refuse(places.of(*key), fmt::format("{}.key should be a key in quotes, found {}", name, shown(*key)));
    if (values == nullptr || !values->is(Kind::list)) return refuse(places.of(table), fmt::format("{} needs values = [...] for {}", name, key->text));
    SPILLWAY_TRY(check_sweepable(key->text, places.of(*key)));
    out.keys.push_back(key->text);
    for (const TomlValue& value : values->items) {
      SPILLWAY_ASSIGN(std::string text, sweep_value(key->text, value, places.of(*values)));
      out.rows.push_back({std::move(text)});
    }
    SPILLWAY_TRY(check_rows(out, places.of(*values)));
    return out;
  }
  if (keys == nullptr) return refuse(places.of(table), fmt::format("{} has no key; write key = \"memory.dirty_bytes\" and values = [...]", name));
  if (values != nullptr) return refuse(places.of(*values), fmt::format("{}: values go with `key`; with `keys` write rows = [[...], ...]", name));
  if (!keys->is(Kind::list) || keys->items.empty()) return refuse(places.of(*keys), fmt::format("{}.keys should be a list of keys in quotes, found {}", name, shown(*keys)));
  for (const TomlValue& item : keys->items) {
    if (!item.is(Kind::text)) return refuse(places.of(*keys), fmt::format("{}.keys should be a list of keys in quotes, found {}", name, shown(item)));
    SPILLWAY_TRY(check_sweepable(item.text, places.of(*keys)));
    if (std::find(out.keys.begin(), out.keys.end(), item.text) != out.keys.end()) return refuse(places.of(*keys), fmt::format("{}.keys names \"{}\" twice", name, item.text));
    out.keys.push_back(item.text);
  }
  if (rows == nullptr || !rows->is(Kind::list)) return refuse(places.of(table), fmt::format("{} needs rows = [[...], ...] for its keys", name));
  for (const TomlValue& row : rows->items) {
    if (!row.is(Kind::list)) return refuse(places.of(*rows), fmt::format("{}.rows should hold lists, found {}", name, shown(row)));
    if (row.items.size() != out.keys.size()) {
      return refuse(places.of(row), fmt::format("{}: a row has {} values, but there are {} keys", name, row.items.size(), out.keys.size()));
    }
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < row.items.size(); ++i) {
      SPILLWAY_ASSIGN(std::string text, sweep_value(out.keys[i], row.items[i], places.of(row)));
      texts.push_back(std::move(text));
    }
    out.rows.push_back(std::move(texts));
  }
  SPILLWAY_TRY(check_rows(out, places.of(*rows)));
  return out;
}

Status check_swept_once(const std::vector<SweepSpec>& sweeps, const std::string& where) {
  std::set<std::string> seen;
  for (const SweepSpec& sweep : sweeps) {
    for (const std::string& key : sweep.keys) {
      if (!seen.insert(key).second) return refuse(where, fmt::format("\"{}\" is swept twice", key));
    }
  }
  return {};
}

/// "key=value" at the first "=" that is outside brackets: knob names hold none.
Result<std::pair<std::string, std::string>> split_assignment(const std::string& text, const std::string& option) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    return fail(ErrorKind::bad_input, fmt::format("{} {}: key=value was expected, for example {} memory.dirty_bytes={}", option, text, option, option == "--set" ? "1GB" : "250MB,1GB"));
  }
  return std::pair{text.substr(0, equals), text.substr(equals + 1)};
}

/// At commas outside quotes and brackets.
std::vector<std::string> split_values(const std::string& text) {
  std::vector<std::string> out(1);
  int depth = 0;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && depth == 0) {
      out.emplace_back();
      continue;
    }
    out.back() += c;
  }
  return out;
}

Result<std::string> override_value(const std::string& key, const std::string& text, const std::string& place) {
  if (text == kUnset) return kUnset;
  auto normal = normalised_text(key, text);
  if (!normal) return refuse(place, normal.error().what);
  return normal;
}

SweepSpec* sweep_of(std::vector<SweepSpec>& sweeps, const std::string& key) {
  for (SweepSpec& sweep : sweeps) {
    if (std::find(sweep.keys.begin(), sweep.keys.end(), key) != sweep.keys.end()) return &sweep;
  }
  return nullptr;
}

/// What a key set by hand replaces.
std::vector<std::string> replaced_by(std::string_view path) {
  if (path == "memory.dirty_ratio") return {"dirty_bytes"};
  if (path == "memory.dirty_bytes") return {"dirty_ratio"};
  if (path == "memory.dirty_background_ratio") return {"dirty_background_bytes"};
  if (path == "memory.dirty_background_bytes") return {"dirty_background_ratio"};
  if (path == "archive.path") return {"seed", "files", "bytes", "sizes", "sigma", "min", "max", "histogram", "files_per_directory"};
  return {};
}

/// Stable on every machine; names only, nothing that anybody attacks (FNV-1a).
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

}  // namespace

Result<std::vector<SweepSpec>> read_sweeps(const TomlValue& root, const Places& places) {
  std::vector<SweepSpec> out;
  const TomlValue* sweeps = root.find("sweep");
  if (sweeps == nullptr) return out;
  const bool tables = sweeps->is(Kind::list) && std::all_of(sweeps->items.begin(), sweeps->items.end(), [](const auto& i) { return i.is(Kind::table); });
  if (!tables) return refuse(places.of(*sweeps), "sweep may be given several times: write [[sweep]], with two brackets");
  for (const TomlValue& table : sweeps->items) {
    SPILLWAY_ASSIGN(SweepSpec sweep, read_sweep(table, static_cast<int>(out.size()) + 1, places));
    out.push_back(std::move(sweep));
  }
  SPILLWAY_TRY(check_swept_once(out, places.of(*sweeps)));
  return out;
}

Status assign(TomlValue& root, std::string_view path, const std::string& text, const std::string& origin) {
  const auto say = [&](std::string sentence) { return refuse(origin, std::move(sentence)); };
  TomlValue value;
  if (text != kUnset) {
    SPILLWAY_ASSIGN(value, typed_value(path, text));
    value.origin = origin;
  }
  TomlValue* at = &root;
  std::string_view rest = path;
  std::string last;
  if (path.starts_with("knobs.")) {
    at = &root.child("knobs");
    last = path.substr(6);
  } else if (path.starts_with("box.costs.")) {
    at = &root.child("box").child("costs");
    last = path.substr(10);
  } else if (path.starts_with("box.kernel_constants.")) {
    at = &root.child("box").child("kernel_constants");
    last = path.substr(21);
  } else {
    while (true) {
      const std::size_t dot = rest.find('.');
      std::string_view segment = rest.substr(0, dot);
      if (dot == std::string_view::npos) {
        last = segment;
        break;
      }
      rest = rest.substr(dot + 1);
      const std::size_t open = segment.find('[');
      if (open == std::string_view::npos) {
        at = &at->child(segment);
        continue;
      }
      const std::string name{segment.substr(0, open)};
      const std::string selector{segment.substr(open + 1, segment.size() - open - 2)};
      TomlValue* list = at->find(name);
      TomlValue* found = nullptr;
      std::size_t index = 0;
      const auto [end, code] = std::from_chars(selector.data(), selector.data() + selector.size(), index);
      const bool by_number = code == std::errc{} && end == selector.data() + selector.size();
      for (std::size_t i = 0; list != nullptr && i < list->items.size(); ++i) {
        const TomlValue* own_name = list->items[i].find("name");
        if (by_number ? i + 1 == index : own_name != nullptr && own_name->text == selector) found = &list->items[i];
      }
      if (found == nullptr) return say(fmt::format("there is no {} \"{}\" in the experiment", name, selector));
      at = found;
    }
  }
  for (const std::string& other : replaced_by(path)) {
    if (const TomlValue* member = at->find(other); member != nullptr && member->origin.empty()) at->erase(other);
  }
  if (text == kUnset) {
    at->erase(last);
  } else {
    at->child(last) = std::move(value);
  }
  return {};
}

Status apply_overrides(TomlValue& root, std::vector<SweepSpec>& sweeps, const Overrides& overrides) {
  for (const std::string& text : overrides.sweep) {
    const std::string place = "--sweep " + text;
    SPILLWAY_ASSIGN(const auto assignment, split_assignment(text, "--sweep"));
    const auto& [key, values] = assignment;
    SPILLWAY_TRY(check_sweepable(key, place));
    SweepSpec sweep{.keys = {key}, .rows = {}};
    for (const std::string& value : split_values(values)) {
      SPILLWAY_ASSIGN(std::string normal, override_value(key, value, place));
      sweep.rows.push_back({std::move(normal)});
    }
    SPILLWAY_TRY(check_rows(sweep, place));
    if (SweepSpec* own = sweep_of(sweeps, key)) {
      if (own->keys.size() > 1) return refuse(place, fmt::format("\"{}\" is swept together with other keys by the file; change it there", key));
      *own = std::move(sweep);
    } else {
      sweeps.push_back(std::move(sweep));
    }
  }
  for (const std::string& text : overrides.set) {
    const std::string place = "--set " + text;
    SPILLWAY_ASSIGN(const auto assignment, split_assignment(text, "--set"));
    const auto& [key, value] = assignment;
    if (const auto info = find_key(key); !info) return refuse(place, info.error().what);
    SPILLWAY_ASSIGN(std::string normal, override_value(key, value, place));
    if (SweepSpec* own = sweep_of(sweeps, key)) {
      if (own->keys.size() > 1) return refuse(place, fmt::format("\"{}\" is swept together with other keys by the file; change it there", key));
      own->rows = {{normal}};
      continue;
    }
    SPILLWAY_TRY(assign(root, key, normal, place));
  }
  return {};
}

Result<std::vector<CaseKeys>> expand(const std::vector<SweepSpec>& sweeps, const std::string& where) {
  std::size_t count = 1;
  for (const SweepSpec& sweep : sweeps) {
    count *= sweep.rows.size();
    if (count > kMostCases) return refuse(where, fmt::format("the sweeps make more than {} cases; sweep fewer values", kMostCases));
  }
  std::vector<CaseKeys> cases(1);
  for (const SweepSpec& sweep : sweeps) {
    std::vector<CaseKeys> longer;
    for (const CaseKeys& prefix : cases) {
      for (const auto& row : sweep.rows) {
        CaseKeys keys = prefix;
        for (std::size_t i = 0; i < sweep.keys.size(); ++i) keys.emplace_back(sweep.keys[i], row[i]);
        longer.push_back(std::move(keys));
      }
    }
    cases = std::move(longer);
  }
  return cases;
}

std::string case_folder(const CaseKeys& keys) {
  if (keys.empty()) return "case";
  const auto tail = [](const std::string& key, int components) {
    std::size_t at = key.size();
    if (key.starts_with("knobs.")) return key.substr(key.rfind('/') == std::string::npos ? 6 : key.rfind('/') + 1);
    for (int i = 0; i < components && at != std::string::npos && at > 0; ++i) at = key.rfind('.', at - 1);
    return at == std::string::npos ? key : key.substr(at + 1);
  };
  std::string full, folder;
  for (const auto& [key, value] : keys) {
    int components = 1;
    while (components < 4 && std::any_of(keys.begin(), keys.end(), [&](const auto& other) { return other.first != key && tail(other.first, components) == tail(key, components); })) {
      ++components;
    }
    full += (full.empty() ? "" : ",") + key + "=" + value;
    folder += (folder.empty() ? "" : ",") + tail(key, components) + "=" + value;
  }
  bool replaced = false;
  for (char& c : folder) {
    const bool safe = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || std::string_view{"._=,+%-"}.find(c) != std::string_view::npos;
    if (safe) continue;
    replaced = true;
    c = c == '/' || c == ':' ? '-' : '_';
  }
  if (folder.starts_with('.') || folder.starts_with('-')) replaced = true;
  if (folder.size() > 80 || replaced) folder = fmt::format("{}~{:08x}", folder.substr(0, 71), hash_of(full) >> 32);
  return folder;
}

}  // namespace spillway
