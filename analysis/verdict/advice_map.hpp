#pragma once
/// A piece of advice as a map: for each claim, in which cases it is true, false, without effect or not decidable; why; and
/// which of the swept keys decides where it flips. Plain text of at most 72 columns.

#include <span>
#include <string>
#include <vector>

#include "analysis/verdict/judge.hpp"

namespace spillway::analysis {

/// Every expectation compares cases with each other: then a list of judgements is a map.
bool is_advice(std::span<const Expectation> expectations);

/// Cases that no verdict could be given for because the box cannot run them, by reason.
struct NotRun {
  std::string reason;
  std::size_t cases = 0;
};

/// The map of one file. `title` and sources stand above it.
std::string advice_map(const std::string& title, std::span<const Expectation> expectations, const Verdict& verdict, std::span<const NotRun> not_run);

/// "flips with archive.bytes: 20MB no effect, 120MB true": a swept key whose value alone decides the word; without one,
/// "flips with A and B together". Empty when all words are the same.
std::string where_it_flips(std::span<const Judgement> cells);

/// How often each word, over many maps: "31 true, 12 false, 9 no effect, 4 not decidable here".
struct MapCount {
  std::size_t yes = 0, no = 0, no_effect = 0, not_decidable = 0;
  void add(const Judgement& judgement);
  [[nodiscard]] std::string words() const;
};

}  // namespace spillway::analysis
