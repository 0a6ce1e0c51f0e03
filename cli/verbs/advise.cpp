/// spillway advise: which settings, by how much, at what price, and how to check it; and the ledger of what was said before.

#include "analysis/advice/ledger.hpp"
#include "analysis/metrics/metric_value.hpp"
#include "analysis/report/text.hpp"
#include "analysis/verdict/mechanism.hpp"
#include "analysis/verdict/words.hpp"
#include "cli/advise/check_experiment.hpp"
#include "cli/advise/search.hpp"
#include "cli/exit_code.hpp"
#include "cli/options.hpp"
#include "cli/record_files.hpp"
#include "cli/talk.hpp"
#include "cli/verbs/verbs.hpp"
#include "workload/record/file_io.hpp"
#include "workload/record/record_io.hpp"

#include <cmath>
#include <ctime>
#include <filesystem>
#include <fmt/chrono.h>
#include <fmt/core.h>
#include <fstream>
#include <nlohmann/json.hpp>

namespace spillway::cli {

namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

struct AimName {
  const char* word;
  const char* metric;
  const char* what;
};
constexpr AimName kAims[] = {{"untars_end", "total.untars_end_s", "end of the untars"},
                             {"stall", "stall.longest_s", "longest stall"},
                             {"steadiness", "total.untars_cv_pct", "unevenness of the untars"},
                             {"durable", "total.durable_s", "time until durable"}};

/// What else a change may cost: looked at for every advice, named when it is worse by more than 2 %.
constexpr AimName kPrices[] = {{"", "total.untars_end_s", "end of the untars"},
                               {"", "total.durable_s", "time until durable"},
                               {"", "phase[sync].elapsed_s", "sync"},
                               {"", "stall.longest_s", "longest stall"},
                               {"", "total.untars_cv_pct", "unevenness of the untars"},
                               {"", "total.cpu_s", "CPU"}};

Result<std::vector<std::string>> aims_of(const std::string& text) {
  std::vector<std::string> aims;
  std::string word;
  for (const char c : text + ",") {
    if (c != ',') {
      word += c;
      continue;
    }
    if (word.empty()) continue;
    std::string metric = word;
    for (const AimName& aim : kAims) {
      if (word == aim.word) metric = aim.metric;
    }
    if (const auto known = parse_metric(metric); !known) {
      return fail(ErrorKind::bad_input, fmt::format("--aim {}: it is none of untars_end, stall, steadiness, durable, and as a metric: {}", word, known.error().what));
    }
    aims.push_back(metric);
    word.clear();
  }
  if (aims.empty()) return fail(ErrorKind::bad_input, "--aim: expected untars_end, stall, steadiness, durable or a metric, or several with commas");
  return aims;
}

std::string utc_now() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))); }

/// "sync 11.4 -> 28.1 s, up 147 %; at most 2.4GB not on disk when the power fails".
std::vector<std::string> prices(const SearchResult& result, const Advice& advice, const std::string& aim) {
  std::vector<std::string> out;
  for (const AimName& price : kPrices) {
    if (price.metric == aim) continue;
    const auto before = analysis::metric_value(result.base, price.metric);
    const auto after = analysis::metric_value(advice.record, price.metric);
    if (!before || !after || *after <= 1.02 * *before || *after - *before < 1e-3) continue;
    const auto name = parse_metric(price.metric);
    const std::string unit = name && name->info != nullptr ? std::string{name->info->unit} : "";
    std::string line = fmt::format("{} {} -> {} {}", price.what, analysis::number_words(*before), analysis::number_words(*after), unit);
    if (*before > 0) line += ", " + analysis::change_words(*after / *before, std::nullopt);
    out.push_back(line);
  }
  for (const auto& [key, value] : advice.settings) {
    if (key == "memory.dirty_bytes") out.push_back(fmt::format("up to {} are only in memory when the power fails", value));
    if (key == "replay.engine") out.push_back(fmt::format("another program unpacks: {} is `spillway extract`, not tar", value));
  }
  return out;
}

/// The unknown inputs under which an advice gains nothing, or less than half.
std::vector<std::string> overturned_by(const Advice& advice) {
  std::vector<std::string> out;
  const double gain = std::abs(1 - advice.ratio);
  const double sign = advice.ratio < 1 ? 1 : -1;
  for (const Variation& one : advice.variations) {
    const double there = sign * (1 - one.ratio);
    if (there >= 0.5 * gain) continue;
    const std::string change = analysis::change_words(one.ratio, std::nullopt);
    out.push_back(fmt::format("{}: {}", one.what, std::abs(there) < 0.005 ? "no gain" : there > 0 ? "only " + change : change + ", which is worse than nothing"));
  }
  return out;
}

std::optional<analysis::Interval> range_of(const Advice& advice) {
  if (advice.variations.empty()) return std::nullopt;
  return analysis::Interval{advice.low, advice.high, 0};
}

Status append(const std::string& file, const std::string& text) {
  std::ofstream out(file, std::ios::app);
  out << text;
  out.flush();
  if (!out) return fail(ErrorKind::refused, fmt::format("{}: could not be written", file));
  return {};
}

Result<analysis::Ledger> ledger_of(const std::string& file) {
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return analysis::Ledger{};
  SPILLWAY_ASSIGN(const std::string text, read_file(file));
  return analysis::read_ledger(text, file);
}

/// --ledger with --score: what the records say of the predictions, appended; then the whole ledger.
int score_ledger(const std::string& file, const std::vector<std::string>& paths, bool as_json) {
  auto ledger = ledger_of(file);
  if (!ledger) return report(ledger.error());
  std::vector<Record> records;
  for (const std::string& path : paths) {
    auto found = read_records_at(path);
    if (!found) return report(found.error());
    for (auto& [name, record] : *found) records.push_back(std::move(record));
  }
  std::string lines;
  for (const analysis::Prediction& prediction : ledger->predictions) {
    std::vector<std::string> left_out;
    for (const analysis::Score& one : analysis::score(prediction, records, &left_out)) {
      lines += analysis::ledger_line(one);
      ledger->scores.push_back(one);
    }
    for (const std::string& sentence : left_out) say(sentence);
  }
  if (!paths.empty() && lines.empty()) say("None of these records checks a prediction of this ledger.");
  if (!lines.empty()) {
    if (const auto kept = append(file, lines); !kept) return report(kept.error());
  }
  if (as_json) {
    Json json{{"schema", "spillway.advise/1"}, {"ledger", Json::array()}};
    for (const analysis::Prediction& one : ledger->predictions) json["ledger"].push_back(Json::parse(analysis::ledger_line(one)));
    for (const analysis::Score& one : ledger->scores) json["ledger"].push_back(Json::parse(analysis::ledger_line(one)));
    fmt::print("{}\n", json.dump(1));
  } else {
    fmt::print("{}", analysis::ledger_text(*ledger));
  }
  return kDone;
}

}  // namespace

int run_advise(const std::vector<std::string>& arguments) {
  Options options("advise FILE",
                  "Searches the settings that a user may change in the simulated box, prints the best few with gain, price and what could\n"
                  "overturn them, and writes the experiment that checks each. With --ledger alone, or with --score: what became of it.");
  options.positional("file", "FILE is an experiment of one case, for example experiments/quick.toml.", 1);
  options.group("Advice")
      ("aim", po::value<std::string>()->default_value("untars_end")->value_name("AIM,..."), "untars_end, stall, steadiness, durable, or a metric; the next ones break ties")
      ("best", po::value<int>()->default_value(3)->value_name("N"), "so many pieces of advice at most")
      ("write", po::value<std::string>()->default_value("out/advise")->value_name("DIR"), "where the experiments go that check them")
      ("set", po::value<std::vector<std::string>>()->composing()->value_name("KEY=VALUE"), "change a key of the file; repeatable")
      ("like", po::value<std::string>()->value_name("RECORD"), "take box, settings and the state before the run from this real record")
      ("threads", po::value<int>()->default_value(0)->value_name("N"), "simulated boxes at once (0: one per core)");
  options.group("Ledger")
      ("ledger", po::value<std::string>()->value_name("FILE"), "keep the predictions in this file, before the run; without FILE: print it")
      ("score", po::value<std::vector<std::string>>()->multitoken()->composing()->value_name("RECORD"), "hold these records of checks against the ledger");
  options.group("Output")("json", po::bool_switch(), "one object on stdout, schema spillway.advise/1");
  auto parsed = options.parse(arguments);
  if (!parsed) return report(parsed.error());
  if (parsed->help) return kDone;
  const bool as_json = parsed->get<bool>("json");
  if (parsed->all("file").empty()) {
    if (parsed->has("ledger")) return score_ledger(parsed->get<std::string>("ledger"), parsed->all("score"), as_json);
    return report({ErrorKind::bad_input, 0, "advise: give an experiment file, or --ledger FILE to see what became of earlier advice"});
  }
  if (parsed->has("score")) return report({ErrorKind::bad_input, 0, "advise: --score goes with --ledger, without an experiment"});

  SearchQuestion question{.file = parsed->all("file").front(), .set = parsed->all("set"), .aims = {}, .best = static_cast<std::size_t>(std::max(1, parsed->get<int>("best"))), .box = {}};
  auto aims = aims_of(parsed->get<std::string>("aim"));
  if (!aims) return report(aims.error());
  question.aims = *aims;
  question.box.name = "simulated";
  question.box.threads = std::max(0, parsed->get<int>("threads"));
  if (parsed->has("like")) {
    question.box.like_path = parsed->get<std::string>("like");
    auto like = read_record(question.box.like_path);
    if (!like) return report(like.error());
    question.box.like = std::make_shared<const Record>(*std::move(like));
  }
  analysis::Ledger ledger;
  if (parsed->has("ledger")) {
    auto read = ledger_of(parsed->get<std::string>("ledger"));
    if (!read) return report(read.error());
    ledger = *std::move(read);
  }
  const auto result = search_settings(question);
  if (!result) return report(result.error());

  const std::string& aim = question.aims.front();
  const Experiment& asked = result->file.cases.front().experiment;
  const double base_value = analysis::metric_value(result->base, aim).value_or(0);
  const auto name_of_aim = parse_metric(aim);
  const std::string unit = name_of_aim && name_of_aim->info != nullptr ? " " + std::string{name_of_aim->info->unit} : "";
  Json json{{"schema", "spillway.advise/1"}, {"experiment", asked.name}, {"aims", question.aims}, {"base", base_value}, {"simulated", result->simulated},
            {"advice", Json::array()}, {"not_judged", result->not_judged}};
  std::string out = analysis::wrap(fmt::format("Aim: {}. As it is, {}{} are predicted. {} settings were simulated.", aim, analysis::number_words(base_value), unit, result->simulated));
  if (result->advice.empty()) out += analysis::wrap("No setting that was tried gains more than 2 %.");
  std::string lines;
  const std::string short_aim = aim.substr(aim.find('.') == std::string::npos ? 0 : aim.find('.') + 1);
  for (std::size_t i = 0; i < result->advice.size(); ++i) {
    const Advice& advice = result->advice[i];
    // A name that no earlier line of the ledger has, so that a record of an earlier check cannot score this prediction.
    std::string name;
    for (std::size_t n = ledger.predictions.size() + i + 1;; ++n) {
      name = fmt::format("{}-{}-{}", asked.name, short_aim, n);
      if (std::ranges::none_of(ledger.predictions, [&](const analysis::Prediction& p) { return p.check == name; })) break;
    }
    const auto check = check_experiment(*result, advice, name, aim);
    if (!check) return report(check.error());
    const fs::path file = fs::path{parsed->get<std::string>("write")} / (name + ".toml");
    if (const auto again = parse_experiment(check->text, file); !again) {
      return report({ErrorKind::internal, 0, fmt::format("advise: the experiment that it wrote cannot be read: {}", again.error().what)});
    }
    std::error_code error;
    fs::create_directories(file.parent_path(), error);
    if (const auto written = write_file_atomically(file, check->text); !written) return report(written.error());
    const double value = analysis::metric_value(advice.record, aim).value_or(0);
    const std::string gain = analysis::change_words(advice.ratio, range_of(advice));
    out += "\n" + analysis::wrap(fmt::format("{}. {}", i + 1, analysis::settings_words(advice.settings)), "", "   ");
    out += analysis::wrap(fmt::format("predicted {}: {} -> {}{}", gain, analysis::number_words(base_value), analysis::number_words(value), unit), "   ", "     ");
    const std::vector<std::string> paid = prices(*result, advice, aim);
    for (const std::string& line : paid) out += analysis::wrap("price: " + line, "   ", "     ");
    const std::vector<std::string> doubts = overturned_by(advice);
    for (const std::string& line : doubts) out += analysis::wrap("could be overturned by " + line, "   ", "     ");
    if (doubts.empty() && !advice.variations.empty()) {
      out += analysis::wrap(fmt::format("none of the {} unknown inputs that were varied takes half of the gain away", advice.variations.size()), "   ", "     ");
    }
    const std::vector<Record> sides{result->base, advice.record};
    analysis::CaseRecords before{.keys = {}, .box = "simulated", .simulated = true, .repeats = {&sides[0]}};
    analysis::CaseRecords after{.keys = {}, .box = "simulated", .simulated = true, .repeats = {&sides[1]}};
    const std::string because = analysis::mechanism_words(before, after);
    if (!because.empty()) out += analysis::wrap("because: " + because, "   ", "     ");
    out += analysis::wrap("check: spillway verify " + file.string() + " --box real", "   ", "     ");
    Json one{{"settings", Json::object()}, {"predicted", value}, {"ratio", advice.ratio}, {"low", advice.low}, {"high", advice.high}, {"price", paid},
             {"overturned_by", doubts}, {"because", because}, {"check", file.string()}};
    for (const auto& [key, setting] : advice.settings) one["settings"][key] = setting;
    json["advice"].push_back(std::move(one));
    lines += analysis::ledger_line(analysis::Prediction{.id = name, .made = utc_now(), .experiment = asked.name, .check = name, .metric = aim, .base = check->base,
                                                        .advised = check->advised, .base_value = base_value, .advised_value = value, .low = advice.low, .high = advice.high});
  }
  if (parsed->has("ledger") && !lines.empty()) {
    if (const auto kept = append(parsed->get<std::string>("ledger"), lines); !kept) return report(kept.error());
    out += "\n" + analysis::wrap(fmt::format("Kept in {}. After the checks: spillway advise --ledger {} --score out/real", parsed->get<std::string>("ledger"), parsed->get<std::string>("ledger")));
  }
  if (!result->not_judged.empty()) {
    out += "\n" + analysis::wrap(fmt::format("Not judged, {} settings:", result->not_judged.size()));
    for (const std::string& sentence : result->not_judged) out += analysis::wrap(sentence, "  ", "    ");
  }
  if (as_json) fmt::print("{}\n", json.dump(1));
  else fmt::print("{}", out);
  return kDone;
}

}  // namespace spillway::cli
