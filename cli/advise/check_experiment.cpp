#include "cli/advise/check_experiment.hpp"

#include "analysis/report/effective_toml.hpp"
#include "analysis/verdict/words.hpp"

#include <filesystem>
#include <fmt/format.h>

namespace spillway::cli {

namespace {

using Json = nlohmann::ordered_json;

/// The member of a dotted path, or null. Keys of knobs hold dots themselves and stand under [knobs] whole.
const Json* member(const Json& tree, const std::string& path) {
  const std::size_t dot = path.find('.');
  if (dot == std::string::npos) return tree.contains(path) ? &tree[path] : nullptr;
  const std::string section = path.substr(0, dot);
  if (!tree.contains(section) || !tree[section].is_object()) return nullptr;
  const std::string rest = path.substr(dot + 1);
  return tree[section].contains(rest) ? &tree[section][rest] : nullptr;
}

/// A value as TOML: a list as it is, numbers and truths bare, the rest quoted.
std::string toml_value(const std::string& text) {
  const Json parsed = Json::parse(text, nullptr, false);
  if (!parsed.is_discarded() && !parsed.is_string()) return text;
  return Json(text).dump();
}

std::string selector(const analysis::Settings& settings) {
  std::string out;
  for (const auto& [key, value] : settings) out += fmt::format("{}{} = {}", out.empty() ? "" : ", ", Json(key).dump(), toml_value(value));
  return "{ " + out + " }";
}

}  // namespace

Result<CheckExperiment> check_experiment(const SearchResult& result, const Advice& advice, const std::string& name, const std::string& aim) {
  const Case& base = result.file.cases.front();
  Json effective = base.effective;
  CheckExperiment out;
  out.advised = advice.settings;
  for (const auto& [key, value] : advice.settings) {
    const Json* now = member(effective, key);
    out.base.emplace_back(key, now == nullptr || now->is_null() ? "unset" : now->is_string() ? now->get<std::string>() : now->dump());
  }
  // The check stands in another folder than the file that it comes from.
  if (effective.contains("archive") && effective["archive"].contains("path") && !effective["archive"]["path"].get<std::string>().empty()) {
    effective["archive"]["path"] = std::filesystem::absolute(std::filesystem::path{base.experiment.folder} / effective["archive"]["path"].get<std::string>()).lexically_normal().string();
  }
  effective["title"] = fmt::format("Check of the advice for {}: {}", base.experiment.name, analysis::settings_words(advice.settings));
  effective["question"] = fmt::format("Does {} change as predicted, {}?", aim, analysis::change_words(advice.ratio, std::nullopt));
  effective["name"] = name;
  effective["repeats"] = 5;
  effective["order"] = "blocks";
  std::string keys, row_base, row_advised;
  for (std::size_t i = 0; i < advice.settings.size(); ++i) {
    const char* comma = i == 0 ? "" : ", ";
    keys += comma + Json(advice.settings[i].first).dump();
    row_base += comma + toml_value(out.base[i].second);
    row_advised += comma + toml_value(advice.settings[i].second);
  }
  const bool down = advice.ratio < 1;
  // A hit is half of the predicted gain.
  const double half = (1 + advice.ratio) / 2;
  out.text = "# Written by spillway advise. The first case is the box as asked about, the second the advice.\n" + analysis::effective_toml(effective);
  out.text += fmt::format("\n[[sweep]]\nkeys = [{}]\nrows = [\n  [{}],\n  [{}],\n]\n", keys, row_base, row_advised);
  const std::string of = selector(out.advised), versus = selector(out.base);
  out.text += fmt::format("\n[[expect]]\nmetric = \"{}\"\nop = \"{}\"\nof = {}\nversus = {}\nsource = \"spillway advise\"\ninputs = \"predicted {:.4g} times the base, {:.4g} to {:.4g} over the unknown inputs\"\n",
                          aim, down ? "down" : "up", of, versus, advice.ratio, advice.low, advice.high);
  out.text += fmt::format("\n[[expect]]\nmetric = \"{}\"\nop = \"{}\"\nvalue = {:.6g}\nof = {}\nversus = {}\nsource = \"spillway advise: half of the predicted gain\"\ninputs = \"as above\"\n",
                          aim, down ? "at_most" : "at_least", half, of, versus);
  return out;
}

}  // namespace spillway::cli
