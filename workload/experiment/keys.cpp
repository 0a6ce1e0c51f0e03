#include "workload/experiment/keys.hpp"

#include "workload/experiment/schema.hpp"
#include "workload/record/metric.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <fmt/format.h>
#include <iterator>

namespace spillway {

namespace {

using schema::Json;

struct Entry {
  KeyInfo info;
  /// Reads the value into a default struct and writes it again: checked and normalised.
  std::function<Result<Json>(const TomlValue&)> normalise;
};

std::string boxes_text(schema::Boxes boxes) {
  switch (boxes) {
    case schema::Boxes::all: return "all";
    case schema::Boxes::real: return "real";
    case schema::Boxes::simulated: return "simulated";
  }
  return "all";
}

template <class S>
void add(std::vector<Entry>& entries, const std::string& prefix, const std::string& section_name, const schema::Section<S>& section) {
  for (const schema::Binding<S>& binding : section) {
    Entry entry;
    entry.info = {.key = prefix + binding.name, .section = section_name, .kind = binding.kind, .default_text = short_text(binding.write(S{})),
                  .meaning = binding.meaning, .boxes = boxes_text(binding.boxes), .choices = binding.rule.choices};
    entry.normalise = [&binding](const TomlValue& value) -> Result<Json> {
      S scratch;
      if (const auto problem = binding.read(value, scratch)) return fail(ErrorKind::bad_input, *problem);
      return binding.write(scratch);
    };
    entries.push_back(std::move(entry));
  }
}

void add_plain(std::vector<Entry>& entries, const std::string& prefix, const std::string& section_name, const std::vector<schema::PlainKey>& keys) {
  for (const auto& key : keys) {
    Entry entry;
    entry.info = {.key = prefix + key.name, .section = section_name, .kind = key.kind, .default_text = key.default_text, .meaning = key.meaning, .boxes = "all", .choices = {}};
    entries.push_back(std::move(entry));
  }
}

const std::vector<Entry>& registry() {
  static const std::vector<Entry> entries = [] {
    std::vector<Entry> out;
    add(out, "", "", schema::root_section());
    add(out, "archive.", "[archive]", schema::archive_section());
    add(out, "replay.", "[replay]", schema::replay_section());
    add(out, "job[].", "[[job]]", schema::job_section());
    add(out, "pipeline.", "[pipeline]", schema::pipeline_section());
    add(out, "pipeline.host[].", "[[pipeline.host]]", schema::host_section());
    add(out, "pipeline.stage[].", "[[pipeline.stage]]", schema::stage_section());
    add(out, "memory.", "[memory]", schema::memory_section());
    add(out, "filesystem.", "[filesystem]", schema::filesystem_section());
    add(out, "device.", "[device]", schema::device_section());
    add(out, "target.", "[target]", schema::target_section());
    add(out, "box.", "[box]", schema::box_section());
    // box.costs.NAME, box.kernel_constants.NAME and knobs.NAME are addressed one by one.
    Entry cost;
    cost.info = {.key = "box.costs.NAME", .section = "[box.costs]", .kind = "number", .default_text = "", .meaning = "one cost of the profile, over the profile's own", .boxes = "simulated", .choices = {}};
    cost.normalise = [](const TomlValue& value) -> Result<Json> {
      double number = 0;
      if (const auto problem = schema::Codec<double>::read(value, number, schema::real_between(0, 1e12))) return fail(ErrorKind::bad_input, *problem);
      return Json(number);
    };
    Entry constant;
    constant.info = {.key = "box.kernel_constants.NAME", .section = "[box.kernel_constants]", .kind = "number", .default_text = "", .meaning = "one constant of the kernel as a patch set it", .boxes = "simulated", .choices = {}};
    constant.normalise = cost.normalise;
    out.push_back(std::move(cost));
    out.push_back(std::move(constant));
    Entry knob;
    knob.info = {.key = "knobs.NAME", .section = "[knobs]", .kind = "text or number", .default_text = "",
                 .meaning = "any other setting, put back afterwards: a path below /sys or /proc/sys ({dev} stands for the device) or a sysctl name", .boxes = "real", .choices = {}};
    knob.normalise = [](const TomlValue& value) -> Result<Json> {
      if (value.is(TomlValue::Kind::text)) return Json(value.text);
      if (value.is(TomlValue::Kind::whole)) return Json(fmt::format("{}", value.whole));
      return fail(ErrorKind::bad_input, fmt::format("should be a text or a whole number, found {}", shown(value)));
    };
    out.push_back(std::move(knob));
    add_plain(out, "sweep[].", "[[sweep]]", schema::sweep_keys());
    add_plain(out, "expect[].", "[[expect]]", schema::expect_keys());
    return out;
  }();
  return entries;
}

/// "job[dd].size" as "job[].size"; "knobs.x.y" as "knobs.NAME".
std::string pattern_of(std::string_view path) {
  if (path.starts_with("knobs.") && path.size() > 6) return "knobs.NAME";
  if (path.starts_with("box.costs.") && path.size() > 10) return "box.costs.NAME";
  if (path.starts_with("box.kernel_constants.") && path.size() > 21) return "box.kernel_constants.NAME";
  std::string out;
  bool inside = false;
  for (const char c : path) {
    if (c == ']') inside = false;
    if (!inside) out += c;
    if (c == '[') inside = true;
  }
  return out;
}

Result<const Entry*> find_entry(std::string_view path) {
  const std::string pattern = pattern_of(path);
  for (const Entry& entry : registry()) {
    if (entry.info.key == pattern && entry.normalise) return &entry;
  }
  const std::size_t dot = path.rfind('.');
  const std::string_view section = dot == std::string_view::npos ? std::string_view{} : std::string_view{pattern}.substr(0, pattern.rfind('.'));
  const std::string near = nearest_key(section, dot == std::string_view::npos ? path : path.substr(dot + 1));
  return fail(ErrorKind::bad_input, near.empty() ? fmt::format("there is no key \"{}\"; `spillway keys` lists them", path)
                                                 : fmt::format("there is no key \"{}\"; the nearest is \"{}\"", path, near));
}

}  // namespace

const std::vector<KeyInfo>& all_keys() {
  static const std::vector<KeyInfo> keys = [] {
    std::vector<KeyInfo> out;
    for (const Entry& entry : registry()) out.push_back(entry.info);
    return out;
  }();
  return keys;
}

Result<KeyInfo> find_key(std::string_view path) {
  SPILLWAY_ASSIGN(const Entry* const entry, find_entry(path));
  return entry->info;
}

std::string nearest_key(std::string_view section, std::string_view wrong) {
  const int tolerated = std::max(2, static_cast<int>(wrong.size()) / 3);
  std::string best;
  int best_distance = 1000;
  for (const KeyInfo& info : all_keys()) {
    const std::size_t dot = info.key.rfind('.');
    const std::string_view own_section = dot == std::string::npos ? std::string_view{} : std::string_view{info.key}.substr(0, dot);
    const std::string_view last = dot == std::string::npos ? std::string_view{info.key} : std::string_view{info.key}.substr(dot + 1);
    if (last == "NAME") continue;
    // A near key of the same section beats the same word elsewhere by a little.
    const int distance = 2 * edit_distance(wrong, last) + (own_section == section ? 0 : 3);
    if (distance < best_distance && edit_distance(wrong, last) <= tolerated) {
      best_distance = distance;
      best = info.key;
    }
  }
  if (!section.empty()) return best;
  for (const std::string_view table : {"archive", "replay", "job", "pipeline", "memory", "filesystem", "device", "target", "box", "knobs", "sweep", "expect"}) {
    const int distance = 2 * edit_distance(wrong, table);
    if (distance < best_distance && distance <= 2 * tolerated) {
      best_distance = distance;
      best = table;
    }
  }
  return best;
}

Result<TomlValue> typed_value(std::string_view path, const std::string& text) {
  SPILLWAY_ASSIGN(const Entry* const entry, find_entry(path));
  const std::string& kind = entry->info.kind;
  const bool looks_like_toml = text.starts_with('"') || text.starts_with('\'') || text.starts_with('[') || text.starts_with('{');
  if (looks_like_toml) {
    auto value = parse_toml_value(text);
    if (!value) return fail(ErrorKind::bad_input, fmt::format("\"{}\" is not a TOML value", text));
    return value;
  }
  if (kind.starts_with("list of texts") || kind.starts_with("list of choices")) {
    TomlValue list;
    list.kind = TomlValue::Kind::list;
    std::string word;
    for (const char c : text + ",") {
      if (c == ',' || c == '+') {
        if (!word.empty()) list.items.push_back(toml_text(word));
        word.clear();
      } else {
        word += c;
      }
    }
    return list;
  }
  if (kind == "whole number" || kind == "number" || kind.starts_with("true")) {
    if (auto value = parse_toml_value(text)) return value;
  }
  return toml_text(text);
}

Result<nlohmann::ordered_json> normalised(std::string_view path, const TomlValue& value) {
  SPILLWAY_ASSIGN(const Entry* const entry, find_entry(path));
  auto json = entry->normalise(value);
  if (!json) return fail(ErrorKind::bad_input, fmt::format("{} {}", path, json.error().what));
  return json;
}

std::string short_text(const nlohmann::ordered_json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return fmt::format("{}", value.get<double>());
  if (value.is_array() && std::all_of(value.begin(), value.end(), [](const auto& item) { return item.is_string(); })) {
    std::string out;
    for (const auto& item : value) out += (out.empty() ? "" : "+") + item.get<std::string>();
    return out;
  }
  return value.dump();
}

Result<std::string> normalised_text(std::string_view path, const std::string& text) {
  SPILLWAY_ASSIGN(const TomlValue value, typed_value(path, text));
  SPILLWAY_ASSIGN(const Json json, normalised(path, value));
  return short_text(json);
}

std::string schema::nearest_choice(const std::string& word, const std::vector<std::string>& choices) {
  std::string best;
  int distance = std::max(2, static_cast<int>(word.size()) / 3) + 1;
  for (const std::string& choice : choices) {
    if (const int d = edit_distance(word, choice); d < distance) {
      distance = d;
      best = choice;
    }
  }
  return best.empty() ? "" : fmt::format("; the nearest is \"{}\"", best);
}

std::string keys_text() {
  std::string out;
  std::string section = "-";
  for (const KeyInfo& info : all_keys()) {
    if (info.section != section) {
      section = info.section;
      fmt::format_to(std::back_inserter(out), "{}{}\n", out.empty() ? "" : "\n", section.empty() ? "(on top)" : section);
    }
    const std::size_t dot = info.key.rfind('.');
    const std::string name = dot == std::string::npos ? info.key : info.key.substr(dot + 1);
    fmt::format_to(std::back_inserter(out), "  {:<24} {}\n", name, info.meaning);
    std::string detail = info.kind;
    if (!info.choices.empty()) detail = fmt::format("{}: {}", info.kind, fmt::join(info.choices, ", "));
    if (!info.default_text.empty()) detail += fmt::format("; default {}", info.default_text);
    if (info.boxes != "all") detail += fmt::format("; {} box only", info.boxes);
    fmt::format_to(std::back_inserter(out), "  {:<24}   {}\n", "", detail);
  }
  return out;
}

std::string keys_markdown() {
  std::string out;
  std::string section = "-";
  const auto cell = [](std::string text) {
    for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, "\\");
    return text;
  };
  for (const KeyInfo& info : all_keys()) {
    if (info.section != section) {
      section = info.section;
      fmt::format_to(std::back_inserter(out), "{}### {}\n\n| key | kind | default | meaning | boxes |\n| --- | --- | --- | --- | --- |\n",
                     out.empty() ? "" : "\n", section.empty() ? "On top of the file" : "`" + section + "`");
    }
    const std::size_t dot = info.key.rfind('.');
    const std::string name = dot == std::string::npos ? info.key : info.key.substr(dot + 1);
    std::string kind = info.choices.empty() ? info.kind : fmt::format("{}: {}", info.kind, fmt::join(info.choices, ", "));
    fmt::format_to(std::back_inserter(out), "| `{}` | {} | {} | {} | {} |\n", name, cell(kind),
                   info.default_text.empty() ? "" : "`" + info.default_text + "`", cell(info.meaning), info.boxes);
  }
  out += "\n### Metrics\n\n| metric | unit | meaning |\n| --- | --- | --- |\n";
  for (const MetricInfo& metric : all_metrics()) {
    std::string name{metric.group};
    if (!metric.selector.empty()) name += fmt::format("[{}]", metric.selector);
    if (!metric.field.empty()) name += fmt::format(".{}", metric.field);
    fmt::format_to(std::back_inserter(out), "| `{}` | {} | {} |\n", cell(name), metric.unit, cell(std::string{metric.meaning}));
  }
  return out;
}

}  // namespace spillway
