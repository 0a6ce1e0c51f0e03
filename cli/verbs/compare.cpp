/// spillway compare: records side by side; a simulation against a real run.

#include "analysis/compare/comparison.hpp"
#include "analysis/compare/simulation_score.hpp"
#include "analysis/null_model.hpp"
#include "analysis/verdict/case_selection.hpp"
#include "cli/exit_code.hpp"
#include "cli/options.hpp"
#include "cli/record_files.hpp"
#include "cli/talk.hpp"
#include "cli/verbs/verbs.hpp"
#include "plots/overlay.hpp"
#include "plots/render.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <optional>

namespace spillway::cli {

namespace {

using Json = nlohmann::ordered_json;

/// The repeats of one argument: those of the first case below it.
struct Named {
  std::string path;
  std::vector<std::pair<std::filesystem::path, Record>> files;
  std::vector<const Record*> repeats;
  std::optional<Timeline> timeline;
  bool simulated = false;
};

Result<Named> read_side(const std::string& path) {
  Named side{.path = path, .files = {}, .repeats = {}, .timeline = {}, .simulated = false};
  SPILLWAY_ASSIGN(side.files, read_records_at(path));
  const Record& first = side.files.front().second;
  for (const auto& [file, record] : side.files) {
    if (record.case_keys == first.case_keys && analysis::box_label(record) == analysis::box_label(first)) side.repeats.push_back(&record);
  }
  if (side.repeats.size() < side.files.size()) {
    say(fmt::format("{}: holds several cases; its first, with {} repeat{}, is compared. Name a case's folder for another.", path, side.repeats.size(),
                    side.repeats.size() == 1 ? "" : "s"));
  }
  side.timeline = timeline_beside(side.files.front().first);
  side.simulated = analysis::is_simulated(first);
  return side;
}

Json to_json(const analysis::Comparison& comparison) {
  Json json{{"a", comparison.a_name}, {"b", comparison.b_name}, {"a_repeats", comparison.a_repeats}, {"b_repeats", comparison.b_repeats},
            {"differences", comparison.differences}, {"rows", Json::array()}};
  for (const analysis::ComparedRow& row : comparison.rows) {
    Json one{{"what", row.what}, {"unit", row.unit}, {"a", row.a}, {"b", row.b}, {"ratio", row.ratio}};
    if (row.interval) one["interval"] = {row.interval->low, row.interval->high};
    if (row.p) one["p"] = *row.p;
    json["rows"].push_back(std::move(one));
  }
  return json;
}

Json to_json(const analysis::ScoreSummary& s) {
  Json json{{"untars_pct", s.untars_pct}, {"finish_pct", s.finish_pct}, {"untars_end_pct", s.untars_end_pct}, {"durable_pct", s.durable_pct}};
  const auto put = [&](const char* key, const std::optional<double>& value) {
    if (value) json[key] = *value;
  };
  put("full_speed_pct", s.full_speed_pct);
  put("transition_pct", s.transition_pct);
  put("throttled_pct", s.throttled_pct);
  put("sync_pct", s.sync_pct);
  put("timeline_pct", s.timeline_pct);
  return json;
}

Json to_json(const analysis::SimulationScore& score) {
  Json json{{"real_repeats", score.real_repeats}, {"simulated_repeats", score.simulated_repeats}, {"cpu_points", score.cpu_points},
            {"cpu_s_pct", score.cpu_s_pct}, {"simulated", to_json(score.simulated)}, {"parts", Json::array()}};
  if (score.null) json["null_model"] = to_json(*score.null);
  for (const auto* parts : {&score.untars, &score.finishes, &score.phases, &score.totals}) {
    for (const analysis::ScoredPart& part : *parts) {
      Json one{{"what", part.what}, {"real_s", part.real_s}, {"simulated_s", part.simulated_s}, {"error_pct", part.error_pct}};
      if (part.null_error_pct) one["null_error_pct"] = *part.null_error_pct;
      if (part.spread_pct) one["spread_pct"] = *part.spread_pct;
      json["parts"].push_back(std::move(one));
    }
  }
  return json;
}

/// The overlay figure into a folder; one that cannot be drawn is said and takes nothing away.
void draw_overlay(const Named& real, const Named& simulated, const std::string& folder) {
  std::vector<double> null_finish;
  const auto model = analysis::null_model_for(*real.repeats.front(), real.timeline ? &*real.timeline : nullptr);
  if (model) {
    const analysis::NullResult null = analysis::run_null_model(*model);
    for (std::size_t i = 0; i < null.start_s.size(); ++i) null_finish.push_back(null.start_s[i] + null.elapsed_s[i]);
  }
  std::vector<Record> repeats;
  for (const Record* record : real.repeats) repeats.push_back(*record);
  static constexpr plots::Format kFormats[] = {plots::Format::png, plots::Format::svg, plots::Format::text};
  const auto pictures = plots::render(plots::overlay_figure(repeats, *simulated.repeats.front(), null_finish), folder, kFormats);
  if (!pictures) say("no figure: " + pictures.error().what);
  else say("figure: " + pictures->front().string());
}

}  // namespace

int run_compare(const std::vector<std::string>& arguments) {
  Options options("compare A B...",
                  "Holds records side by side: ratio of each untar, phase and total to A's, with interval. Where one side is\n"
                  "real and the other simulated: the simulation's error, beside that of a leaky bucket.");
  options.positional("record", "A, B are records, or folders with the repeats of one case.", -1);
  options.group("Comparison")
      ("force", po::bool_switch(), "compare other experiments, and other amounts of work, all the same")
      ("figure", po::value<std::string>()->value_name("DIR"), "draw predicted over measured into this folder")
      ("json", po::bool_switch(), "one object on stdout, schema spillway.compare/1");
  auto parsed = options.parse(arguments);
  if (!parsed) return report(parsed.error());
  if (parsed->help) return kDone;
  const std::vector<std::string> paths = parsed->all("record");
  if (paths.size() < 2) return report({ErrorKind::bad_input, 0, "compare: give two records at least, or folders of records"});
  std::vector<Named> sides;
  for (const std::string& path : paths) {
    auto side = read_side(path);
    if (!side) return report(side.error());
    sides.push_back(*std::move(side));
  }
  const analysis::CompareOptions how{.level = 0.95, .force = parsed->get<bool>("force")};
  Json json{{"schema", "spillway.compare/1"}, {"comparisons", Json::array()}};
  const bool as_json = parsed->get<bool>("json");
  for (std::size_t i = 1; i < sides.size(); ++i) {
    const Named& a = sides.front();
    const Named& b = sides[i];
    if (!as_json && i > 1) fmt::print("\n");
    if (a.simulated != b.simulated) {
      const Named& real = a.simulated ? b : a;
      const Named& simulated = a.simulated ? a : b;
      const auto score = analysis::score_simulation({.records = real.repeats, .timeline = real.timeline ? &*real.timeline : nullptr},
                                                    {.records = simulated.repeats, .timeline = simulated.timeline ? &*simulated.timeline : nullptr}, how);
      if (!score) return report(score.error());
      json["comparisons"].push_back(to_json(*score));
      if (!as_json) fmt::print("{}", analysis::score_table(*score));
      if (parsed->has("figure")) draw_overlay(real, simulated, parsed->get<std::string>("figure"));
    } else {
      const auto comparison = analysis::compare_records(a.repeats, b.repeats, how);
      if (!comparison) return report(comparison.error());
      json["comparisons"].push_back(to_json(*comparison));
      if (!as_json) fmt::print("{}", analysis::comparison_table(*comparison));
    }
  }
  if (as_json) fmt::print("{}\n", json.dump(1));
  return kDone;
}

}  // namespace spillway::cli
