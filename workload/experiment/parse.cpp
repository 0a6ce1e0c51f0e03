#include "workload/experiment/parse.hpp"

#include "workload/experiment/effective.hpp"
#include "workload/experiment/keys.hpp"
#include "workload/experiment/relations.hpp"
#include "workload/experiment/sweep.hpp"
#include "workload/record/file_io.hpp"
#include "workload/record/metric.hpp"

#include <algorithm>
#include <fmt/core.h>

namespace spillway {

namespace {

std::string case_text(const CaseKeys& keys) {
  std::string out;
  for (const auto& [key, value] : keys) out += (out.empty() ? "" : ", ") + key + " = " + value;
  return out;
}

void name_experiment(Experiment& experiment, const std::filesystem::path& path) {
  if (experiment.name.empty()) experiment.name = path.stem().string();
  if (experiment.name.empty()) experiment.name = "experiment";
  experiment.folder = path.has_parent_path() ? path.parent_path().string() : ".";
}

Status check_name(const Experiment& experiment, const Places& places) {
  const bool safe = std::all_of(experiment.name.begin(), experiment.name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-' || c == '+';
  });
  if (safe && !experiment.name.starts_with('.') && experiment.name.size() <= 80) return {};
  return fail(ErrorKind::bad_input, fmt::format("{}: the name \"{}\" is to be a folder: letters, digits and ._-+ only, at most 80", places.of("name"), experiment.name));
}

/// The selectors of expectations must be able to meet a case. With --set and --sweep they may well miss.
Status check_selectors(const ExperimentFile& file, const Places& places, bool overridden) {
  const auto& sweeps = file.base.sweeps;
  const auto swept = [&sweeps](const std::string& key, const std::string* value) {
    for (const SweepSpec& sweep : sweeps) {
      for (std::size_t i = 0; i < sweep.keys.size(); ++i) {
        if (sweep.keys[i] != key) continue;
        if (value == nullptr) return true;
        return std::any_of(sweep.rows.begin(), sweep.rows.end(), [&](const auto& row) { return row[i] == *value; });
      }
    }
    return false;
  };
  for (std::size_t n = 0; n < file.base.expectations.size(); ++n) {
    const Expectation& x = file.base.expectations[n];
    const std::string path = fmt::format("expect[{}]", n + 1);
    const auto say = [&](std::string sentence) { return fail(ErrorKind::bad_input, fmt::format("{}: {}: {}", places.of(path), path, sentence)); };
    const auto check = [&](const CaseSelector& selector) -> Status {
      for (const auto& [key, value] : selector) {
        if (!swept(key, nullptr)) {
          if (overridden) continue;
          return say(fmt::format("{} = {} picks a case, but {} is not swept", key, value, key));
        }
        if (!overridden && !swept(key, &value)) return say(fmt::format("{} = {} picks a case, but the sweep has no such value", key, value));
      }
      return {};
    };
    SPILLWAY_TRY(check(x.of));
    if (x.versus) SPILLWAY_TRY(check(*x.versus));
    if (x.op == ExpectOp::ordered && !overridden) {
      for (const std::string& value : x.order) {
        if (!swept(x.order_key, &value)) return say(fmt::format("the order has {} = {}, but the sweep has no such value", x.order_key, value));
      }
    }
    const auto metric = parse_metric(x.metric);
    const auto k = metric ? metric->number() : std::nullopt;
    if (metric && metric->group == "untar" && k && !overridden) {
      const bool some = std::any_of(file.cases.begin(), file.cases.end(), [&](const Case& c) { return *k <= c.experiment.replay.untars; });
      if (!some) return say(fmt::format("{} is asked for, but there are only {} untars", x.metric, file.cases.front().experiment.replay.untars));
    }
  }
  return {};
}

}  // namespace

Result<ExperimentFile> parse_experiment(const std::string& text, const std::filesystem::path& where, const Overrides& overrides) {
  const std::string file_name = where.empty() ? "experiment" : where.filename().string();
  SPILLWAY_ASSIGN(TomlValue root, parse_toml(text, file_name));
  const Places places{root, file_name};

  ExperimentFile file;
  file.source_text = text;
  file.path = where;
  SPILLWAY_ASSIGN(std::vector<SweepSpec> sweeps, read_sweeps(root, places));
  // The file by itself comes first, so that its mistakes are reported with their lines.
  SPILLWAY_TRY(read_experiment(root, places));
  SPILLWAY_TRY(apply_overrides(root, sweeps, overrides));
  SPILLWAY_ASSIGN(file.base, read_experiment(root, places));
  file.base.sweeps = sweeps;
  name_experiment(file.base, where);
  SPILLWAY_TRY(check_name(file.base, places));

  SPILLWAY_ASSIGN(const std::vector<CaseKeys> all_keys_of_cases, expand(sweeps, file_name));
  for (const CaseKeys& keys : all_keys_of_cases) {
    TomlValue tree = root;
    for (const auto& [key, value] : keys) SPILLWAY_TRY(assign(tree, key, value, fmt::format("{}, case {} = {}", file_name, key, value)));
    const Places own_places{tree, file_name};
    const auto with_case = [&keys](Error error) {
      if (!keys.empty()) error.what += fmt::format(" (in the case {})", case_text(keys));
      return std::unexpected(std::move(error));
    };
    auto experiment = read_experiment(tree, own_places);
    if (!experiment) return with_case(experiment.error());
    name_experiment(*experiment, where);
    if (const Status related = check_relations(*experiment, own_places, file.warnings); !related) return with_case(related.error());
    Case item;
    item.effective = effective_json(*experiment);
    item.experiment = *std::move(experiment);
    item.keys = keys;
    item.folder = case_folder(keys);
    file.cases.push_back(std::move(item));
  }
  std::sort(file.warnings.begin(), file.warnings.end());
  file.warnings.erase(std::unique(file.warnings.begin(), file.warnings.end()), file.warnings.end());
  SPILLWAY_TRY(check_selectors(file, places, !overrides.set.empty() || !overrides.sweep.empty()));
  return file;
}

Result<ExperimentFile> load_experiment(const std::filesystem::path& file, const Overrides& overrides) {
  SPILLWAY_ASSIGN(const std::string text, read_file(file));
  return parse_experiment(text, file, overrides);
}

Result<Case> case_from_effective(const nlohmann::ordered_json& effective) {
  if (!effective.is_object()) return fail(ErrorKind::bad_input, "the record holds no experiment");
  const TomlValue root = from_json(effective);
  const Places places{root, "the record's experiment"};
  Case item;
  SPILLWAY_ASSIGN(item.experiment, read_experiment(root, places));
  std::vector<std::string> warnings;
  SPILLWAY_TRY(check_relations(item.experiment, places, warnings));
  if (item.experiment.name.empty()) item.experiment.name = "experiment";
  item.experiment.folder = ".";
  item.effective = effective_json(item.experiment);
  item.folder = "case";
  return item;
}

}  // namespace spillway
