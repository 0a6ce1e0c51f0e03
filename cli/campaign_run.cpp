#include "cli/campaign_run.hpp"

#include "analysis/report/untar_table.hpp"
#include "analysis/verdict/enough_repeats.hpp"
#include "cli/campaign/folder.hpp"
#include "cli/campaign/lock.hpp"
#include "cli/campaign/table.hpp"
#include "cli/campaign/table_log.hpp"
#include "cli/exit_code.hpp"
#include "cli/figures.hpp"
#include "cli/talk.hpp"
#include "workload/experiment/effective.hpp"
#include "workload/experiment/sweep.hpp"
#include "workload/interrupt/interrupt.hpp"
#include "workload/record/file_io.hpp"
#include "workload/record/record_io.hpp"

#include <algorithm>
#include <chrono>
#include <fmt/core.h>

namespace spillway::cli {

namespace {

namespace fs = std::filesystem;
using Event = campaign::Options::Event;

/// Up to so many points a simulated campaign keeps full records by itself.
constexpr std::size_t kRecordsByDefault = 200;
/// Up to so many cases are shown one by one, and drawn.
constexpr std::size_t kCasesShown = 12;

std::vector<std::string> swept_keys(const ExperimentFile& file) {
  std::vector<std::string> keys;
  for (const SweepSpec& sweep : file.base.sweeps) keys.insert(keys.end(), sweep.keys.begin(), sweep.keys.end());
  return keys;
}

/// Everything that decides a sweep's outcomes: what its cases ask, the seed and the box.
nlohmann::ordered_json parameters(const ExperimentFile& file, const std::string& box) {
  nlohmann::ordered_json json = campaign::outcome_part(effective_json(file.base));
  json["box of the campaign"] = box;
  json["cases"] = file.cases.size();
  for (const SweepSpec& sweep : file.base.sweeps) {
    std::string keys, rows;
    for (const std::string& key : sweep.keys) keys += (keys.empty() ? "" : ", ") + key;
    for (const auto& row : sweep.rows) {
      rows += rows.empty() ? "" : "; ";
      for (std::size_t i = 0; i < row.size(); ++i) rows += (i > 0 ? "," : "") + row[i];
    }
    json["sweep of " + keys] = rows;
  }
  return json;
}

/// Leaves the box's settings alone: nothing of the experiment that would change one.
void leave_settings(Case& item) {
  item.experiment.memory = {};
  item.experiment.knobs.clear();
  item.experiment.device.rate = BytesPerSec{0};
  item.experiment.device.read_rate = BytesPerSec{0};
  item.experiment.device.iops = 0;
  item.effective = effective_json(item.experiment);
}

/// Tells how it goes: every point's end on a line of its own when they are few or slow, else a line now and then.
class Teller {
 public:
  explicit Teller(std::size_t points) : every_point_(points <= 50) {}
  void operator()(const Event& event) {
    const auto now = std::chrono::steady_clock::now();
    switch (event.kind) {
      case Event::Kind::started:
      case Event::Kind::live:
        live(event.text);
        return;
      case Event::Kind::failed:
        if (++failed_ <= kFailuresSaid) say(event.text);
        if (failed_ == kFailuresSaid) say("Further points that fail are counted at the end.");
        return;
      case Event::Kind::kept:
        live(fmt::format("kept {}", event.text));
        return;
      case Event::Kind::done:
        if (every_point_ || now - last_ > std::chrono::seconds(30)) {
          say(fmt::format("{} done: {}", event.text, progress_text(event.progress)));
          last_ = now;
        } else if (now - last_live_ > std::chrono::milliseconds(100)) {
          live(progress_text(event.progress));
          last_live_ = now;
        }
        return;
    }
  }

 private:
  static constexpr int kFailuresSaid = 20;
  bool every_point_;
  int failed_ = 0;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now(), last_live_{};
};

/// table.csv out of records, one at a time.
Status write_table(const CampaignRun& run, const fs::path& csv) {
  std::string text = campaign::table_header(swept_keys(run.file));
  for (std::size_t c = 0; c < run.file.cases.size(); ++c) {
    for (const Record& record : records_of(run, run.file.cases[c])) {
      text += campaign::table_rows(run.file.cases[c], {c, record.repeat}, record, swept_keys(run.file));
    }
  }
  return write_file_atomically(csv, text);
}

}  // namespace

Result<ExperimentFile> load(const std::string& path, const CampaignSettings& settings) {
  SPILLWAY_ASSIGN(ExperimentFile file, load_experiment(path, settings.overrides));
  for (const std::string& warning : file.warnings) say("warning: " + warning);
  if (settings.as_is) {
    for (Case& item : file.cases) leave_settings(item);
  }
  return file;
}

Result<CampaignRun> run_experiment(ExperimentFile file, const CampaignSettings& settings, const campaign::StopRule& stop) {
  CampaignRun run;
  run.file = std::move(file);
  const std::string kind = kind_of(settings.box);
  run.out = settings.out.empty() ? fs::path{"out"} / kind : settings.out;
  const Experiment& base = run.file.base;
  const std::size_t points = run.file.cases.size() * static_cast<std::size_t>(base.repeats);
  run.keeps_records = kind != "simulated" || stop || settings.records.value_or(points <= kRecordsByDefault && settings.shard.whole());

  SPILLWAY_ASSIGN(const auto boxes, make_boxes(settings.box));
  std::vector<Box*> pointers;
  for (const auto& box : boxes) pointers.push_back(box.get());
  SPILLWAY_ASSIGN(const campaign::Lock lock, campaign::Lock::take(run.out, settings.shard));

  // What report needs to be complete: the file as read, and what was typed.
  SPILLWAY_TRY(write_file_atomically(run.out / base.name / "experiment.toml", run.file.source_text));
  if (!settings.command.empty()) SPILLWAY_TRY(write_file_atomically(run.out / base.name / (settings.shard.whole() ? std::string{"command.txt"} : fmt::format("command.{}-of-{}.txt", settings.shard.index, settings.shard.count)), settings.command + "\n"));

  std::unique_ptr<campaign::Store> store;
  if (run.keeps_records) store = std::make_unique<campaign::RecordStore>(run.out, kind, base.seed, settings.fresh);
  if (!run.keeps_records || !settings.shard.whole()) {
    campaign::TableIdentity identity{base.name, "", run.file.cases.size(), swept_keys(run.file), parameters(run.file, settings.box.name + settings.box.like_path)};
    identity.digest = campaign::digest_of(identity.parameters.dump());
    SPILLWAY_ASSIGN(std::unique_ptr<campaign::Store> table, campaign::TableStore::open(run.out, identity, base.repeats, settings.shard, base.seed, settings.fresh));
    store = store ? std::make_unique<campaign::BothStores>(std::move(store), std::move(table)) : std::move(table);
  }
  campaign::Options options;
  options.repeats = base.repeats;
  SPILLWAY_ASSIGN(options.order, campaign::parse_order(base.order));
  options.seed = base.seed;
  options.shard = settings.shard;
  options.stop = stop;
  options.budget = settings.budget;
  options.interrupted = [] { return interrupted(); };
  options.event = Teller(points);
  say(fmt::format("{}: {} case{}, {} repeat{}, seed {}, box {}{}, results in {}", base.name, run.file.cases.size(),
                  run.file.cases.size() == 1 ? "" : "s", base.repeats, base.repeats == 1 ? "" : "s", base.seed, settings.box.name,
                  settings.shard.whole() ? std::string{} : fmt::format(", shard {} of {}", settings.shard.index, settings.shard.count),
                  (run.out / base.name).string()));
  SPILLWAY_ASSIGN(run.outcome, campaign::run_campaign(campaign::source_of(run.file.cases), pointers, *store, options));
  clear_live();

  const fs::path csv = run.out / base.name / "table.csv";
  if (run.keeps_records) {
    if (run.outcome.left == 0 && run.outcome.progress.ended() > run.outcome.progress.failed && settings.shard.whole()) {
      SPILLWAY_TRY(write_table(run, csv));
      run.table = csv;
    }
  } else if (settings.shard.whole()) {
    SPILLWAY_ASSIGN(const auto merged, campaign::merge_tables({run.out / base.name / "table.log"}, csv, false));
    if (merged.missing == 0) run.table = csv;
  }
  return run;
}

campaign::StopRule stop_rule(const CampaignSettings& settings) {
  if (!settings.until) return {};
  return [half_width = *settings.until](const Case& item, const std::vector<Record>& records) {
    analysis::RepeatAim aim;
    aim.half_width = half_width;
    aim.most = static_cast<std::size_t>(item.experiment.repeats);
    const auto state = analysis::enough_repeats(records, aim);
    return state && state->enough;
  };
}

std::string command_line(const std::string& verb, const std::vector<std::string>& arguments) {
  std::string line = "spillway " + verb;
  for (const std::string& argument : arguments) {
    const bool plain = argument.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=,:+%") == std::string::npos;
    std::string quoted = argument;
    for (std::size_t at = 0; !plain && (at = quoted.find('\'', at)) != std::string::npos; at += 4) quoted.replace(at, 1, "'\\''");
    line += plain && !argument.empty() ? " " + argument : " '" + quoted + "'";
  }
  return line;
}

std::vector<Record> records_of(const CampaignRun& run, const Case& item) {
  std::vector<Record> records;
  for (int repeat = 1; repeat <= run.file.base.repeats; ++repeat) {
    const fs::path folder = campaign::point_folder(run.out, item, repeat);
    std::error_code ignored;
    if (!fs::exists(folder / "record.json", ignored)) continue;
    auto record = read_record(folder);
    if (record && record->complete) records.push_back(*std::move(record));
  }
  return records;
}

int conclude(const CampaignRun& run) {
  const campaign::Outcome& outcome = run.outcome;
  const std::size_t finished = outcome.progress.ended() - outcome.progress.failed;
  if (outcome.interrupted) {
    say(fmt::format("Interrupted. {} of {} points are done and kept; the same command does the rest.", finished, outcome.progress.total));
    return kSignalBase + std::max(1, interrupt_signal());
  }
  if (outcome.out_of_budget) {
    say(fmt::format("Out of time: {} points are left; the same command does them.", outcome.left));
  }
  if (outcome.failures.empty()) return kDone;
  for (const campaign::Failure& failure : outcome.failures) {
    if (failure.error.kind == ErrorKind::unsupported) continue;
    say(fmt::format("{} finished point{} kept; the same command does the rest.", finished, finished == 1 ? " is" : "s are"));
    return exit_code_of(failure.error.kind);
  }
  say(fmt::format("{} of {} points cannot be run on this box, the first because {}", outcome.progress.failed, outcome.progress.ended(), outcome.failures.front().error.what));
  // Only when there was nothing else is the whole call a skip.
  return finished == 0 ? kCannot : kDone;
}

int print_results(const CampaignRun& run, const CampaignSettings& settings, const std::string& verb) {
  const fs::path folder = run.out / run.file.base.name;
  nlohmann::ordered_json json{{"schema", fmt::format("spillway.{}/1", verb)},
                              {"experiment", run.file.base.name},
                              {"folder", folder.string()},
                              {"box", kind_of(settings.box)},
                              {"points", run.outcome.progress.total},
                              {"kept", run.outcome.progress.kept},
                              {"run", run.outcome.progress.run},
                              {"failed", run.outcome.progress.failed},
                              {"left", run.outcome.left},
                              {"table", run.table.string()},
                              {"cases", nlohmann::ordered_json::array()},
                              {"failures", nlohmann::ordered_json::array()}};
  for (const campaign::Failure& failure : run.outcome.failures) {
    json["failures"].push_back({{"case", failure.case_folder}, {"repeat", failure.point.repeat}, {"what", failure.error.what}});
  }
  const bool few = run.file.cases.size() <= kCasesShown;
  int code = kDone;
  bool drawing = settings.plot && few;
  for (const Case& item : run.file.cases) {
    if (!run.keeps_records || (!few && !settings.json)) break;
    const std::vector<Record> records = records_of(run, item);
    if (records.empty()) continue;
    nlohmann::ordered_json entry{{"case", item.folder}, {"records", nlohmann::ordered_json::array()}, {"figures", nlohmann::ordered_json::array()}};
    std::string shown;
    for (const Record& record : records) {
      const fs::path repeat = campaign::point_folder(run.out, item, record.repeat);
      entry["records"].push_back((repeat / "record.json").string());
      if (drawing) {
        static constexpr plots::Format kFormats[] = {plots::Format::png, plots::Format::svg, plots::Format::text};
        const auto pictures = draw(std::span(&record, 1), repeat, kFormats);
        if (!pictures) {
          // A figure that cannot be drawn takes nothing away from the record.
          say("no figures: " + pictures.error().what);
          drawing = false;
        } else {
          for (const fs::path& picture : *pictures) {
            entry["figures"].push_back(picture.string());
            if (settings.show && picture.extension() == ".txt") shown += "\n" + spillway::read_file(picture).value_or("");
          }
        }
      }
      if (!settings.json) {
        const bool alone = run.file.cases.size() == 1 && records.size() == 1;
        fmt::print("{}{}", alone ? "" : fmt::format("== {} r{}\n", item.folder, record.repeat), analysis::untar_table(record));
      }
    }
    if (!settings.json) fmt::print("{}", shown);
    json["cases"].push_back(std::move(entry));
  }
  if (settings.json) {
    fmt::print("{}\n", json.dump(1));
  } else {
    if (!settings.shard.whole()) {
      say(fmt::format("Shard {} of {}: {} of its {} points are done. When all shards are: spillway merge {}", settings.shard.index, settings.shard.count,
                      run.outcome.progress.ended(), run.outcome.progress.total, run.out.string()));
    } else if (!few && !run.table.empty()) {
      say(fmt::format("{} cases: see the table.", run.file.cases.size()));
    }
    if (!run.table.empty()) fmt::print("table: {}\n", run.table.string());
    for (const auto& entry : json["cases"]) {
      for (const auto& figure : entry["figures"]) {
        if (figure.get<std::string>().ends_with(".png")) fmt::print("figure: {}\n", figure.get<std::string>());
      }
    }
  }
  std::fflush(stdout);
  return code;
}

}  // namespace spillway::cli
