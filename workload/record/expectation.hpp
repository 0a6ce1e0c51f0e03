#pragma once
/// One `[[expect]]` of an experiment file: a published number, or a claim, that `spillway verify` holds records against.

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace spillway {

enum class ExpectOp { value, at_most, at_least, up, down, unchanged, ordered, knee_at, bottleneck };
/// In which kind of box an expectation is judged.
enum class ExpectBox { any, simulated, real };

/// Picks cases of a sweep: every listed key must have the listed value (both as written in the experiment file, so
/// "1GB" and "1000MB" are the same case only after normalisation; see experiment/values).
using CaseSelector = std::vector<std::pair<std::string, std::string>>;

struct Expectation {
  std::string metric;                  ///< Name from the metric table, for example "untar[8].elapsed_s".
  ExpectOp op = ExpectOp::value;
  std::optional<double> value;         ///< In the metric's unit; a ratio where `versus` is given. Not for up/down.
  std::optional<std::string> text;     ///< For op = bottleneck: the account's key, for example "throttled".
  std::optional<double> tolerance;     ///< Relative, 0.2 for "20%". For op = value.
  std::optional<double> tolerance_abs; ///< Absolute, in the metric's unit, where `tolerance` was given without %.
  std::optional<double> margin;        ///< Relative equivalence margin for op = unchanged.
  std::vector<std::string> order;      ///< For op = ordered: values of `order_key`, from the smallest metric upwards.
  std::string order_key;               ///< For op = ordered: the swept key.
  CaseSelector of;                     ///< Which case; empty = the only one, or every one.
  std::optional<CaseSelector> versus;  ///< Makes it a ratio of `of` to this case.
  ExpectBox box = ExpectBox::any;
  /// What somebody says who has no model: a number, judged by the same tolerance, or for up, down and unchanged a direction.
  std::optional<double> guess;
  std::optional<std::string> guess_text;
  std::string source;                  ///< Where the number was published.
  std::string inputs;                  ///< Which inputs are given, fitted or assumed.
  int line = 0;                        ///< Line in the experiment file, for messages.
};

}  // namespace spillway
