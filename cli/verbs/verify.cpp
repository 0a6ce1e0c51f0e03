/// spillway verify: records against every [[expect]].

#include "analysis/verdict/advice_map.hpp"
#include "analysis/verdict/guesser.hpp"
#include "cli/campaign_run.hpp"
#include "cli/exit_code.hpp"
#include "cli/talk.hpp"
#include "cli/verbs/verbs.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <sstream>

namespace spillway::cli {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// Files as given, and every *.toml below folders, in the order of their names.
Result<std::vector<std::string>> experiment_files(const std::vector<std::string>& given) {
  std::vector<std::string> files;
  for (const std::string& path : given) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> below;
    for (fs::recursive_directory_iterator it{path, error}, end; !error && it != end; it.increment(error)) {
      if (it->path().extension() == ".toml") below.push_back(it->path().string());
    }
    if (below.empty()) return fail(ErrorKind::bad_input, fmt::format("{}: no *.toml below it", path));
    std::sort(below.begin(), below.end());
    files.insert(files.end(), below.begin(), below.end());
  }
  return files;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, ',');) {
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

/// "error +3.1 %; a guesser's 1 is not right (-45.0 %)"; empty where there is neither.
std::string beside(const analysis::Judgement& judgement, const std::optional<analysis::Guess>& guess) {
  std::string words;
  if (judgement.observed && judgement.expected) {
    if (const auto error = analysis::relative_error(*judgement.observed, *judgement.expected)) words = fmt::format("error {:+.1f} %", 100 * *error);
  }
  if (!guess) return words;
  words += fmt::format("{}a guesser's {} is {}", words.empty() ? "" : "; ", guess->words, guess->right ? "right" : "not right");
  if (guess->error) words += fmt::format(" ({:+.1f} %)", 100 * *guess->error);
  return words;
}

Json to_json(const analysis::Judgement& judgement) {
  Json json{{"metric", judgement.metric}, {"claim", judgement.claim}, {"case", judgement.case_name}, {"box", judgement.box},
            {"outcome", std::string{analysis::outcome_name(judgement.outcome)}}, {"words", judgement.words}, {"notes", judgement.notes},
            {"map_word", std::string{analysis::map_word(judgement)}}, {"repeats", judgement.repeats}};
  if (judgement.observed) json["observed"] = *judgement.observed;
  if (judgement.expected) json["expected"] = *judgement.expected;
  if (judgement.interval) json["interval"] = {judgement.interval->low, judgement.interval->high};
  if (!judgement.mechanism.empty()) json["mechanism"] = judgement.mechanism;
  if (judgement.more_repeats) json["more_repeats"] = *judgement.more_repeats;
  return json;
}

}  // namespace

int run_verify(const std::vector<std::string>& arguments) {
  Options options("verify FILE...",
                  "Runs experiments (complete repeats are kept) and holds the records against every [[expect]]: met or not,\n"
                  "predicted or measured, with interval; where a box cannot say, the verdict is refused with the reason.");
  options.positional("file", "FILE is an experiment, or a folder: every *.toml below it.", -1);
  options.group("Box")("box", po::value<std::string>()->default_value("simulated")->value_name("BOX,..."),
                       "simulated, real, kernel[:NAME], or a list of them");
  add_campaign_options(options, false);
  auto parsed = options.parse(arguments);
  if (!parsed) return report(parsed.error());
  if (parsed->help) return kDone;
  if (parsed->all("file").empty()) return report({ErrorKind::bad_input, 0, "verify: give an experiment file; `spillway verify --help` says more"});
  const auto files = experiment_files(parsed->all("file"));
  if (!files) return report(files.error());
  auto settings = campaign_settings(*parsed, false);
  if (!settings) return report(settings.error());
  settings->records = true;
  if (!settings->shard.whole()) return report({ErrorKind::bad_input, 0, "verify: --shard is for simulate; a verdict needs all points"});

  Json json{{"schema", "spillway.verify/1"}, {"files", Json::array()}};
  int code = kDone;
  analysis::MapCount map;
  std::size_t maps = 0;
  std::size_t met = 0, not_met = 0, other = 0, without = 0;
  std::size_t guessed = 0, guessed_right = 0, met_of_guessed = 0;
  for (const std::string& path : *files) {
    std::vector<Record> records;
    std::vector<Expectation> expectations;
    std::vector<analysis::NotRun> not_run;
    std::string title;
    for (const std::string& box : split(parsed->get<std::string>("box"))) {
      CampaignSettings one = *settings;
      one.box.name = box;
      if (!settings->out.empty()) one.out = settings->out / kind_of(one.box);
      auto file = load(path, one);
      if (!file) return report(file.error());
      expectations = file->base.expectations;
      // The range over unknown states is for a record's reader; a verdict on one repeat does not use it, and it costs eight runs.
      one.box.ranges = file->base.repeats > 1;
      title = fmt::format("{}: {}", path, file->base.title);
      if (expectations.empty()) break;
      const auto run = run_experiment(*std::move(file), one);
      if (!run) {
        code = std::max(code, report(run.error()));
        continue;
      }
      if (const int end = conclude(*run); end != kDone) {
        if (run->outcome.interrupted) return end;
        code = std::max(code, end);
      }
      for (const campaign::Failure& failure : run->outcome.failures) {
        const auto same = std::ranges::find(not_run, failure.error.what, &analysis::NotRun::reason);
        if (same == not_run.end()) not_run.push_back({failure.error.what, 1});
        else ++same->cases;
      }
      for (const Case& item : run->file.cases) {
        for (Record& record : records_of(*run, item)) records.push_back(std::move(record));
      }
    }
    if (expectations.empty()) {
      ++without;
      say(fmt::format("{}: has no [[expect]]", path));
      continue;
    }
    const analysis::Verdict verdict = analysis::judge(expectations, records);
    Json entry{{"file", path}, {"judgements", Json::array()}, {"disagreements", verdict.disagreements}};
    // A file of comparisons only is a piece of advice: its judgements are a map, and no cell of a map is a failure.
    const bool advice = analysis::is_advice(expectations);
    maps += advice ? 1 : 0;
    if (!settings->json) fmt::print("{}", advice ? analysis::advice_map(title, expectations, verdict, not_run) : path + "\n");
    for (const analysis::Judgement& judgement : verdict.judgements) {
      entry["judgements"].push_back(to_json(judgement));
      if (advice) {
        map.add(judgement);
        continue;
      }
      const auto guess = analysis::score_guess(expectations[judgement.expectation]);
      if (guess) {
        entry["judgements"].back()["guess"] = {{"words", guess->words}, {"right", guess->right}};
        ++guessed;
        guessed_right += guess->right ? 1 : 0;
        met_of_guessed += judgement.outcome == analysis::Outcome::met ? 1 : 0;
      }
      switch (judgement.outcome) {
        case analysis::Outcome::met: ++met; break;
        case analysis::Outcome::not_met: ++not_met; break;
        default: ++other; break;
      }
      if (settings->json) continue;
      fmt::print("  {:<9} {}\n            {}\n", analysis::outcome_name(judgement.outcome), judgement.claim, judgement.words);
      if (const std::string line = beside(judgement, guess); !line.empty()) fmt::print("            {}\n", line);
      for (const std::string& note : judgement.notes) fmt::print("            {}\n", note);
    }
    for (const std::string& sentence : verdict.disagreements) {
      if (!settings->json && !advice) fmt::print("  {}\n", sentence);
    }
    json["files"].push_back(std::move(entry));
  }
  if (settings->json) {
    json["met"] = met;
    json["not_met"] = not_met;
    json["other"] = other;
    if (guessed > 0) json["guesser"] = {{"of", guessed}, {"right", guessed_right}, {"met", met_of_guessed}};
    json["map"] = {{"true", map.yes}, {"false", map.no}, {"no_effect", map.no_effect}, {"not_decidable", map.not_decidable}};
    fmt::print("{}\n", json.dump(1));
  } else {
    if (maps > 0) fmt::print("{} piece{} of advice: {}\n", maps, maps == 1 ? "" : "s", map.words());
    if (maps < files->size()) fmt::print("{} met, {} not met, {} undecided, refused or missing\n", met, not_met, other);
    if (guessed > 0) fmt::print("of {} with a guess beside them: met {}, a guesser {}\n", guessed, met_of_guessed, guessed_right);
  }
  if (not_met > 0) return kNotMet;
  return code;
}

}  // namespace spillway::cli
