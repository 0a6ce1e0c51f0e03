#pragma once
/// A box runs one repeat of one case and returns its record. The campaign loop (cli/campaign/) owns order, resume and
/// repeats; a box owns nothing between repeats but what `prepare` set up and `finish` takes down.

#include "sim/result.hpp"
#include "workload/experiment/experiment.hpp"
#include "workload/record/record.hpp"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace spillway {

/// One case of an experiment, ready to run.
struct Case {
  Experiment experiment;                                        ///< effective, all sweeps applied
  nlohmann::ordered_json effective;                             ///< the same, normalised, for the record
  std::vector<std::pair<std::string, std::string>> keys;        ///< swept keys and values, in order
  std::string folder;                                           ///< name of its folder below the experiment's
};

/// What a box tells while it runs: one short line, overwritten by the next.
struct LiveLine {
  std::string text;
};

struct RepeatContext {
  int repeat = 1;
  std::uint64_t seed = 1;
  std::filesystem::path dir;                                    ///< where timeline, traces go; exists
  std::function<void(const LiveLine&)> live;                    ///< may be empty
};

/// Two or more implementations: simulated, real, kernel, vm.
class Box {
 public:
  virtual ~Box() = default;
  Box() = default;
  Box(const Box&) = delete;
  Box& operator=(const Box&) = delete;

  /// "simulated", "real", "kernel:NAME", "vm".
  [[nodiscard]] virtual std::string name() const = 0;
  /// Can this box run the case? An error of kind `unsupported` (exit 77) or `refused` (exit 3) says why not.
  virtual Status check(const Case& item) = 0;
  /// What a run would take and change, for `--dry-run`: full sentences, one a line.
  virtual Result<std::vector<std::string>> plan(const Case& item) = 0;
  /// Runs one repeat. The record comes back complete, or an error and the box is as it was.
  virtual Result<Record> run(const Case& item, const RepeatContext& context) = 0;
};

}  // namespace spillway
