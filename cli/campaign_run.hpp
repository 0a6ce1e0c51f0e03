#pragma once
/// From an experiment file and settings to finished points: what `run`, `simulate` and `verify` have in common.

#include "cli/campaign/campaign.hpp"
#include "cli/campaign_options.hpp"
#include "workload/experiment/parse.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace spillway::cli {

struct CampaignRun {
  ExperimentFile file;
  std::filesystem::path out;             ///< holds <experiment>/
  campaign::Outcome outcome;
  bool keeps_records = true;
  std::filesystem::path table;           ///< table.csv; empty while points are missing
};

/// Loads the file with the settings' overrides, and says its warnings.
Result<ExperimentFile> load(const std::string& file, const CampaignSettings& settings);

/// Runs what is not done yet, telling on stderr how it goes. With a stop rule every repeat's record is kept.
Result<CampaignRun> run_experiment(ExperimentFile file, const CampaignSettings& settings, const campaign::StopRule& stop = {});

/// `--until`: enough repeats by analysis/verdict/enough_repeats; empty without it.
campaign::StopRule stop_rule(const CampaignSettings& settings);

/// What was typed, as a shell would take it again.
std::string command_line(const std::string& verb, const std::vector<std::string>& arguments);

/// The complete records of a finished case in the order of their repeats.
std::vector<Record> records_of(const CampaignRun& run, const Case& item);

/// Exit code of a finished campaign, and a sentence about what is left or failed.
int conclude(const CampaignRun& run);

/// Tables, figures and paths of a finished campaign on stdout, or one object. `verb` names the schema.
int print_results(const CampaignRun& run, const CampaignSettings& settings, const std::string& verb);

}  // namespace spillway::cli
