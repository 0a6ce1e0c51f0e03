/// spillway calibrate: this box's costs, measured into a profile.

#include "cli/exit_code.hpp"
#include "cli/options.hpp"
#include "cli/talk.hpp"
#include "cli/verbs/verbs.hpp"
#include "workload/calibrate/calibrate.hpp"
#include "workload/calibrate/fit.hpp"
#include "workload/calibrate/profile_text.hpp"
#include "workload/record/file_io.hpp"
#include "workload/simulated/profile.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace spillway::cli {

int run_calibrate(const std::vector<std::string>& arguments) {
  Options options("calibrate",
                  "Measures what this box charges for the work that the simulated box models: copying, creating, closing,\n"
                  "writing back, completing, switching, memory bandwidth, the device below the target. Writes a profile for\n"
                  "box.profile. Takes under two minutes, needs root, leaves nothing behind.");
  options.group("Calibration")
      ("out", po::value<std::string>()->default_value("this-box.toml")->value_name("FILE"), "the profile to write")
      ("name", po::value<std::string>()->default_value("this-box")->value_name("NAME"), "its name")
      ("image", po::value<std::string>()->default_value("")->value_name("DIR"), "folder for the target's image; empty: the state folder")
      ("json", po::bool_switch(), "one object on stdout, schema spillway.calibrate/1");
  auto parsed = options.parse(arguments);
  if (!parsed) return report(parsed.error());
  if (parsed->help) return kDone;
  const auto measured = calibrate::measure_this_box(parsed->get<std::string>("image"), [](const std::string& step) { say("calibrate: " + step); });
  if (!measured) return report(measured.error());
  const auto values = calibrate::fit(*measured);
  const std::string text = calibrate::profile_text(parsed->get<std::string>("name"), fmt::format("this box, measured {} in {:.0f} s", measured->date, measured->seconds), values, measured->notes);
  const std::string& out = parsed->get<std::string>("out");
  // What the simulated box could not read again must not be left looking whole.
  if (const auto readable = simulated::parse_profile(text, out); !readable) return report(readable.error());
  if (const auto written = write_file_atomically(out, text); !written) return report(written.error());
  if (parsed->get<bool>("json")) {
    nlohmann::ordered_json json{{"schema", "spillway.calibrate/1"}, {"profile", out}, {"seconds", measured->seconds}, {"values", nlohmann::ordered_json::array()}, {"notes", measured->notes}};
    for (const auto& v : values) json["values"].push_back({{"section", v.section}, {"key", v.key}, {"value", v.value}, {"mark", v.mark}, {"source", v.source}});
    fmt::print("{}\n", json.dump(1));
    return kDone;
  }
  for (const auto& v : values) fmt::print("{:<8} {:<22} {:>12}\n", v.section, v.key, v.value);
  for (const auto& note : measured->notes) fmt::print("not measured: {}\n", note);
  fmt::print("{} written in {:.0f} s; use it with box.profile = \"{}\"\n", out, measured->seconds, out);
  return kDone;
}

}  // namespace spillway::cli
