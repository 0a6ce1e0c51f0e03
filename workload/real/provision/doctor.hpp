#pragma once
/// What this box can do, and how to get the rest. Reads only.

#include <string>
#include <vector>

namespace spillway::real {

struct Finding {
  std::string what;      ///< "loop devices"
  bool works = false;
  std::string detail;    ///< what was found
  std::string serves;    ///< what it is needed for
  std::string remedy;    ///< how to get it; empty when it works
};

std::vector<Finding> examine_box();
/// One line per finding, remedies below; at most 100 columns.
std::string doctor_text(const std::vector<Finding>& findings);

}  // namespace spillway::real
