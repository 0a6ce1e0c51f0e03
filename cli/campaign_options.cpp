#include "cli/campaign_options.hpp"

#include "workload/experiment/quantity.hpp"
#include "workload/record/record_io.hpp"

#include <fmt/core.h>

namespace spillway::cli {

using Strings = std::vector<std::string>;

void add_campaign_options(Options& options, bool real) {
  options.group("Experiment")
      ("set", po::value<Strings>()->composing()->value_name("KEY=VALUE"), "change a key of the file; repeatable; `spillway keys` lists them")
      ("sweep", po::value<Strings>()->composing()->value_name("KEY=A,B,C"), "run the values of a key one after another; repeatable")
      ("repeat", po::value<int>()->value_name("N"), "repeats of each case (default: the file's, else 1)")
      ("seed", po::value<std::uint64_t>()->value_name("N"), "seed of the run (default: the file's, else 1)")
      ("order", po::value<std::string>()->value_name("ORDER"), "written, or blocks: randomised blocks from the seed (default: the file's)");
  auto campaign = options.group("Campaign");
  campaign("out", po::value<std::string>()->value_name("DIR"), "where results go (default: out/BOX)")
      ("fresh", po::bool_switch(), "redo complete repeats too (default: they are kept)")
      ("shard", po::value<std::string>()->value_name("I/N"), "do only the I-th of N parts; `spillway merge` puts them together")
      ("until", po::value<std::string>()->value_name("PERCENT"), "repeat until the untars' end is known to this, for example 2%; --repeat is the most")
      ("budget", po::value<std::string>()->value_name("TIME"), "start no repeat that would end after this, for example 30min");
  if (real) {
    campaign("dry-run", po::bool_switch(), "say which bytes, minutes, settings and space it will take; change nothing")
        ("as-is", po::bool_switch(), "leave every setting of the box as it is: no dirty limits, no device limit, no knobs")
        ("destroy", po::value<std::string>()->value_name("DEVICE"), "repeat the name of a device that may be formatted although it bears a signature")
        ("redo", po::value<int>()->default_value(0)->value_name("N"), "do a repeat that others disturbed again, up to N times")
        ("like", po::value<std::string>()->value_name("RECORD"), "repeat the run of this record, and say how the box differs; FILE is not needed")
        ("no-monitors", po::bool_switch(), "no tracing: for measuring what the monitors themselves cost");
  } else {
    campaign("threads", po::value<int>()->default_value(0)->value_name("N"), "simulated boxes at once (0: one per core)")
        ("like", po::value<std::string>()->value_name("RECORD"), "take box, settings and the state before the run from this real record")
        ("records", po::value<std::string>()->value_name("yes|no"), "full records beside the table (default: up to 200 points)");
  }
  options.group("Output")
      ("no-plot", po::bool_switch(), "draw no figures (default: PNG, SVG and text beside each record)")
      ("show", po::bool_switch(), "print the figures as text, too")
      ("json", po::bool_switch(), "one object on stdout instead of tables");
}

Result<CampaignSettings> campaign_settings(const Options::Parsed& parsed, bool real) {
  CampaignSettings settings;
  settings.overrides.set = parsed.all("set");
  settings.overrides.sweep = parsed.all("sweep");
  if (parsed.has("repeat")) {
    if (parsed.get<int>("repeat") < 1) return fail(ErrorKind::bad_input, "--repeat: expected a whole number from 1");
    settings.overrides.set.push_back(fmt::format("repeats={}", parsed.get<int>("repeat")));
  }
  if (parsed.has("seed")) settings.overrides.set.push_back(fmt::format("seed={}", parsed.get<std::uint64_t>("seed")));
  if (parsed.has("order")) settings.overrides.set.push_back(fmt::format("order={}", parsed.get<std::string>("order")));
  if (parsed.has("out")) settings.out = parsed.get<std::string>("out");
  settings.fresh = parsed.get<bool>("fresh");
  if (parsed.has("shard")) {
    SPILLWAY_ASSIGN(settings.shard, campaign::parse_shard(parsed.get<std::string>("shard")));
  }
  if (parsed.has("budget")) {
    const auto budget = read_time(parsed.get<std::string>("budget"));
    if (!budget) return fail(ErrorKind::bad_input, fmt::format("--budget {} {}", parsed.get<std::string>("budget"), budget.error()));
    settings.budget = *budget;
  }
  if (parsed.has("until")) {
    const auto until = read_percent(parsed.get<std::string>("until"));
    if (!until || *until <= 0) return fail(ErrorKind::bad_input, fmt::format("--until {}: expected a percentage above 0, for example 2%", parsed.get<std::string>("until")));
    settings.until = *until;
  }
  if (real) {
    settings.as_is = parsed.get<bool>("as-is");
    settings.box.redo_disturbed = parsed.get<int>("redo");
    if (settings.box.redo_disturbed < 0) return fail(ErrorKind::bad_input, "--redo: expected a whole number from 0");
    settings.box.monitors = !parsed.get<bool>("no-monitors");
    if (parsed.has("destroy")) settings.box.destroy = parsed.get<std::string>("destroy");
  } else {
    settings.box.threads = parsed.get<int>("threads");
    if (settings.box.threads < 0) return fail(ErrorKind::bad_input, "--threads: expected 0 (one per core) or a whole number from 1");
    if (parsed.has("like")) {
      settings.box.like_path = parsed.get<std::string>("like");
      SPILLWAY_ASSIGN(Record like, read_record(settings.box.like_path));
      settings.box.like = std::make_shared<const Record>(std::move(like));
    }
    if (parsed.has("records")) {
      const std::string& wanted = parsed.get<std::string>("records");
      if (wanted != "yes" && wanted != "no") return fail(ErrorKind::bad_input, fmt::format("--records {}: expected yes or no", wanted));
      settings.records = wanted == "yes";
    }
  }
  settings.plot = !parsed.get<bool>("no-plot");
  settings.show = parsed.get<bool>("show");
  settings.json = parsed.get<bool>("json");
  return settings;
}

}  // namespace spillway::cli
