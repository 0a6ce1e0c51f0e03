#pragma once
/// The boxes by the names that people give them: "simulated", "real", "kernel[:NAME]".

#include "sim/result.hpp"
#include "workload/box.hpp"

#include <memory>
#include <string>
#include <vector>

namespace spillway::cli {

struct BoxChoice {
  std::string name = "real";       ///< as typed after --box
  std::string destroy;             ///< --destroy DEVICE
  bool monitors = true;
  int redo_disturbed = 0;          ///< --redo N
  std::string like_path;           ///< --like RECORD
  std::shared_ptr<const Record> like;
  bool ranges = true;              ///< simulated: also simulate other states before the run, for the record's notes
  int threads = 0;                 ///< simulated boxes at once; 0: one per core. Other boxes are always one.
};

/// The kind that records of this box carry (BoxInfo::kind).
std::string kind_of(const BoxChoice& choice);

/// One box, or several simulated ones. A name that does not exist: `bad_input` with the nearest.
Result<std::vector<std::unique_ptr<Box>>> make_boxes(const BoxChoice& choice);

}  // namespace spillway::cli
