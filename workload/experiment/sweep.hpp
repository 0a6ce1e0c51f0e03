#pragma once
/// From one tree with [[sweep]] tables, --set and --sweep to the trees of the cases.

#include "sim/result.hpp"
#include "workload/experiment/effective.hpp"
#include "workload/experiment/experiment.hpp"
#include "workload/experiment/parse.hpp"

#include <string>
#include <utility>
#include <vector>

namespace spillway {

/// The [[sweep]] tables, values normalised (SweepSpec::rows). A value "unset" removes the key.
Result<std::vector<SweepSpec>> read_sweeps(const TomlValue& root, const Places& places);

/// Applies --set to the tree and --sweep to the sweeps. A --set of a swept key pins the sweep to that value, so that the
/// case keeps its name; a --sweep of a swept key replaces its values.
Status apply_overrides(TomlValue& root, std::vector<SweepSpec>& sweeps, const Overrides& overrides);

/// Puts a value at a path of the tree. As in the kernel, setting dirty_ratio replaces dirty_bytes and the reverse, and a
/// real archive replaces the description of a made one (but not what the command line itself has set).
Status assign(TomlValue& root, std::string_view path, const std::string& text, const std::string& origin);

using CaseKeys = std::vector<std::pair<std::string, std::string>>;
/// The product of the sweeps, the first one slowest; no sweep: one case without keys.
Result<std::vector<CaseKeys>> expand(const std::vector<SweepSpec>& sweeps, const std::string& where);

/// A folder name: last components of the keys that tell them apart, `key=value` joined with ",", safe characters only;
/// with a hash when it would be longer than 80 characters or characters had to be replaced. No keys: "case".
std::string case_folder(const CaseKeys& keys);

}  // namespace spillway
