#pragma once
/// Records against expectations. A simulated box *predicts*, only a box with a kernel *measures*, and the words keep them
/// apart: "predicted up 12 % (8 to 15)", "measured unchanged within 2 %", "undecided: interval too wide, 9 more repeats".
///
/// - Several repeats are compared with Welch's interval on logarithms, or paired by block where the campaign ran randomised
///   blocks. One repeat of a deterministic simulation is a point without an interval; one measured repeat decides nothing.
/// - `up` and `down` are met only when the whole interval is on that side; `unchanged` only by equivalence.
/// - Measured claims that are judged together are corrected together (Holm).
/// - Where a verdict would mean nothing (validity.hpp) it is refused.
/// - Disturbed repeats are left out where two undisturbed ones remain; leading warm-up repeats by the rule of repeats.hpp.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/statistics/interval.hpp"
#include "analysis/verdict/case_selection.hpp"
#include "workload/record/expectation.hpp"
#include "workload/record/record.hpp"

namespace spillway::analysis {

enum class Outcome {
  met,
  not_met,
  undecided,  ///< the data do not say; `more_repeats` guesses what would
  refused,    ///< no verdict is valid on this box
  missing,    ///< no record of the case, or the record does not hold the metric
};
std::string_view outcome_name(Outcome outcome);

/// Which way a comparison went, whatever was claimed.
enum class Direction { none, up, down, unchanged };

struct Judgement {
  std::size_t expectation = 0;  ///< index into the expectations
  std::string metric;
  std::string claim;            ///< the expectation in words: "untar[8].elapsed_s of at_once=4 is up against at_once=1"
  std::string case_name;
  std::vector<std::pair<std::string, std::string>> keys;  ///< swept keys and values of the case
  std::string box;
  bool simulated = false;
  Outcome outcome = Outcome::missing;
  Direction direction = Direction::none;
  std::string words;            ///< what was found, as above
  std::string mechanism;        ///< of a comparison: what else changed (mechanism.hpp)
  std::vector<std::string> notes;
  std::optional<double> observed;      ///< the metric, or the ratio
  std::optional<Interval> interval;
  std::optional<double> expected;
  std::optional<double> p;             ///< after correction, for measured comparisons
  std::size_t repeats = 0;
  std::optional<std::size_t> more_repeats;
};

struct JudgeOptions {
  double level = 0.95;
  /// Below this a difference between two deterministic predictions counts as none. assumed: a model is not better than this.
  double prediction_floor = 0.01;
  /// "unchanged within" is also said of a claim of up or down when the ratio is shown to lie within this. assumed.
  double no_effect_margin = 0.02;
  std::uint64_t seed = 1;  ///< for the knee's interval
};

struct Verdict {
  std::vector<Judgement> judgements;
  /// Where a simulated and a real box, or two real ones, decided the same claim differently: full sentences.
  std::vector<std::string> disagreements;
  [[nodiscard]] std::size_t count(Outcome outcome) const;
};

Verdict judge(std::span<const Expectation> expectations, std::span<const Record> records, const JudgeOptions& options = {});

/// true / false / no effect / not decidable here: the cell of a map of advice. A claim of "unchanged" that fails is false.
std::string_view map_word(const Judgement& judgement);

}  // namespace spillway::analysis
