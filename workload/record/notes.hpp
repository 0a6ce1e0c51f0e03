#pragma once
/// Notes of a record that readers act on, so that writer and reader agree on their words.

#include <string>
#include <string_view>

namespace spillway {

/// The end of a note about a setting that a box takes and does nothing with. A comparison of that setting is then no evidence.
inline constexpr std::string_view kNoEffectNote = "has no effect in the simulated box";

/// `the setting "logbsize=256k" has no effect in the simulated box`.
inline std::string no_effect_note(std::string_view setting) { return "the setting \"" + std::string{setting} + "\" " + std::string{kNoEffectNote}; }

/// Does this note say so of the setting? It is named there with or without a value: "logbsize" is named by "logbsize=256k".
inline bool says_no_effect(std::string_view note, std::string_view setting) {
  const std::size_t end = note.find(kNoEffectNote);
  if (end == std::string_view::npos || setting.empty()) return false;
  const std::size_t open = note.find('"');
  const std::size_t close = note.find('"', open + 1);
  if (open == std::string_view::npos || close == std::string_view::npos || close > end) return false;
  const std::string_view named = note.substr(open + 1, close - open - 1);
  return named == setting || named.substr(0, named.find('=')) == setting;
}

}  // namespace spillway
