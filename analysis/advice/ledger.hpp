#pragma once
/// The ledger: predictions and scores as lines of JSON, only ever appended, so that no prediction can be changed after the run that it
/// speaks of. Text in, text out; whoever has the file appends.

#include <string>
#include <string_view>
#include <vector>

#include "analysis/advice/prediction.hpp"
#include "sim/result.hpp"

namespace spillway::analysis {

inline constexpr const char* kLedgerSchema = "spillway.ledger/1";

struct Ledger {
  std::vector<Prediction> predictions;
  std::vector<Score> scores;  ///< the last of an id and a box is in force
};

/// Bad input names the line.
Result<Ledger> read_ledger(std::string_view text, const std::string& name);

/// One line each, with its end.
std::string ledger_line(const Prediction& prediction);
std::string ledger_line(const Score& score);

/// A table of at most 72 columns: each prediction with its scores, hit or miss, and the sum: how many hits, misses, open.
std::string ledger_text(const Ledger& ledger);

}  // namespace spillway::analysis
