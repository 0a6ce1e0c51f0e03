/// spillway simulate: an experiment in the simulated box.

#include "cli/campaign_run.hpp"
#include "cli/exit_code.hpp"
#include "cli/talk.hpp"
#include "cli/verbs/verbs.hpp"

namespace spillway::cli {

int run_simulate(const std::vector<std::string>& arguments) {
  Options options("simulate FILE",
                  "Runs an experiment in the simulated box, on all cores. What comes out is a prediction. Results stream to\n"
                  "disk as points end; after Ctrl-C or a kill the same command does only the rest, and the table is the same.");
  options.positional("file", "FILE is an experiment (TOML), for example experiments/quick.toml.", 1);
  add_campaign_options(options, false);
  auto parsed = options.parse(arguments);
  if (!parsed) return report(parsed.error());
  if (parsed->help) return kDone;
  if (parsed->all("file").empty()) return report({ErrorKind::bad_input, 0, "simulate: give an experiment file; `spillway simulate --help` says more"});
  auto settings = campaign_settings(*parsed, false);
  if (!settings) return report(settings.error());
  settings->box.name = "simulated";
  auto file = load(parsed->all("file").front(), *settings);
  if (!file) return report(file.error());
  settings->command = command_line("simulate", arguments);
  const auto run = run_experiment(*std::move(file), *settings, stop_rule(*settings));
  if (!run) return report(run.error());
  print_results(*run, *settings, "simulate");
  return conclude(*run);
}

}  // namespace spillway::cli
