/// spillway run: an experiment on a kernel.

#include "analysis/report/effective_toml.hpp"
#include "cli/campaign_run.hpp"
#include "cli/exit_code.hpp"
#include "cli/talk.hpp"
#include "cli/verbs/verbs.hpp"
#include "workload/record/box_differences.hpp"
#include "workload/record/record_io.hpp"

#include <fmt/core.h>

namespace spillway::cli {

namespace {

int dry_run(const ExperimentFile& file, const CampaignSettings& settings) {
  const auto boxes = make_boxes(settings.box);
  if (!boxes) return report(boxes.error());
  Box& box = *boxes->front();
  int code = kDone;
  for (const Case& item : file.cases) {
    if (file.cases.size() > 1) fmt::print("== {}\n", item.folder);
    const auto plan = box.plan(item);
    if (!plan) {
      code = report(plan.error());
      continue;
    }
    for (const std::string& sentence : *plan) fmt::print("{}\n", sentence);
    if (const auto able = box.check(item); !able) code = report(able.error());
  }
  return code;
}

/// The experiment that a record holds, as if it came from a file beside us.
Result<ExperimentFile> load_like(const Record& record, const CampaignSettings& settings) {
  if (record.experiment.is_null() || record.experiment.empty()) return fail(ErrorKind::bad_input, "--like: the record holds no experiment");
  return parse_experiment(analysis::effective_toml(record.experiment), record.experiment_name + ".toml", settings.overrides);
}

void say_differences(const Record& before, const Record& now) {
  const auto differences = box_differences(before.box, now.box);
  if (differences.empty()) say(fmt::format("r{}: this box is like the record's in all that a record holds", now.repeat));
  for (const std::string& sentence : differences) say(fmt::format("r{}: {}", now.repeat, sentence));
}

}  // namespace

int run_run(const std::vector<std::string>& arguments) {
  Options options("run FILE",
                  "Runs an experiment on a kernel: makes the archive and the disk, changes the settings (journalled, put\n"
                  "back on every exit), untars, measures. Complete repeats are kept: the same command goes on where it ended.");
  options.positional("file", "FILE is an experiment (TOML), for example experiments/quick.toml.", 1);
  options.group("Box")("box", po::value<std::string>()->default_value("real")->value_name("BOX"),
                       "real: the kernel that runs here; kernel[:NAME]: another one in virtual time; vm: Debian's in a virtual machine");
  add_campaign_options(options, true);
  auto parsed = options.parse(arguments);
  if (!parsed) return report(parsed.error());
  if (parsed->help) return kDone;
  const bool like = parsed->has("like");
  if (parsed->all("file").empty() && !like) return report({ErrorKind::bad_input, 0, "run: give an experiment file, or --like RECORD; `spillway run --help` says more"});
  if (!parsed->all("file").empty() && like) return report({ErrorKind::bad_input, 0, "run: either an experiment file or --like RECORD, which holds its own"});
  auto settings = campaign_settings(*parsed, true);
  if (!settings) return report(settings.error());
  settings->box.name = parsed->get<std::string>("box");
  if (kind_of(settings->box) == "simulated") return report({ErrorKind::bad_input, 0, "run --box simulated: use `spillway simulate`"});
  Record model;
  if (like) {
    auto record = read_record(parsed->get<std::string>("like"));
    if (!record) return report(record.error());
    model = *std::move(record);
  }
  auto file = like ? load_like(model, *settings) : load(parsed->all("file").front(), *settings);
  if (!file) return report(file.error());
  if (parsed->get<bool>("dry-run")) return dry_run(*file, *settings);
  settings->command = command_line("run", arguments);
  const auto run = run_experiment(*std::move(file), *settings, stop_rule(*settings));
  if (!run) return report(run.error());
  print_results(*run, *settings, "run");
  if (like)
    for (const Case& item : run->file.cases)
      for (const Record& record : records_of(*run, item)) say_differences(model, record);
  return conclude(*run);
}

}  // namespace spillway::cli
