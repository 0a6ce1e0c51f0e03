#pragma once
/// Where a campaign keeps its results, and how it knows what is done already. Two stores:
///
/// records: OUT/<experiment>/<case>/r<N>/record.json, all that a box tells (folder.hpp). Real boxes always.
/// table:   OUT/<experiment>/table*.log, a few rows of text a point (table_log.hpp). Sweeps of simulated boxes.
///
/// Both are written so that a kill at any moment loses at most the points that were running.

#include "cli/campaign/point.hpp"
#include "sim/result.hpp"
#include "workload/record/record.hpp"

#include <filesystem>
#include <optional>

namespace spillway::campaign {

class Store {
 public:
  virtual ~Store() = default;
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  /// Is this point done, with these parameters, in a box of this kind? Done with others: `bad_input` with a sentence.
  virtual Result<bool> done(const Case& item, Point point) = 0;
  /// Clears what an interrupted attempt left and gives the folder for the box's own files; empty: it keeps none.
  virtual Result<std::filesystem::path> begin(const Case& item, Point point) = 0;
  /// Keeps a complete record. Called from one thread at a time.
  virtual Status keep(const Case& item, Point point, const Record& record) = 0;
  /// Keeps the reason why there is none. It does not make the point done, unless the store says so.
  virtual Status keep_failure(const Case& item, Point point, const Error& error) = 0;
  /// A done point's record, for a stop rule; none where the store keeps no records.
  virtual Result<std::optional<Record>> load(const Case& item, Point point) = 0;
};

}  // namespace spillway::campaign
