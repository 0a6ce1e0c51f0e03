/// spillway conform: a kernel's throttle decisions against the simulated controller.

#include "cli/exit_code.hpp"
#include "cli/options.hpp"
#include "cli/talk.hpp"
#include "cli/verbs/verbs.hpp"
#include "workload/conform/conform.hpp"
#include "workload/record/file_io.hpp"

#include <filesystem>
#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <optional>

namespace spillway::cli {

namespace {

using conform::TraceTable;

struct Traces {
  std::optional<TraceTable> decisions, updates;
};

Status read_into(const std::filesystem::path& file, Traces& traces) {
  SPILLWAY_ASSIGN(const std::string text, read_file(file));
  SPILLWAY_ASSIGN(TraceTable table, TraceTable::parse(text, file.string()));
  // Which of the two it is, its columns say.
  (table.has("balanced_dirty_ratelimit") ? traces.updates : traces.decisions) = std::move(table);
  return {};
}

/// A file, or a run's folder with bdp.csv and ratelimit.csv. Beside a bdp.csv its ratelimit.csv is read as well.
Result<Traces> read_traces(const std::vector<std::string>& arguments) {
  namespace fs = std::filesystem;
  Traces traces;
  for (const std::string& argument : arguments) {
    std::error_code ignored;
    if (!fs::is_directory(argument, ignored)) {
      SPILLWAY_TRY(read_into(argument, traces));
      continue;
    }
    bool found = false;
    for (const char* name : {"bdp.csv", "ratelimit.csv"}) {
      if (!fs::exists(fs::path{argument} / name, ignored)) continue;
      found = true;
      SPILLWAY_TRY(read_into(fs::path{argument} / name, traces));
    }
    if (!found) return fail(ErrorKind::bad_input, fmt::format("{}: neither bdp.csv nor ratelimit.csv is in this folder; give a repeat's folder (.../r1) of `spillway run`", argument));
  }
  return traces;
}

nlohmann::ordered_json to_json(const conform::Conformance& result) {
  nlohmann::ordered_json json{{"schema", "spillway.conform/1"}, {"met", result.met()}, {"hz", result.hz}, {"decisions", result.decisions},
                              {"decisions_not_exact", result.decisions_not_exact}, {"updates", result.updates}, {"checks", nlohmann::ordered_json::array()}};
  for (const conform::Check& check : result.checks) {
    nlohmann::ordered_json one{{"check", check.name}, {"checked", check.checked}, {"exact", check.exact}, {"required_pct", check.required_pct}, {"met", check.met()},
                               {"diverged", nlohmann::ordered_json::array()}};
    if (!check.why_not_all.empty()) one["why_not_all"] = check.why_not_all;
    for (const conform::Divergence& d : check.diverged) one["diverged"].push_back({{"file", d.file}, {"line", d.line}, {"t_s", d.t_s}, {"what", d.what}});
    json["checks"].push_back(std::move(one));
  }
  return json;
}

}  // namespace

int run_conform(const std::vector<std::string>& arguments) {
  Options options("conform TRACE...",
                  "Feeds the simulated controller with the inputs of every throttle decision that a kernel took, and holds the\n"
                  "results against the kernel's: counts, and the first divergence. Exit 1: not as required.");
  options.positional("trace", "TRACE is a repeat's folder of `spillway run`, or its bdp.csv, its ratelimit.csv.", -1);
  options.group("Comparison")
      ("pauses", po::value<double>()->default_value(99)->value_name("PCT"), "how many of the pauses must be exact to the jiffy, in %")
      ("hz", po::value<int>()->default_value(0)->value_name("HZ"), "ticks per second of the kernel, where the trace does not say it")
      ("json", po::bool_switch(), "one object on stdout, schema spillway.conform/1");
  auto parsed = options.parse(arguments);
  if (!parsed) return report(parsed.error());
  if (parsed->help) return kDone;
  if (parsed->all("trace").empty()) return report({ErrorKind::bad_input, 0, "conform: give a trace: a repeat's folder of `spillway run`, or its bdp.csv"});
  const auto traces = read_traces(parsed->all("trace"));
  if (!traces) return report(traces.error());
  const auto result = conform::conform(traces->decisions ? &*traces->decisions : nullptr, traces->updates ? &*traces->updates : nullptr, parsed->get<int>("hz"), parsed->get<double>("pauses"));
  if (!result) return report(result.error());
  if (parsed->get<bool>("json")) fmt::print("{}\n", to_json(*result).dump(1));
  else fmt::print("{}", conform::conformance_text(*result));
  return result->met() ? kDone : kNotMet;
}

}  // namespace spillway::cli
