#pragma once
/// A prediction: what changing some settings will do to one metric, said before anything was run for real; and its score after.
///
/// Kept in a ledger (ledger.hpp), misses included. A prediction is scored only by records that are younger than it.

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/statistics/interval.hpp"
#include "workload/record/record.hpp"

namespace spillway::analysis {

using Settings = std::vector<std::pair<std::string, std::string>>;  ///< keys and values, as in a record's case_keys

/// "memory.dirty_bytes=1GB memory.dirty_background_bytes=100MB"; "nothing" for none.
std::string settings_words(const Settings& settings);

struct Prediction {
  std::string id;            ///< unique in its ledger
  std::string made;          ///< UTC, "2026-12-01T01:02:03Z": such texts compare as times
  std::string experiment;    ///< what was asked about
  std::string check;         ///< name of the experiment that checks it
  std::string metric;
  Settings base, advised;    ///< case keys of the check's two cases
  double base_value = 0, advised_value = 0;  ///< predicted, in the metric's unit
  double low = 0, high = 0;  ///< of the ratio advised / base, over the unknown inputs that were varied
  [[nodiscard]] double ratio() const { return base_value != 0 ? advised_value / base_value : 1.0; }
};

struct Score {
  std::string id;
  std::string box;           ///< "real:loop"
  std::string made;
  double ratio = 1;          ///< measured
  std::optional<Interval> interval;
  std::size_t repeats = 0;
  /// Measured gain by predicted gain, both as 1 - ratio. 1: all of it came; 0: none; negative: the other way.
  double share_of_gain = 0;
  bool inside = false;       ///< measured interval (or value) and predicted range overlap
  /// At least half of the predicted gain came.
  [[nodiscard]] bool hit() const { return share_of_gain >= 0.5; }
};

/// Scores a prediction by the records of its check, box by box. Records without a time, or older than the prediction, are not
/// counted; `left_out` says so. Simulated records score nothing.
std::vector<Score> score(const Prediction& prediction, std::span<const Record> records, std::vector<std::string>* left_out = nullptr);

}  // namespace spillway::analysis
