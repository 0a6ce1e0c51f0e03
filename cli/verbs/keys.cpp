/// spillway keys: what an experiment file and an expectation may say.

#include "cli/options.hpp"
#include "cli/talk.hpp"
#include "cli/exit_code.hpp"
#include "cli/verbs/verbs.hpp"
#include "workload/record/metric.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace spillway::cli {

namespace {

std::string full_name(const MetricInfo& metric) {
  std::string name{metric.group};
  if (!metric.selector.empty()) name += fmt::format("[{}]", metric.selector);
  if (!metric.field.empty()) name += fmt::format(".{}", metric.field);
  return name;
}

void print_json() {
  nlohmann::ordered_json json{{"schema", "spillway.keys/1"}, {"metrics", nlohmann::ordered_json::array()}};
  for (const MetricInfo& metric : all_metrics()) {
    json["metrics"].push_back({{"name", full_name(metric)}, {"unit", metric.unit}, {"meaning", metric.meaning}, {"better", metric.better}});
  }
  fmt::print("{}\n", json.dump(1));
}

}  // namespace

int run_keys(const std::vector<std::string>& arguments) {
  Options options("keys", "Lists the metrics that [[expect]], advise and compare can name: name, unit, meaning.");
  options.group("Output")("json", po::bool_switch(), "one object on stdout, schema spillway.keys/1");
  auto parsed = options.parse(arguments);
  if (!parsed) return report(parsed.error());
  if (parsed->help) return kDone;
  if (parsed->get<bool>("json")) {
    print_json();
    return kDone;
  }
  for (const MetricInfo& metric : all_metrics()) fmt::print("{:<36} {:<12} {}\n", full_name(metric), metric.unit, metric.meaning);
  return kDone;
}

}  // namespace spillway::cli
