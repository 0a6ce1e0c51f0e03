#pragma once
/// The effective experiment of a record as an experiment file again, for reports where the file itself is not at hand. It
/// is complete (defaults written out) and of one case: sweeps are applied, expectations left out, since they speak of
/// other cases too.

#include <nlohmann/json.hpp>
#include <string>

namespace spillway::analysis {

std::string effective_toml(const nlohmann::ordered_json& effective);

}  // namespace spillway::analysis
