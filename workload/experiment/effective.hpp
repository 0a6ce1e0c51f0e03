#pragma once
/// Between a TOML tree and the typed experiment, both ways. Values only; how values must fit together is checked in
/// relations.hpp, sweeps are expanded in sweep.hpp.

#include "sim/result.hpp"
#include "workload/experiment/experiment.hpp"
#include "workload/experiment/toml_value.hpp"

#include <nlohmann/json.hpp>
#include <string>

namespace spillway {

/// Where things stand in the source, for messages: "quick.toml, line 12".
class Places {
 public:
  Places(const TomlValue& root, std::string where) : root_(&root), where_(std::move(where)) {}
  /// The place of a key such as "replay.at_once" or "job[2].after" (counted from 1); the file alone if it is not written.
  [[nodiscard]] std::string of(std::string_view path) const;
  [[nodiscard]] std::string of(const TomlValue& value) const;
  [[nodiscard]] const std::string& where() const { return where_; }

 private:
  const TomlValue* root_;
  std::string where_;
};

/// Reads every section but [[sweep]]. Unknown keys and values of the wrong kind or out of range are errors.
Result<Experiment> read_experiment(const TomlValue& root, const Places& places);

/// The complete effective experiment: every key, sizes in their canonical text, keys that are not set as null.
/// Sweeps are not in it (they have been applied), nor is the folder (it belongs to the host).
nlohmann::ordered_json effective_json(const Experiment& experiment);

}  // namespace spillway
