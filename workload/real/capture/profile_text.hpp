#pragma once
/// Facts as files that the program reads: a box profile for [box] profile = "...", and an experiment that runs on it.

#include <string>

#include "workload/real/capture/box_facts.hpp"

namespace spillway::real {

/// The profile, TOML. Every value says where it comes from; what no text said is left to the simulator's default and
/// named in a comment. `name`: of the profile.
std::string profile_text(const BoxFacts& facts, const std::string& name);

/// An experiment of eight untars with this box's file system and queue, which names `profile_file`.
std::string experiment_text(const BoxFacts& facts, const std::string& name, const std::string& profile_file);

}  // namespace spillway::real
