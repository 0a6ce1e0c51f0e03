/// spillway doctor: what this box can do.

#include "cli/exit_code.hpp"
#include "cli/options.hpp"
#include "cli/talk.hpp"
#include "cli/verbs/verbs.hpp"
#include "workload/real/provision/doctor.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace spillway::cli {

int run_doctor(const std::vector<std::string>& arguments) {
  Options options("doctor", "Looks at what the real box needs: rights, file systems, loop devices, limits, tracing, tools. Changes\n"
                            "nothing; says how to get what is missing.");
  options.group("Output")("json", po::bool_switch(), "one object on stdout, schema spillway.doctor/1");
  auto parsed = options.parse(arguments);
  if (!parsed) return report(parsed.error());
  if (parsed->help) return kDone;
  const std::vector<real::Finding> findings = real::examine_box();
  if (!parsed->get<bool>("json")) {
    fmt::print("{}", real::doctor_text(findings));
    return kDone;
  }
  nlohmann::ordered_json json{{"schema", "spillway.doctor/1"}, {"findings", nlohmann::ordered_json::array()}};
  for (const real::Finding& finding : findings) {
    json["findings"].push_back({{"what", finding.what}, {"works", finding.works}, {"detail", finding.detail}, {"serves", finding.serves},
                                {"remedy", finding.remedy}});
  }
  fmt::print("{}\n", json.dump(1));
  return kDone;
}

}  // namespace spillway::cli
