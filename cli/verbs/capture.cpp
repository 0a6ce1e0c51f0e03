/// spillway capture: describes a box as a profile that `simulate` runs on.

#include "cli/exit_code.hpp"
#include "cli/options.hpp"
#include "cli/talk.hpp"
#include "cli/verbs/verbs.hpp"
#include "workload/real/capture/box_facts.hpp"
#include "workload/real/capture/box_texts.hpp"
#include "workload/real/capture/profile_text.hpp"
#include "workload/record/file_io.hpp"

#include <filesystem>
#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace spillway::cli {

namespace {

namespace fs = std::filesystem;

std::string host_name() {
  char name[256]{};
  return ::gethostname(name, sizeof name - 1) == 0 && name[0] != '\0' ? std::string{name} : std::string{"captured"};
}

Status write_all(const fs::path& folder, const real::BoxTexts& texts, const std::string& profile, const std::string& experiment) {
  SPILLWAY_TRY(write_file_atomically(folder / "profile.toml", profile));
  SPILLWAY_TRY(write_file_atomically(folder / "experiment.toml", experiment));
  for (const auto& [name, text] : texts.by_name) SPILLWAY_TRY(write_file_atomically(folder / "texts" / (name + ".txt"), text));
  return {};
}

}  // namespace

int run_capture(const std::vector<std::string>& arguments) {
  std::string names;
  for (const auto& source : real::text_sources()) names += fmt::format("\n  {:9} {:40} {}", source.name, source.command, source.tells);
  Options options("capture",
                  "Describes a box as a profile for `simulate`: kernel, HZ, CPUs, memory, dirty limits, file system, device stack.\n"
                  "Changes nothing, and works as an ordinary user as far as the kernel allows; says what it could not see.\n"
                  "With --from it reads pasted files of another box; their names, and what they come from:" + names);
  options.group("Box")("from", po::value<std::string>()->value_name("DIR"), "a folder of pasted files instead of this box")
      ("mount", po::value<std::string>()->default_value("")->value_name("DIR"), "the file system that is asked about (default: the first XFS, else /)")
      ("name", po::value<std::string>()->value_name("NAME"), "name of the profile (default: the host's, or the folder's)");
  options.group("Output")
      ("out", po::value<std::string>()->value_name("DIR"), "write profile.toml, experiment.toml and the texts here (default: the profile on stdout)")
      ("json", po::bool_switch(), "one object on stdout, schema spillway.capture/1");
  auto parsed = options.parse(arguments);
  if (!parsed) return report(parsed.error());
  if (parsed->help) return kDone;
  real::BoxTexts texts;
  std::string name = host_name();
  if (parsed->has("from")) {
    const fs::path from = parsed->get<std::string>("from");
    auto pasted = real::read_pasted_texts(from);
    if (!pasted) return report(pasted.error());
    texts = *std::move(pasted);
    name = fs::absolute(from).lexically_normal().filename().string();
    if (name.empty()) name = "captured";
  } else {
    texts = real::read_box_texts(parsed->get<std::string>("mount"));
  }
  if (parsed->has("name")) name = parsed->get<std::string>("name");
  const real::BoxFacts facts = real::facts_of(texts);
  const std::string profile = real::profile_text(facts, name);
  for (const std::string& sentence : facts.missing) say("not seen: " + sentence);
  if (parsed->has("out")) {
    const fs::path folder = parsed->get<std::string>("out");
    if (const auto written = write_all(folder, texts, profile, real::experiment_text(facts, name, "profile.toml")); !written) return report(written.error());
    say(fmt::format("Next: spillway simulate {}", (folder / "experiment.toml").string()));
  }
  if (parsed->get<bool>("json")) {
    nlohmann::ordered_json json{{"schema", "spillway.capture/1"}, {"name", name}, {"profile", profile}, {"not_seen", facts.missing}, {"texts", texts.by_name}};
    fmt::print("{}\n", json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  } else if (!parsed->has("out")) {
    fmt::print("{}", profile);
  }
  return kDone;
}

}  // namespace spillway::cli
