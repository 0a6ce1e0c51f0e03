/// spillway restore: put back what an interrupted run left.

#include "cli/exit_code.hpp"
#include "cli/options.hpp"
#include "cli/talk.hpp"
#include "cli/verbs/verbs.hpp"
#include "workload/real/journal/journal.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace spillway::cli {

int run_restore(const std::vector<std::string>& arguments) {
  Options options("restore", "Takes back what a run left that could not do it itself (SIGKILL, power loss): processes, limits, mounts,\n"
                             "loop devices, settings, in that order. Does nothing when nothing is left; refused while a run is alive.");
  options.group("Output")("json", po::bool_switch(), "one object on stdout, schema spillway.restore/1");
  auto parsed = options.parse(arguments);
  if (!parsed) return report(parsed.error());
  if (parsed->help) return kDone;
  const auto undone = real::restore(real::state_directory());
  if (!undone) return report(undone.error());
  if (parsed->get<bool>("json")) {
    const nlohmann::ordered_json json{{"schema", "spillway.restore/1"}, {"undone", undone->undone}, {"failures", undone->failures}};
    fmt::print("{}\n", json.dump(1));
  } else {
    for (const std::string& sentence : undone->undone) fmt::print("{}\n", sentence);
    if (undone->undone.empty() && undone->clean()) fmt::print("Nothing was left.\n");
  }
  for (const std::string& sentence : undone->failures) say("not put back: " + sentence);
  return undone->clean() ? kDone : kRefused;
}

}  // namespace spillway::cli
