#pragma once
/// A TOML document as plain values that remember where they stand. toml++ is slow to compile (and under sanitizers), so
/// it is included by toml_value.cpp alone.

#include "sim/result.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace spillway {

struct TomlValue {
  enum class Kind : std::uint8_t { text, whole, number, truth, list, table, other };
  Kind kind = Kind::table;
  std::string text;           ///< For text; for other (dates, times): its source.
  std::int64_t whole = 0;
  double number = 0;
  bool truth = false;
  std::vector<TomlValue> items;                               ///< list
  std::vector<std::pair<std::string, TomlValue>> members;     ///< table, in written order
  int line = 0;               ///< 1-based; 0: not from a file
  std::string origin;         ///< "--set key=value" when it came from the command line, else empty

  [[nodiscard]] const TomlValue* find(std::string_view key) const;
  [[nodiscard]] TomlValue* find(std::string_view key);
  /// The member, made as an empty table if it is not there.
  TomlValue& child(std::string_view key);
  void erase(std::string_view key);
  [[nodiscard]] bool is(Kind k) const { return kind == k; }
};

/// Parses a document; the error is one sentence with file and line. A bare size such as `bytes = 3.4GB` is answered
/// with "quote it".
Result<TomlValue> parse_toml(const std::string& text, const std::string& where);
/// Parses one value as it stands right of `=`; nullopt-like error when it is not TOML.
Result<TomlValue> parse_toml_value(const std::string& text);
/// JSON (an effective experiment) as the same kind of tree; null members are left out.
TomlValue from_json(const nlohmann::ordered_json& json);

TomlValue toml_text(std::string text);
/// As it would be written, shortened for messages.
std::string shown(const TomlValue& value);

}  // namespace spillway
