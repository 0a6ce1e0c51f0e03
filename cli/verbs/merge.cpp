/// spillway merge: the shards of a sweep into one table.

#include "cli/campaign/table_log.hpp"
#include "cli/exit_code.hpp"
#include "cli/options.hpp"
#include "cli/talk.hpp"
#include "cli/verbs/verbs.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace spillway::cli {

int run_merge(const std::vector<std::string>& arguments) {
  Options options("merge DIR...",
                  "Puts the point logs that `spillway simulate --shard i/n` wrote together into one table, byte for byte\n"
                  "the one that an unsharded run writes.");
  options.positional("dir", "DIR is a folder that --out named; all logs below it are taken. Several: shards made on\nmachines without a common disk. Exit: 0 the table is written, 3 points are missing and it is not.", -1);
  options.group("Output")
      ("to", po::value<std::string>()->default_value("table.csv"), "the table to write")
      ("partial", po::bool_switch(), "write it also while points are missing")
      ("json", po::bool_switch(), "one object on stdout, schema spillway.merge/1");
  auto parsed = options.parse(arguments);
  if (!parsed) return report(parsed.error());
  if (parsed->help) return kDone;
  const auto folders = parsed->all("dir");
  if (folders.empty()) return report({ErrorKind::bad_input, 0, "merge: give the folders that --out named; `spillway merge --help` says more"});
  std::vector<std::filesystem::path> logs;
  for (const std::string& folder : folders) {
    const auto below = campaign::table_logs_below(folder);
    if (below.empty()) say(fmt::format("No table*.log below {}.", folder));
    logs.insert(logs.end(), below.begin(), below.end());
  }
  const auto merged = campaign::merge_tables(logs, parsed->get<std::string>("to"), parsed->get<bool>("partial"));
  if (!merged) return report(merged.error());
  const bool written = merged->missing == 0 || parsed->get<bool>("partial");
  if (merged->missing > 0) {
    std::string which;
    for (const campaign::Point& point : merged->first_missing) {
      which += fmt::format("{}case {} repeat {}", which.empty() ? "" : ", ", point.case_index + 1, point.repeat);
    }
    say(fmt::format("{} of {} points are missing (first: {}): run the shards again, they do only the rest{}.", merged->missing,
                    merged->missing + merged->points, which, written ? "" : ", or give --partial"));
  }
  if (parsed->get<bool>("json")) {
    const nlohmann::ordered_json json{{"schema", "spillway.merge/1"},  {"table", written ? merged->file.string() : ""},
                                      {"points", merged->points},      {"missing", merged->missing},
                                      {"experiment", merged->identity.experiment}, {"digest", merged->identity.digest}};
    fmt::print("{}\n", json.dump(1));
  } else if (written) {
    fmt::print("{}\n", merged->file.string());
  }
  return written ? kDone : kRefused;
}

}  // namespace spillway::cli
