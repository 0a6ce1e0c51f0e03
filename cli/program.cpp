#include "cli/verb.hpp"

#include "cli/exit_code.hpp"
#include "cli/nearest.hpp"
#include "cli/talk.hpp"
#include "cli/version.hpp"

#include <algorithm>
#include <fmt/core.h>

namespace spillway::cli {

namespace {

void print_help() {
  fmt::print("Usage: spillway VERB [arguments]\n\n"
             "Shows where writeback makes an untar wait, why, and what a setting changes: in a\n"
             "simulated box and on a real kernel, from the same experiment file.\n\n");
  for (const Verb& verb : verbs()) fmt::print("  {:<10} {}\n", verb.name, verb.summary);
  fmt::print("\nspillway VERB --help says more. spillway --version prints the version.\n"
             "Exit: 0 done, 1 an expectation not met, 2 wrong use or bad file, 3 the box refused,\n"
             "77 the box cannot, 128 + N ended by signal N.\n");
}

}  // namespace

int run_program(const std::vector<std::string>& words) {
  if (words.empty()) {
    print_help();
    return kWrongUse;
  }
  const std::string& first = words.front();
  if (first == "--help" || first == "-h" || first == "help") {
    if (first == "help" && words.size() > 1) return run_program({words[1], "--help"});
    print_help();
    return kDone;
  }
  if (first == "--version") {
    fmt::print("spillway {}\n", version());
    return kDone;
  }
  if (first == "--verbs") {  // for scripts
    for (const Verb& verb : verbs()) fmt::print("{}\n", verb.name);
    return kDone;
  }
  const auto known = verbs();
  const auto found = std::find_if(known.begin(), known.end(), [&](const Verb& verb) { return first == verb.name; });
  if (found == known.end()) {
    std::vector<std::string> names;
    for (const Verb& verb : known) names.emplace_back(verb.name);
    const std::string near = nearest(first, names);
    return report({ErrorKind::bad_input, 0, fmt::format("there is no verb \"{}\"{}; `spillway --help` lists them", first,
                                                        near.empty() ? "" : fmt::format(", the nearest is \"{}\"", near))});
  }
  return found->run({words.begin() + 1, words.end()});
}

}  // namespace spillway::cli
