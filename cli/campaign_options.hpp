#pragma once
/// The options that every verb shares that runs a campaign, and their values.

#include "cli/boxes.hpp"
#include "cli/campaign/point.hpp"
#include "cli/options.hpp"
#include "workload/experiment/parse.hpp"

#include <filesystem>
#include <optional>

namespace spillway::cli {

struct CampaignSettings {
  Overrides overrides;                  ///< --set, --sweep, and --repeat, --seed, --order as --set
  std::filesystem::path out;            ///< --out; empty: out/<kind of box>
  campaign::Shard shard;
  bool fresh = false;                   ///< redo what is complete
  bool as_is = false;                   ///< drop everything that would change a setting of the box
  std::optional<Duration> budget;
  std::optional<bool> records;          ///< --records yes|no; none: by the number of points
  bool plot = true, show = false, json = false;
  BoxChoice box;
  std::string command;                  ///< what was typed, for the report
  std::optional<double> until;          ///< repeat until total.untars_end_s is known to this (0.02: to 2 %)
};

/// Adds the groups "Experiment", "Campaign" and "Output". `real`: with what only concerns a real box.
void add_campaign_options(Options& options, bool real);
Result<CampaignSettings> campaign_settings(const Options::Parsed& parsed, bool real);

}  // namespace spillway::cli
