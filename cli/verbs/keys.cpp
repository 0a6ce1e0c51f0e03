/// spillway keys: what an experiment file and an expectation may say.

#include "cli/exit_code.hpp"
#include "cli/options.hpp"
#include "cli/talk.hpp"
#include "cli/verbs/verbs.hpp"
#include "workload/experiment/keys.hpp"
#include "workload/record/metric.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace spillway::cli {

namespace {

using Json = nlohmann::ordered_json;

std::string full_name(const MetricInfo& metric) {
  std::string name{metric.group};
  if (!metric.selector.empty()) name += fmt::format("[{}]", metric.selector);
  if (!metric.field.empty()) name += fmt::format(".{}", metric.field);
  return name;
}

void print_json() {
  Json json{{"schema", "spillway.keys/1"}, {"keys", Json::array()}, {"metrics", Json::array()}};
  for (const KeyInfo& key : all_keys()) {
    json["keys"].push_back({{"key", key.key}, {"section", key.section}, {"kind", key.kind}, {"default", key.default_text},
                            {"meaning", key.meaning}, {"boxes", key.boxes}, {"choices", key.choices}});
  }
  for (const MetricInfo& metric : all_metrics()) {
    json["metrics"].push_back({{"name", full_name(metric)}, {"unit", metric.unit}, {"meaning", metric.meaning}, {"better", metric.better}});
  }
  fmt::print("{}\n", json.dump(1));
}

}  // namespace

int run_keys(const std::vector<std::string>& arguments) {
  Options options("keys", "Lists every key of an experiment file (kind, default, meaning, which box heeds it) and every metric that\n"
                          "[[expect]], advise and compare can name.");
  options.group("Output")("metrics", po::bool_switch(), "the metrics only")("markdown", po::bool_switch(), "the keys as a Markdown table")
      ("json", po::bool_switch(), "one object on stdout, schema spillway.keys/1");
  auto parsed = options.parse(arguments);
  if (!parsed) return report(parsed.error());
  if (parsed->help) return kDone;
  if (parsed->get<bool>("json")) {
    print_json();
    return kDone;
  }
  if (parsed->get<bool>("markdown")) {
    fmt::print("{}", keys_markdown());
    return kDone;
  }
  if (!parsed->get<bool>("metrics")) fmt::print("{}\nMetrics\n", keys_text());
  for (const MetricInfo& metric : all_metrics()) fmt::print("{:<36} {:<12} {}\n", full_name(metric), metric.unit, metric.meaning);
  return kDone;
}

}  // namespace spillway::cli
