#pragma once
/// How the values of one case must fit together: what excludes what, what needs what. What a box cannot run is not
/// refused here (the box says so, exit 77); what means nothing anywhere is.

#include "sim/result.hpp"
#include "workload/experiment/effective.hpp"
#include "workload/experiment/experiment.hpp"

#include <optional>
#include <string>
#include <vector>

namespace spillway {

/// Warnings are full sentences with their remedy.
Status check_relations(const Experiment& experiment, const Places& places, std::vector<std::string>& warnings);

/// replay.flushers taken apart.
struct Flushers {
  enum class Kind { kernel, user, cgroup, contexts, per_writer };
  enum class Binding { hash, ag };
  Kind kind = Kind::kernel;
  int count = 1;
  Binding binding = Binding::hash;  ///< for contexts
};
/// The error is the rest of a sentence that begins with the key.
std::expected<Flushers, std::string> parse_flushers(const std::string& text);

}  // namespace spillway
