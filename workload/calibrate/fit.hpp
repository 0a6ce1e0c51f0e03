#pragma once
/// From measurements to the costs of the simulated box (sim/cpu/costs.hpp). Pure: equations and their solution, nothing
/// else, so that tests can feed it with made measurements of known costs.

#include "workload/calibrate/measurements.hpp"

#include <string>
#include <vector>

namespace spillway::calibrate {

/// One value of a profile: [section] key = { value, mark, source }.
struct ProfileValue {
  std::string section, key;
  std::string value;   ///< as it stands in the profile, quotes included
  std::string mark;    ///< cited, measured or assumed
  std::string source;
};

/// User and system time as a + b * pages + c * files, solved from two runs after the process's own time is taken off.
struct PerPageAndFile {
  double page = 0, file = 0;
};
/// Never negative: what would be is taken as 0 and the other follows from the run that it dominates.
PerPageAndFile solve(double large_pages, double large_files, double large, double small_pages, double small_files, double small);

/// Every cost that was measured. What was not is left to the simulator's defaults.
std::vector<ProfileValue> fit(const Measurements& m);

/// The middle of the values; 0 without any.
double median(std::vector<double> values);

}  // namespace spillway::calibrate
