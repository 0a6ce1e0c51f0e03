#pragma once
/// Every key of an experiment file, as documentation and as a way to address one value: "memory.dirty_bytes",
/// "job[dd].size", "job[1].size", "pipeline.stage[fuse].threads", "knobs.vm.swappiness", "box.costs.copy_us_per_page".
/// All of it follows from the one table in schema.cpp.

#include "sim/result.hpp"
#include "workload/experiment/toml_value.hpp"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spillway {

/// One key for people: `spillway keys`.
struct KeyInfo {
  std::string key;           ///< "memory.dirty_bytes"; of lists of tables "job[].size"
  std::string section;       ///< "[memory]", "[[job]]", "" for the keys on top
  std::string kind;          ///< "size", "rate", "time", "whole number", "choice", ...
  std::string default_text;  ///< canonical; empty: not set, or empty
  std::string meaning;
  std::string boxes;         ///< "all", "real", "simulated": which boxes take it into account
  std::vector<std::string> choices;
};

/// In the order of the file's sections.
const std::vector<KeyInfo>& all_keys();

/// The key that a path addresses, for example job[].size for "job[dd].size"; the error names the nearest.
Result<KeyInfo> find_key(std::string_view path);

/// The key nearest to a wrong one: within `section` ("memory") first, then among all. Empty: none is near.
std::string nearest_key(std::string_view section, std::string_view wrong);

/// A value as typed on a command line or in a selector ("1GB", "8", "true", "remove,skeleton", ["a"]) as TOML would have
/// it for that key. Quotes are not needed.
Result<TomlValue> typed_value(std::string_view path, const std::string& text);

/// A value for a key, checked and normalised: "1000MB" becomes "1GB". The error is a sentence without a place.
Result<nlohmann::ordered_json> normalised(std::string_view path, const TomlValue& value);
/// The same as short text without quotes, for folder names, case keys and selectors: 1GB, 8, true, remove+skeleton.
std::string short_text(const nlohmann::ordered_json& value);
Result<std::string> normalised_text(std::string_view path, const std::string& text);

/// The keys as plain text, or keys and metrics as Markdown for experiments/README.md.
std::string keys_text();
std::string keys_markdown();

}  // namespace spillway
