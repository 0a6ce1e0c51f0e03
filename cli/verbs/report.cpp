/// spillway report: the plain-text mail of 72 columns.

#include "analysis/report/effective_toml.hpp"
#include "analysis/report/mail.hpp"
#include "analysis/verdict/judge.hpp"
#include "cli/exit_code.hpp"
#include "cli/options.hpp"
#include "cli/record_files.hpp"
#include "cli/talk.hpp"
#include "cli/verbs/verbs.hpp"
#include "workload/experiment/parse.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace spillway::cli {

namespace {

/// What repeats these records: the verb of their box on the file that is in the mail.
std::string command_for(const Record& record, const std::string& file) {
  const std::string verb = record.box.kind == "simulated" ? "simulate" : "run";
  std::string box;
  if (record.box.kind == "kernel") box = record.box.name.empty() ? " --box kernel" : " --box kernel:" + record.box.name;
  if (record.box.kind == "vm") box = " --box vm";
  return fmt::format("spillway {} {}{} --seed {}", verb, file, box, record.seed);
}

}  // namespace

int run_report(const std::vector<std::string>& arguments) {
  Options options("report RECORD...",
                  "Prints a mail for a list: question, answer, table, text plots, where the time went, environment, what was\n"
                  "changed and put back, and the experiment file, which can be cut out and run. No line is over 72 columns.");
  options.positional("record", "RECORD is a record.json, a folder r<N>, or a folder above: all records below it.", -1);
  options.group("Report")
      ("experiment", po::value<std::string>()->value_name("FILE"),
       "the experiment file, put into the mail and its [[expect]] judged (default: the effective experiment of the first record)")
      ("json", po::bool_switch(), "one object on stdout, schema spillway.report/1");
  auto parsed = options.parse(arguments);
  if (!parsed) return report(parsed.error());
  if (parsed->help) return kDone;
  if (parsed->all("record").empty()) return report({ErrorKind::bad_input, 0, "report: give a record, or a folder of records"});

  std::vector<Record> records;
  std::filesystem::path first;
  for (const std::string& path : parsed->all("record")) {
    auto found = read_records_at(path);
    if (!found) return report(found.error());
    for (auto& [file, record] : *found) {
      if (records.empty()) first = file;
      records.push_back(std::move(record));
    }
  }
  const auto timeline = timeline_beside(first);
  analysis::MailInput input{.records = records, .timeline = timeline ? &*timeline : nullptr, .experiment_source = "", .command = "",
                            .verdict = std::nullopt, .seed = records.front().seed};
  if (parsed->has("experiment")) {
    const std::string path = parsed->get<std::string>("experiment");
    const auto file = load_experiment(path);
    if (!file) return report(file.error());
    input.experiment_source = file->source_text;
    input.command = command_for(records.front(), path);
    if (!file->base.expectations.empty()) input.verdict = analysis::judge(file->base.expectations, records);
  } else {
    input.experiment_source = analysis::effective_toml(records.front().experiment);
    input.command = command_for(records.front(), (records.front().experiment_name.empty() ? "experiment" : records.front().experiment_name) + ".toml");
  }
  const auto mail = analysis::report_mail(input);
  if (!mail) return report(mail.error());
  if (parsed->get<bool>("json")) {
    fmt::print("{}\n", nlohmann::ordered_json{{"schema", "spillway.report/1"}, {"mail", *mail}}.dump(1));
  } else {
    fmt::print("{}", *mail);
  }
  return kDone;
}

}  // namespace spillway::cli
