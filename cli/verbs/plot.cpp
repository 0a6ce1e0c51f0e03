/// spillway plot: the figures of records.

#include "cli/exit_code.hpp"
#include "cli/figures.hpp"
#include "cli/options.hpp"
#include "cli/record_files.hpp"
#include "cli/sweep_points.hpp"
#include "cli/talk.hpp"
#include "cli/verbs/verbs.hpp"
#include "workload/record/file_io.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace spillway::cli {

namespace {

/// Names what was drawn: into the object, or on stdout with the text figures where they are to be shown.
void tell(const std::vector<std::filesystem::path>& pictures, bool json, bool show, nlohmann::ordered_json& object) {
  for (const auto& picture : pictures) {
    object["figures"].push_back(picture.string());
    if (json) continue;
    if (show && picture.extension() == ".txt") fmt::print("{}\n", spillway::read_file(picture).value_or(""));
    fmt::print("{}\n", picture.string());
  }
}

}  // namespace

int run_plot(const std::vector<std::string>& arguments) {
  Options options("plot RECORD...", "Draws every figure that a record can fill; script and data stay beside the pictures.");
  options.positional("record", "RECORD is a record.json, a folder r<N>, or a folder above: all records below it.", -1);
  options.group("Sweep")
      ("against", po::value<std::string>()->value_name("KEY"), "draw a sweep instead: the metric against this swept key")
      ("by", po::value<std::string>()->default_value("")->value_name("KEY"), "a curve per value of this second key, and a heat map")
      ("where", po::value<std::vector<std::string>>()->composing()->value_name("KEY=VALUE"), "only cases with this value of a swept key; repeatable")
      ("metric", po::value<std::string>()->default_value("total.untars_end_s")->value_name("METRIC"), "what is drawn; `spillway keys` lists them")
      ("to", po::value<std::string>()->default_value("figures")->value_name("DIR"), "where the sweep's figures go");
  options.group("Output")
      ("format", po::value<std::vector<std::string>>()->composing()->value_name("FORMAT"), "png, svg or text; repeatable (default: all)")
      ("show", po::bool_switch(), "print the text figures")
      ("json", po::bool_switch(), "one object on stdout, schema spillway.plot/1");
  auto parsed = options.parse(arguments);
  if (!parsed) return report(parsed.error());
  if (parsed->help) return kDone;
  if (parsed->all("record").empty()) return report({ErrorKind::bad_input, 0, "plot: give a record, or a folder of records"});
  std::vector<plots::Format> formats;
  for (const std::string& text : parsed->all("format")) {
    const auto format = plots::parse_format(text);
    if (!format) return report(format.error());
    formats.push_back(*format);
  }
  if (formats.empty()) formats = {plots::Format::png, plots::Format::svg, plots::Format::text};
  const bool as_json = parsed->get<bool>("json");
  const bool show = parsed->get<bool>("show");
  nlohmann::ordered_json json{{"schema", "spillway.plot/1"}, {"figures", nlohmann::ordered_json::array()}};
  if (parsed->has("against")) {
    std::vector<Record> records;
    for (const std::string& path : parsed->all("record")) {
      auto found = read_records_at(path);
      if (!found) return report(found.error());
      for (auto& [file, record] : *found) records.push_back(std::move(record));
    }
    if (const auto chosen = keep_where(records, parsed->all("where")); !chosen) return report(chosen.error());
    const auto sweep = sweep_figures(records, parsed->get<std::string>("metric"), parsed->get<std::string>("against"), parsed->get<std::string>("by"));
    if (!sweep) return report(sweep.error());
    for (const plots::Figure& figure : sweep->figures) {
      const auto pictures = plots::render(figure, parsed->get<std::string>("to"), formats);
      if (!pictures) return report(pictures.error());
      tell(*pictures, as_json, show, json);
    }
    if (as_json) fmt::print("{}\n", json.dump(1));
    return kDone;
  }
  for (const std::string& path : parsed->all("record")) {
    const auto found = read_records_at(path);
    if (!found) return report(found.error());
    for (const auto& [file, record] : *found) {
      const auto pictures = draw(std::span(&record, 1), file.parent_path(), formats);
      if (!pictures) return report(pictures.error());
      tell(*pictures, as_json, show, json);
    }
  }
  if (as_json) fmt::print("{}\n", json.dump(1));
  return kDone;
}

}  // namespace spillway::cli
