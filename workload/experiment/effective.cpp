#include "workload/experiment/effective.hpp"

#include "workload/experiment/keys.hpp"
#include "workload/experiment/schema.hpp"
#include "workload/record/metric.hpp"

#include <array>
#include <charconv>
#include <fmt/core.h>
#include <fmt/format.h>

namespace spillway {

namespace {

using schema::Json;
using Kind = TomlValue::Kind;

std::unexpected<Error> refuse(const Places& places, const TomlValue& value, std::string sentence) {
  return fail(ErrorKind::bad_input, fmt::format("{}: {}", places.of(value), sentence));
}

std::unexpected<Error> unknown(const Places& places, const TomlValue& value, const std::string& section, const std::string& name) {
  const std::string full = section.empty() ? name : section + "." + name;
  const std::string near = nearest_key(section, name);
  if (section.empty() && value.kind == Kind::table)
    return refuse(places, value, near.empty() ? fmt::format("there is no table [{}]; `spillway keys` lists what there is", full)
                                              : fmt::format("there is no table [{}]; the nearest is \"{}\"", full, near));
  return refuse(places, value, near.empty() ? fmt::format("there is no key \"{}\"; `spillway keys` lists them", full)
                                            : fmt::format("there is no key \"{}\"; the nearest is \"{}\"", full, near));
}

/// `path` names the section in messages ("job[2]"), `section` in the table of keys ("job[]"). `also` are members that
/// the caller reads itself.
template <class S>
Status read_section(const TomlValue& table, const std::string& path, const std::string& section, const schema::Section<S>& bindings,
                    S& out, const Places& places, const std::vector<std::string_view>& also = {}) {
  const std::string dot = path.empty() ? "" : ".";
  for (const auto& [name, value] : table.members) {
    if (std::find(also.begin(), also.end(), name) != also.end()) continue;
    const auto binding = std::find_if(bindings.begin(), bindings.end(), [&name](const auto& b) { return b.name == name; });
    if (binding == bindings.end()) return unknown(places, value, section, name);
    if (const auto problem = binding->read(value, out)) {
      return refuse(places, value, fmt::format("{}{}{}{}{}", path, dot, name, problem->starts_with('.') ? "" : " ", *problem));
    }
  }
  for (const auto& binding : bindings) {
    if (!binding.pointless) continue;
    const TomlValue* value = table.find(binding.name);
    if (value == nullptr) continue;
    if (const std::string reason = binding.pointless(out); !reason.empty()) {
      return refuse(places, *value, fmt::format("{}{}{} {}", path, dot, binding.name, reason));
    }
  }
  return {};
}

template <class S>
Json write_section(const schema::Section<S>& bindings, const S& section) {
  Json out = Json::object();
  for (const auto& binding : bindings) {
    const bool pointless = binding.pointless && !binding.pointless(section).empty();
    out[binding.name] = pointless ? Json(nullptr) : binding.write(section);
  }
  return out;
}

Status must_be_table(const TomlValue& value, const std::string& name, const Places& places) {
  if (value.is(Kind::table)) return {};
  if (value.is(Kind::list)) return refuse(places, value, fmt::format("{0} is given once: write [{0}], not [[{0}]]", name));
  return refuse(places, value, fmt::format("{0} should be a table ([{0}] on a line of its own), found {1}", name, shown(value)));
}

Status must_be_tables(const TomlValue& value, const std::string& name, const Places& places) {
  if (value.is(Kind::list) && std::all_of(value.items.begin(), value.items.end(), [](const auto& item) { return item.is(Kind::table); })) return {};
  return refuse(places, value, fmt::format("{0} may be given several times: write [[{0}]], with two brackets", name));
}

template <class S>
Status read_table(const TomlValue& root, const std::string& name, const schema::Section<S>& bindings, S& out, const Places& places,
                  const std::vector<std::string_view>& also = {}) {
  const TomlValue* table = root.find(name);
  if (table == nullptr) return {};
  SPILLWAY_TRY(must_be_table(*table, name, places));
  return read_section(*table, name, name, bindings, out, places, also);
}

Status read_pipeline(const TomlValue& root, Experiment& out, const Places& places) {
  const TomlValue* table = root.find("pipeline");
  if (table == nullptr) return {};
  PipelineSpec pipeline;
  SPILLWAY_TRY(read_table(root, "pipeline", schema::pipeline_section(), pipeline, places, {"host", "stage"}));
  if (const TomlValue* hosts = table->find("host")) {
    SPILLWAY_TRY(must_be_tables(*hosts, "pipeline.host", places));
    for (const TomlValue& item : hosts->items) {
      HostSpec host;
      SPILLWAY_TRY(read_section(item, fmt::format("pipeline.host[{}]", pipeline.hosts.size() + 1), "pipeline.host[]", schema::host_section(), host, places));
      pipeline.hosts.push_back(std::move(host));
    }
  }
  if (const TomlValue* stages = table->find("stage")) {
    SPILLWAY_TRY(must_be_tables(*stages, "pipeline.stage", places));
    for (const TomlValue& item : stages->items) {
      StageSpec stage;
      SPILLWAY_TRY(read_section(item, fmt::format("pipeline.stage[{}]", pipeline.stages.size() + 1), "pipeline.stage[]", schema::stage_section(), stage, places));
      pipeline.stages.push_back(std::move(stage));
    }
  }
  out.pipeline = std::move(pipeline);
  return {};
}

Status read_jobs(const TomlValue& root, Experiment& out, const Places& places) {
  const TomlValue* jobs = root.find("job");
  if (jobs == nullptr) return {};
  SPILLWAY_TRY(must_be_tables(*jobs, "job", places));
  for (const TomlValue& item : jobs->items) {
    JobSpec job;
    SPILLWAY_TRY(read_section(item, fmt::format("job[{}]", out.jobs.size() + 1), "job[]", schema::job_section(), job, places));
    out.jobs.push_back(std::move(job));
  }
  return {};
}

Status read_knobs(const TomlValue& root, Experiment& out, const Places& places) {
  const TomlValue* knobs = root.find("knobs");
  if (knobs == nullptr) return {};
  SPILLWAY_TRY(must_be_table(*knobs, "knobs", places));
  for (const auto& [name, value] : knobs->members) {
    if (value.is(Kind::table)) {
      return refuse(places, value, fmt::format("the knob \"{}\" is not one setting: a name with dots needs quotes, for example \"{}.swappiness\" = 10", name, name));
    }
    auto text = normalised("knobs." + name, value);
    if (!text) return refuse(places, value, text.error().what);
    out.knobs.emplace_back(name, short_text(*text));
  }
  return {};
}

// ---- [[expect]] --------------------------------------------------------------------------------------------------

constexpr std::array<std::pair<std::string_view, ExpectOp>, 9> kOps = {{{"value", ExpectOp::value},
                                                                       {"at_most", ExpectOp::at_most},
                                                                       {"at_least", ExpectOp::at_least},
                                                                       {"up", ExpectOp::up},
                                                                       {"down", ExpectOp::down},
                                                                       {"unchanged", ExpectOp::unchanged},
                                                                       {"ordered", ExpectOp::ordered},
                                                                       {"knee_at", ExpectOp::knee_at},
                                                                       {"bottleneck", ExpectOp::bottleneck}}};
constexpr std::array<std::pair<std::string_view, ExpectBox>, 3> kBoxes = {{{"any", ExpectBox::any}, {"simulated", ExpectBox::simulated}, {"real", ExpectBox::real}}};

template <class T, std::size_t N>
schema::Problem read_choice(const TomlValue& value, const std::array<std::pair<std::string_view, T>, N>& choices, T& out) {
  std::vector<std::string> names;
  for (const auto& [name, choice] : choices) names.emplace_back(name);
  std::string text;
  if (auto problem = schema::Codec<std::string>::read(value, text, schema::one_of(names))) return problem;
  for (const auto& [name, choice] : choices) {
    if (name == text) out = choice;
  }
  return std::nullopt;
}

template <class T, std::size_t N>
std::string choice_name(const std::array<std::pair<std::string_view, T>, N>& choices, T value) {
  for (const auto& [name, choice] : choices) {
    if (choice == value) return std::string{name};
  }
  return "";
}

schema::Problem read_selector(const TomlValue& value, CaseSelector& out) {
  if (!value.is(Kind::table)) return fmt::format("should be a table such as {{ \"replay.at_once\" = 1 }}, found {}", shown(value));
  // An unquoted dotted key makes nested tables: replay.at_once = 1 is { replay = { at_once = 1 } }.
  const std::function<schema::Problem(const TomlValue&, const std::string&)> walk = [&](const TomlValue& table, const std::string& prefix) -> schema::Problem {
    for (const auto& [name, member] : table.members) {
      const std::string path = prefix.empty() ? name : prefix + "." + name;
      if (member.is(Kind::table)) {
        if (auto problem = walk(member, path)) return problem;
        continue;
      }
      // As in a sweep, "unset" means the case that leaves the key out.
      if (member.is(Kind::text) && member.text == "unset") {
        out.emplace_back(path, member.text);
        continue;
      }
      auto value_of_key = normalised(path, member);
      if (!value_of_key) return fmt::format("names a case wrongly: {}", value_of_key.error().what);
      out.emplace_back(path, short_text(*value_of_key));
    }
    return std::nullopt;
  };
  return walk(value, "");
}

Status read_expectation(const TomlValue& table, int number, Expectation& out, const Places& places) {
  const std::string path = fmt::format("expect[{}]", number);
  out.line = table.line;
  std::vector<TomlValue> order;
  for (const auto& [name, value] : table.members) {
    schema::Problem problem;
    if (name == "metric") {
      std::string text;
      problem = schema::Codec<std::string>::read(value, text, {});
      if (!problem) {
        const auto metric = parse_metric(text);
        if (!metric) return refuse(places, value, fmt::format("{}: {}", path, metric.error().what));
        out.metric = metric->text();
      }
    } else if (name == "op") {
      problem = read_choice(value, kOps, out.op);
    } else if (name == "value") {
      if (value.is(Kind::text)) {
        out.text = value.text;
      } else {
        problem = schema::Codec<std::optional<double>>::read(value, out.value, {});
      }
    } else if (name == "tolerance") {
      if (value.is(Kind::text)) {
        const auto percent = read_percent(value.text);
        if (percent) {
          out.tolerance = *percent;
        } else {
          problem = fmt::format("= \"{}\" {}", value.text, percent.error());
        }
      } else {
        problem = schema::Codec<std::optional<double>>::read(value, out.tolerance_abs, schema::real_between(0, 1e18));
      }
    } else if (name == "margin") {
      const auto percent = value.is(Kind::text) ? read_percent(value.text) : Read<double>{std::unexpected(std::string{"is not a percentage; one such as \"5%\" was expected"})};
      if (percent) {
        out.margin = *percent;
      } else {
        problem = fmt::format("= {} {}", shown(value), percent.error());
      }
    } else if (name == "order") {
      if (!value.is(Kind::list)) {
        problem = fmt::format("should be a list of values of the key `over`, found {}", shown(value));
      } else {
        order = value.items;
      }
    } else if (name == "over") {
      problem = schema::Codec<std::string>::read(value, out.order_key, {});
    } else if (name == "of") {
      problem = read_selector(value, out.of);
    } else if (name == "versus") {
      CaseSelector selector;
      problem = read_selector(value, selector);
      out.versus = std::move(selector);
    } else if (name == "box") {
      problem = read_choice(value, kBoxes, out.box);
    } else if (name == "guess") {
      if (value.is(Kind::text)) {
        out.guess_text = value.text;
      } else {
        problem = schema::Codec<std::optional<double>>::read(value, out.guess, {});
      }
    } else if (name == "source") {
      problem = schema::Codec<std::string>::read(value, out.source, {});
    } else if (name == "inputs") {
      problem = schema::Codec<std::string>::read(value, out.inputs, {});
    } else {
      return unknown(places, value, "expect[]", name);
    }
    if (problem) return refuse(places, value, fmt::format("{}.{} {}", path, name, *problem));
  }
  if (out.metric.empty()) return refuse(places, table, fmt::format("{} has no metric", path));
  if (!order.empty()) {
    if (out.order_key.empty()) return refuse(places, table, fmt::format("{} has an order but no `over`, the swept key whose values are ordered", path));
    for (const TomlValue& item : order) {
      const auto value = normalised(out.order_key, item);
      if (!value) return refuse(places, table, fmt::format("{}.order: {}", path, value.error().what));
      out.order.push_back(short_text(*value));
    }
  }
  return {};
}

Json typed_json(const std::string& key, const std::string& text) {
  const auto value = typed_value(key, text);
  if (!value) return text;
  const auto json = normalised(key, *value);
  return json ? *json : Json(text);
}

Json selector_json(const CaseSelector& selector) {
  Json out = Json::object();
  for (const auto& [key, text] : selector) out[key] = typed_json(key, text);
  return out;
}

Json expectation_json(const Expectation& e) {
  Json out = Json::object();
  out["metric"] = e.metric;
  out["op"] = choice_name(kOps, e.op);
  if (e.value) out["value"] = *e.value;
  if (e.text) out["value"] = *e.text;
  if (e.tolerance) out["tolerance"] = percent_text(*e.tolerance);
  if (e.tolerance_abs) out["tolerance"] = *e.tolerance_abs;
  if (e.margin) out["margin"] = percent_text(*e.margin);
  if (!e.order.empty()) {
    Json order = Json::array();
    for (const std::string& text : e.order) order.push_back(typed_json(e.order_key, text));
    out["order"] = std::move(order);
  }
  if (!e.order_key.empty()) out["over"] = e.order_key;
  if (!e.of.empty()) out["of"] = selector_json(e.of);
  if (e.versus) out["versus"] = selector_json(*e.versus);
  out["box"] = choice_name(kBoxes, e.box);
  if (e.guess) out["guess"] = *e.guess;
  if (e.guess_text) out["guess"] = *e.guess_text;
  if (!e.source.empty()) out["source"] = e.source;
  if (!e.inputs.empty()) out["inputs"] = e.inputs;
  return out;
}

}  // namespace

std::string Places::of(const TomlValue& value) const {
  if (!value.origin.empty()) return value.origin;
  if (value.line > 0) return fmt::format("{}, line {}", where_, value.line);
  return where_;
}

std::string Places::of(std::string_view path) const {
  const TomlValue* at = root_;
  const TomlValue* last = nullptr;
  while (at != nullptr && !path.empty()) {
    const std::size_t dot = path.find('.');
    std::string_view segment = path.substr(0, dot);
    path = dot == std::string_view::npos ? std::string_view{} : path.substr(dot + 1);
    std::optional<std::size_t> index;
    if (const std::size_t open = segment.find('['); open != std::string_view::npos) {
      std::size_t n = 0;
      std::from_chars(segment.data() + open + 1, segment.data() + segment.size() - 1, n);
      index = n - 1;
      segment = segment.substr(0, open);
    }
    at = at->find(segment);
    if (at != nullptr && index) at = *index < at->items.size() ? &at->items[*index] : nullptr;
    if (at != nullptr) last = at;
  }
  return last == nullptr ? where_ : of(*last);
}

Result<Experiment> read_experiment(const TomlValue& root, const Places& places) {
  Experiment out;
  static const std::vector<std::string_view> sections = {"archive", "replay", "job", "pipeline", "memory", "filesystem",
                                                         "device", "target", "box", "knobs", "sweep", "expect"};
  SPILLWAY_TRY(read_section(root, "", "", schema::root_section(), out, places, sections));
  SPILLWAY_TRY(read_table(root, "archive", schema::archive_section(), out.archive, places));
  SPILLWAY_TRY(read_table(root, "replay", schema::replay_section(), out.replay, places));
  SPILLWAY_TRY(read_jobs(root, out, places));
  SPILLWAY_TRY(read_pipeline(root, out, places));
  SPILLWAY_TRY(read_table(root, "memory", schema::memory_section(), out.memory, places));
  SPILLWAY_TRY(read_table(root, "filesystem", schema::filesystem_section(), out.filesystem, places));
  SPILLWAY_TRY(read_table(root, "device", schema::device_section(), out.device, places));
  SPILLWAY_TRY(read_table(root, "target", schema::target_section(), out.target, places));
  SPILLWAY_TRY(read_table(root, "box", schema::box_section(), out.box, places));
  SPILLWAY_TRY(read_knobs(root, out, places));
  out.has_replay = (root.find("replay") != nullptr && (out.replay.untars > 0 || out.jobs.empty())) || (out.jobs.empty() && !out.pipeline);
  if (const TomlValue* expects = root.find("expect")) {
    SPILLWAY_TRY(must_be_tables(*expects, "expect", places));
    for (const TomlValue& item : expects->items) {
      Expectation expectation;
      SPILLWAY_TRY(read_expectation(item, static_cast<int>(out.expectations.size()) + 1, expectation, places));
      out.expectations.push_back(std::move(expectation));
    }
  }
  return out;
}

nlohmann::ordered_json effective_json(const Experiment& e) {
  Json out = write_section(schema::root_section(), e);
  out["archive"] = e.has_replay ? write_section(schema::archive_section(), e.archive) : Json(nullptr);
  out["replay"] = e.has_replay || e.replay.untars == 0 ? write_section(schema::replay_section(), e.replay) : Json(nullptr);
  out["job"] = Json::array();
  for (const JobSpec& job : e.jobs) out["job"].push_back(write_section(schema::job_section(), job));
  out["pipeline"] = nullptr;
  if (e.pipeline) {
    Json pipeline = write_section(schema::pipeline_section(), *e.pipeline);
    pipeline["host"] = Json::array();
    for (const HostSpec& host : e.pipeline->hosts) pipeline["host"].push_back(write_section(schema::host_section(), host));
    pipeline["stage"] = Json::array();
    for (const StageSpec& stage : e.pipeline->stages) pipeline["stage"].push_back(write_section(schema::stage_section(), stage));
    out["pipeline"] = std::move(pipeline);
  }
  out["memory"] = write_section(schema::memory_section(), e.memory);
  out["filesystem"] = write_section(schema::filesystem_section(), e.filesystem);
  out["device"] = write_section(schema::device_section(), e.device);
  out["target"] = write_section(schema::target_section(), e.target);
  out["box"] = write_section(schema::box_section(), e.box);
  out["knobs"] = Json::object();
  for (const auto& [name, text] : e.knobs) out["knobs"][name] = text;
  out["expect"] = Json::array();
  for (const Expectation& expectation : e.expectations) out["expect"].push_back(expectation_json(expectation));
  return out;
}

}  // namespace spillway
