#pragma once
/// A profile as TOML, in the form that workload/simulated/profile.hpp reads.

#include "workload/calibrate/fit.hpp"

namespace spillway::calibrate {

std::string profile_text(const std::string& name, const std::string& meaning, const std::vector<ProfileValue>& values, const std::vector<std::string>& notes);

}  // namespace spillway::calibrate
