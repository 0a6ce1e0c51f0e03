#include "analysis/report/effective_toml.hpp"

#include <algorithm>
#include <string_view>

namespace spillway::analysis {
namespace {

using Json = nlohmann::ordered_json;

bool is_bare(std::string_view key) {
  return !key.empty() && std::ranges::all_of(key, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

/// JSON's strings are TOML's basic strings: the same quotes and escapes.
std::string quoted(const std::string& text) { return Json(text).dump(); }
std::string key_text(const std::string& key) { return is_bare(key) ? key : quoted(key); }

bool is_table_list(const Json& value) { return value.is_array() && !value.empty() && value.front().is_object(); }

std::string value_text(const Json& value) {
  if (!value.is_array()) return value.is_string() ? quoted(value.get<std::string>()) : value.dump();
  std::string out = "[";
  for (const Json& item : value) out += (out.size() > 1 ? ", " : "") + value_text(item);
  return out + "]";
}

void write_table(const Json& table, const std::string& path, std::string& out) {
  // Values before tables: in TOML what follows a header belongs to it.
  for (const auto& [key, value] : table.items()) {
    if (value.is_null() || value.is_object() || is_table_list(value)) continue;
    out += key_text(key) + " = " + value_text(value) + "\n";
  }
  for (const auto& [key, value] : table.items()) {
    const std::string below = path.empty() ? key_text(key) : path + "." + key_text(key);
    if (value.is_object() && !value.empty()) {
      out += "\n[" + below + "]\n";
      write_table(value, below, out);
    } else if (is_table_list(value)) {
      for (const Json& item : value) {
        out += "\n[[" + below + "]]\n";
        write_table(item, below, out);
      }
    }
  }
}

}  // namespace

std::string effective_toml(const Json& effective) {
  if (!effective.is_object()) return "";
  Json kept = effective;
  kept.erase("expect");
  kept.erase("sweep");
  // An empty list of tables ([[job]] without a job) says nothing.
  for (const char* list : {"job"}) {
    if (kept.contains(list) && kept[list].empty()) kept.erase(list);
  }
  std::string out;
  write_table(kept, "", out);
  return out;
}

}  // namespace spillway::analysis
