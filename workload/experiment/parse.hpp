#pragma once
/// From an experiment file to cases. Bad input gets one sentence: what was read, where (file, key, line), what was
/// expected, what to do.

#include "sim/result.hpp"
#include "workload/box.hpp"
#include "workload/experiment/experiment.hpp"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace spillway {

/// Command-line changes to a file: `--set key=value` and `--sweep key=a,b,c`, as typed. Values need no quotes; `unset`
/// takes a key out. A --set of a swept key pins its sweep to the value; a --sweep replaces it.
struct Overrides {
  std::vector<std::string> set;
  std::vector<std::string> sweep;
};

/// A parsed file before its sweeps are expanded.
struct ExperimentFile {
  Experiment base;              ///< with sweeps and expectations
  std::vector<Case> cases;      ///< the expansion, in written order
  std::string source_text;      ///< the file as read, for the report
  std::filesystem::path path;
  std::vector<std::string> warnings;  ///< full sentences, each with its remedy; the program goes on
};

/// Reads a file and checks each of its cases. What no box can run yet is let pass: the box says so.
Result<ExperimentFile> load_experiment(const std::filesystem::path& file, const Overrides& overrides = {});
/// The same from text, for tests and for experiments that the program writes itself.
Result<ExperimentFile> parse_experiment(const std::string& text, const std::filesystem::path& where,
                                        const Overrides& overrides = {});
/// An effective experiment out of a record back to a case (for `--like` and repeats). Its effective experiment is the
/// same again; keys and folder of the sweep and the file's folder are not in it, the caller knows them.
Result<Case> case_from_effective(const nlohmann::ordered_json& effective);

}  // namespace spillway
