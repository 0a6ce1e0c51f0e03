#pragma once
/// Claims x targets: where a verdict is valid at all. A loop with a bandwidth limit has no seeks and lets metadata pass, two
/// cores say nothing about lock contention, an emulated machine says nothing about CPU. `verify` refuses a verdict there,
/// with the reason, instead of printing a number that means nothing.
///
/// One table (`validity_rules`), and what a box notes of settings that it takes without effect. The topics of an expectation follow from its metric and from the keys whose values it
/// compares.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/verdict/case_selection.hpp"
#include "workload/record/expectation.hpp"

namespace spillway::analysis {

enum class Topic {
  cpu,        ///< CPU time, CPU %, stages, kworkers
  log,        ///< size and buffers of the log, log forces
  metadata,   ///< inodes, B-trees, allocation groups
  layout,     ///< where data lies: stripe, alignment, fragmentation, seeks, read-modify-write
  locks,      ///< contention among threads
  scheduler,  ///< wake-up delays, slices
  device,     ///< what the disk is: rate, cache, layout of an array
  geometry,   ///< what mkfs decides
};
std::string_view topic_name(Topic topic);

/// What a rule applies to.
struct ValidityRule {
  Topic topic;
  std::string_view box;    ///< "simulated", "real:loop", "real:mount", "real:device", "real:modeled", "kernel", "vm"; "real" = all real ones
  int fewer_cpus_than = 0; ///< applies only below this number of cores; 0: always
  std::string_view reason; ///< the end of a sentence that begins "Not decidable on BOX: "
  std::string_view source;
  std::string_view device_model = {};  ///< applies only to this [device] model; empty: to all
};
std::span<const ValidityRule> validity_rules();

/// `compared`: swept keys whose values differ between the cases compared, with the values on both sides.
std::vector<Topic> topics_of(const Expectation& expectation, const std::vector<std::pair<std::string, std::string>>& compared);

/// The reason why the verdict would mean nothing on this box; empty: it is valid.
std::optional<std::string> why_not_valid(const std::vector<Topic>& topics, const Record& record);

/// The reason why comparing these settings would mean nothing here: the box took one of them and did nothing with it, as it notes
/// itself. `compared` as in topics_of.
std::optional<std::string> why_not_modelled(const std::vector<std::pair<std::string, std::string>>& compared, const Record& record);

}  // namespace spillway::analysis
