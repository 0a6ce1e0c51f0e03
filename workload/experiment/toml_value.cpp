#include "workload/experiment/toml_value.hpp"

#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
// The library asserts that a key begins like one and, right behind that, reports an error if it does not: "[+x]" must be the
// error and not the end of the program.
#define TOML_ASSERT(expr) static_cast<void>(0)
#include <toml++/toml.h>

#include <algorithm>
#include <cctype>
#include <fmt/core.h>
#include <optional>
#include <sstream>

namespace spillway {

namespace {

TomlValue convert(const toml::node& node);

TomlValue convert_table(const toml::table& table) {
  struct Member {
    toml::source_position at;
    std::string key;
    const toml::node* node;
  };
  std::vector<Member> members;
  for (const auto& [key, node] : table) members.push_back({key.source().begin, std::string{key.str()}, &node});
  // toml++ keeps tables sorted by key; people expect the order in which they wrote.
  std::stable_sort(members.begin(), members.end(), [](const Member& a, const Member& b) {
    return std::pair{a.at.line, a.at.column} < std::pair{b.at.line, b.at.column};
  });
  TomlValue value;
  value.kind = TomlValue::Kind::table;
  for (const Member& member : members) {
    TomlValue inner = convert(*member.node);
    if (member.at.line != 0) inner.line = static_cast<int>(member.at.line);
    value.members.emplace_back(member.key, std::move(inner));
  }
  return value;
}

TomlValue convert(const toml::node& node) {
  TomlValue value;
  if (const auto* table = node.as_table()) {
    value = convert_table(*table);
  } else if (const auto* array = node.as_array()) {
    value.kind = TomlValue::Kind::list;
    for (const toml::node& item : *array) value.items.push_back(convert(item));
  } else if (const auto* text = node.as_string()) {
    value.kind = TomlValue::Kind::text;
    value.text = text->get();
  } else if (const auto* whole = node.as_integer()) {
    value.kind = TomlValue::Kind::whole;
    value.whole = whole->get();
  } else if (const auto* number = node.as_floating_point()) {
    value.kind = TomlValue::Kind::number;
    value.number = number->get();
  } else if (const auto* truth = node.as_boolean()) {
    value.kind = TomlValue::Kind::truth;
    value.truth = truth->get();
  } else {
    value.kind = TomlValue::Kind::other;
    std::ostringstream out;
    node.visit([&out](const auto& n) { out << n; });
    value.text = out.str();
  }
  value.line = static_cast<int>(node.source().begin.line);
  return value;
}

std::string line_of(const std::string& text, int line) {
  std::istringstream in{text};
  std::string found;
  for (int i = 0; i < line && std::getline(in, found); ++i) {
  }
  return found;
}

/// The first number with letters right after it that stands outside quotes and comments, for example 3.4GB or 30s.
std::optional<std::string> bare_quantity(const std::string& line) {
  const std::size_t equals = line.find('=');
  if (equals == std::string::npos) return std::nullopt;
  char quote = 0;
  for (std::size_t i = equals + 1; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
      continue;
    }
    if (c == '"' || c == '\'') {
      quote = c;
      continue;
    }
    if (c == '#') return std::nullopt;
    if (std::isdigit(static_cast<unsigned char>(c)) == 0) continue;
    std::size_t end = i;
    const auto more = [&](const char* also) {
      return end < line.size() && (std::isalnum(static_cast<unsigned char>(line[end])) != 0 || std::string_view{also}.find(line[end]) != std::string_view::npos);
    };
    while (more("._%/")) ++end;
    std::string token = line.substr(i, end - i);
    // "3.4 GB": the unit after a blank
    std::size_t next = end;
    while (next < line.size() && line[next] == ' ') ++next;
    if (next > end && next < line.size() && std::isalpha(static_cast<unsigned char>(line[next])) != 0) {
      end = next;
      while (more("/%")) ++end;
      token = line.substr(i, end - i);
    }
    const bool has_unit = std::any_of(token.begin(), token.end(), [](char t) {
      return std::isalpha(static_cast<unsigned char>(t)) != 0 || t == '%';
    });
    const bool hexadecimal = token.starts_with("0x") || token.starts_with("0o") || token.starts_with("0b");
    if (has_unit && !hexadecimal) return token;
    i = end;
  }
  return std::nullopt;
}

}  // namespace

const TomlValue* TomlValue::find(std::string_view key) const {
  for (const auto& [name, value] : members) {
    if (name == key) return &value;
  }
  return nullptr;
}

TomlValue* TomlValue::find(std::string_view key) {
  return const_cast<TomlValue*>(static_cast<const TomlValue*>(this)->find(key));
}

TomlValue& TomlValue::child(std::string_view key) {
  if (TomlValue* found = find(key)) return *found;
  members.emplace_back(std::string{key}, TomlValue{});
  return members.back().second;
}

void TomlValue::erase(std::string_view key) {
  std::erase_if(members, [key](const auto& member) { return member.first == key; });
}

Result<TomlValue> parse_toml(const std::string& text, const std::string& where) {
  const toml::parse_result result = toml::parse(text);
  if (result) return convert_table(result.table());
  const toml::parse_error& error = result.error();
  const int line = static_cast<int>(error.source().begin.line);
  // toml++ sometimes notices only on the next line that a value was wrong.
  for (const int candidate : {line, line - 1}) {
    if (candidate < 1) continue;
    if (const auto token = bare_quantity(line_of(text, candidate))) {
      return fail(ErrorKind::bad_input, fmt::format("{}, line {}: {} is a number with a unit: quote it, \"{}\"", where, candidate, *token, *token));
    }
  }
  std::string description{error.description()};
  std::replace(description.begin(), description.end(), '\n', ' ');
  // What toml++ says of a line's end inside a text.
  if (description.contains("control characters other than TAB") && !line_of(text, line).contains('\t'))
    description = "a text has no closing quote before the end of its line";
  return fail(ErrorKind::bad_input, fmt::format("{}, line {}: not TOML: {}", where, line, description));
}

Result<TomlValue> parse_toml_value(const std::string& text) {
  SPILLWAY_ASSIGN(TomlValue document, parse_toml("value = " + text, "value"));
  TomlValue* value = document.find("value");
  if (value == nullptr || document.members.size() != 1) return fail(ErrorKind::bad_input, "not one value");
  value->line = 0;
  return *value;
}

TomlValue from_json(const nlohmann::ordered_json& json) {
  TomlValue value;
  if (json.is_object()) {
    for (const auto& [key, member] : json.items()) {
      if (!member.is_null()) value.members.emplace_back(key, from_json(member));
    }
  } else if (json.is_array()) {
    value.kind = TomlValue::Kind::list;
    for (const auto& item : json) value.items.push_back(from_json(item));
  } else if (json.is_boolean()) {
    value.kind = TomlValue::Kind::truth;
    value.truth = json.get<bool>();
  } else if (json.is_number_integer()) {
    value.kind = TomlValue::Kind::whole;
    value.whole = json.get<std::int64_t>();
  } else if (json.is_number()) {
    value.kind = TomlValue::Kind::number;
    value.number = json.get<double>();
  } else {
    value.kind = TomlValue::Kind::text;
    if (json.is_string()) value.text = json.get<std::string>();
  }
  return value;
}

TomlValue toml_text(std::string text) {
  TomlValue value;
  value.kind = TomlValue::Kind::text;
  value.text = std::move(text);
  return value;
}

std::string shown(const TomlValue& value) {
  std::string out;
  switch (value.kind) {
    case TomlValue::Kind::text: out = fmt::format("\"{}\"", value.text); break;
    case TomlValue::Kind::whole: out = fmt::format("{}", value.whole); break;
    case TomlValue::Kind::number: out = fmt::format("{}", value.number); break;
    case TomlValue::Kind::truth: out = value.truth ? "true" : "false"; break;
    case TomlValue::Kind::list: {
      out = "[";
      for (std::size_t i = 0; i < value.items.size(); ++i) out += (i == 0 ? "" : ", ") + shown(value.items[i]);
      out += "]";
      break;
    }
    case TomlValue::Kind::table: out = "a table"; break;
    case TomlValue::Kind::other: out = value.text; break;
  }
  if (out.size() > 60) out = out.substr(0, 57) + "...";
  return out;
}

}  // namespace spillway
