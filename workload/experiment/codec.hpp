#pragma once
/// How one member of a typed struct is read from TOML, written to the effective experiment, and documented. A Binding
/// is made from a member pointer, so that key, kind, range, default and meaning stand in one line of the table
/// (keys.cpp) and nowhere else.
///
/// Reading errors are the rest of a sentence that begins with the key's name: `should be a whole number, found "x"`.

#include "workload/experiment/experiment.hpp"
#include "workload/experiment/quantity.hpp"
#include "workload/experiment/toml_value.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace spillway::schema {

using Json = nlohmann::ordered_json;
using Problem = std::optional<std::string>;

/// What limits a value beyond its type.
struct Rule {
  std::vector<std::string> choices;                ///< for text and lists of text; empty: anything
  std::optional<std::int64_t> at_least, at_most;   ///< in the type's base unit (bytes, bytes/s, ns)
  std::optional<double> real_at_least, real_at_most;
  std::string why;                                 ///< said after a range error: what to think of
};

inline Rule one_of(std::vector<std::string> choices) { return {.choices = std::move(choices), .at_least = {}, .at_most = {}, .real_at_least = {}, .real_at_most = {}, .why = {}}; }
inline Rule from(std::int64_t low, std::string why = {}) { return {.choices = {}, .at_least = low, .at_most = {}, .real_at_least = {}, .real_at_most = {}, .why = std::move(why)}; }
inline Rule between(std::int64_t low, std::int64_t high, std::string why = {}) { return {.choices = {}, .at_least = low, .at_most = high, .real_at_least = {}, .real_at_most = {}, .why = std::move(why)}; }
inline Rule real_between(double low, double high) { return {.choices = {}, .at_least = {}, .at_most = {}, .real_at_least = low, .real_at_most = high, .why = {}}; }

template <class T>
struct Codec;

inline Problem out_of_range(const std::string& value, const std::string& limit, bool below, const Rule& rule) {
  return fmt::format("= {} is {} {}{}{}", value, below ? "less than" : "more than", limit, rule.why.empty() ? "" : ": ", rule.why);
}

template <class Print>
Problem check_range(std::int64_t n, const Rule& rule, Print print) {
  if (rule.at_least && n < *rule.at_least) return out_of_range(print(n), print(*rule.at_least), true, rule);
  if (rule.at_most && n > *rule.at_most) return out_of_range(print(n), print(*rule.at_most), false, rule);
  return std::nullopt;
}

inline std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i) out += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  return out;
}

/// Nearest of the choices, as "; the nearest is ...", or nothing.
std::string nearest_choice(const std::string& word, const std::vector<std::string>& choices);

inline Problem check_choice(const std::string& text, const Rule& rule) {
  if (rule.choices.empty() || std::find(rule.choices.begin(), rule.choices.end(), text) != rule.choices.end()) {
    return std::nullopt;
  }
  return fmt::format("should be {}, found \"{}\"{}", joined(rule.choices), text, nearest_choice(text, rule.choices));
}

template <>
struct Codec<std::string> {
  static std::string kind(const Rule& rule) { return rule.choices.empty() ? "text" : "choice"; }
  static Problem read(const TomlValue& value, std::string& out, const Rule& rule) {
    if (!value.is(TomlValue::Kind::text)) {
      return rule.choices.empty() ? fmt::format("should be a text in quotes, found {}", shown(value))
                                  : fmt::format("should be {} (in quotes), found {}", joined(rule.choices), shown(value));
    }
    if (Problem problem = check_choice(value.text, rule)) return problem;
    out = value.text;
    return std::nullopt;
  }
  static Json write(const std::string& value) { return value; }
};

template <>
struct Codec<bool> {
  static std::string kind(const Rule&) { return "true or false"; }
  static Problem read(const TomlValue& value, bool& out, const Rule&) {
    if (!value.is(TomlValue::Kind::truth)) return fmt::format("should be true or false (without quotes), found {}", shown(value));
    out = value.truth;
    return std::nullopt;
  }
  static Json write(bool value) { return value; }
};

template <class Int>
struct WholeCodec {
  static std::string kind(const Rule&) { return "whole number"; }
  static Problem read(const TomlValue& value, Int& out, const Rule& rule) {
    if (!value.is(TomlValue::Kind::whole)) return fmt::format("should be a whole number, found {}", shown(value));
    if (Problem problem = check_range(value.whole, rule, [](std::int64_t n) { return fmt::format("{}", n); })) return problem;
    if (!std::in_range<Int>(value.whole)) return fmt::format("= {} is too large or too small", value.whole);
    out = static_cast<Int>(value.whole);
    return std::nullopt;
  }
  static Json write(Int value) { return value; }
};
template <>
struct Codec<int> : WholeCodec<int> {};
template <>
struct Codec<std::int64_t> : WholeCodec<std::int64_t> {};
/// Seeds; TOML whole numbers are signed, so the upper half is not reachable.
template <>
struct Codec<std::uint64_t> : WholeCodec<std::uint64_t> {};

template <>
struct Codec<double> {
  static std::string kind(const Rule&) { return "number"; }
  static Problem read(const TomlValue& value, double& out, const Rule& rule) {
    double n = 0;
    if (value.is(TomlValue::Kind::whole)) {
      n = static_cast<double>(value.whole);
    } else if (value.is(TomlValue::Kind::number)) {
      n = value.number;
    } else {
      return fmt::format("should be a number, found {}", shown(value));
    }
    if (!(n > -std::numeric_limits<double>::infinity() && n < std::numeric_limits<double>::infinity())) {
      return fmt::format("should be a finite number, found {}", shown(value));
    }
    if (rule.real_at_least && n < *rule.real_at_least) return out_of_range(fmt::format("{}", n), fmt::format("{}", *rule.real_at_least), true, rule);
    if (rule.real_at_most && n > *rule.real_at_most) return out_of_range(fmt::format("{}", n), fmt::format("{}", *rule.real_at_most), false, rule);
    out = n;
    return std::nullopt;
  }
  static Json write(double value) { return value; }
};

/// Sizes, rates and times: a quoted text with a unit.
template <class T, auto Read, auto Print>
struct QuantityCodec {
  static Problem read_quantity(const TomlValue& value, T& out, const Rule& rule, std::string_view what, std::string_view example) {
    if (value.is(TomlValue::Kind::whole) || value.is(TomlValue::Kind::number)) {
      return fmt::format("= {} has no unit: write {} in quotes, for example \"{}\"", shown(value), what, example);
    }
    if (!value.is(TomlValue::Kind::text)) return fmt::format("should be {} such as \"{}\", found {}", what, example, shown(value));
    const auto parsed = Read(value.text);
    if (!parsed) return fmt::format("= \"{}\" {}", value.text, parsed.error());
    if (Problem problem = check_range(raw(*parsed), rule, [](std::int64_t n) { return Print(T{n}); })) return problem;
    out = *parsed;
    return std::nullopt;
  }
  static std::int64_t raw(T value) {
    if constexpr (requires { value.count(); }) {
      return value.count();
    } else {
      return value.value();
    }
  }
  static Json write(T value) { return Print(value); }
};
template <>
struct Codec<Bytes> : QuantityCodec<Bytes, read_size, size_text> {
  static std::string kind(const Rule&) { return "size"; }
  static Problem read(const TomlValue& v, Bytes& out, const Rule& r) { return read_quantity(v, out, r, "a size", "64KiB"); }
};
template <>
struct Codec<BytesPerSec> : QuantityCodec<BytesPerSec, read_rate, rate_text> {
  static std::string kind(const Rule&) { return "rate"; }
  static Problem read(const TomlValue& v, BytesPerSec& out, const Rule& r) { return read_quantity(v, out, r, "a rate", "40MB/s"); }
};
template <>
struct Codec<Duration> : QuantityCodec<Duration, read_time, time_text> {
  static std::string kind(const Rule&) { return "time"; }
  static Problem read(const TomlValue& v, Duration& out, const Rule& r) { return read_quantity(v, out, r, "a time", "30s"); }
};

template <class T>
struct Codec<std::optional<T>> {
  static std::string kind(const Rule& rule) { return Codec<T>::kind(rule); }
  static Problem read(const TomlValue& value, std::optional<T>& out, const Rule& rule) {
    T inner{};
    if (Problem problem = Codec<T>::read(value, inner, rule)) return problem;
    out = inner;
    return std::nullopt;
  }
  static Json write(const std::optional<T>& value) { return value ? Codec<T>::write(*value) : Json(nullptr); }
};

template <>
struct Codec<std::vector<std::string>> {
  static std::string kind(const Rule& rule) { return rule.choices.empty() ? "list of texts" : "list of choices"; }
  static Problem read(const TomlValue& value, std::vector<std::string>& out, const Rule& rule) {
    if (!value.is(TomlValue::Kind::list)) return fmt::format("should be a list such as [\"a\", \"b\"], found {}", shown(value));
    std::vector<std::string> words;
    for (const TomlValue& item : value.items) {
      if (!item.is(TomlValue::Kind::text)) return fmt::format("should hold texts in quotes, found {}", shown(item));
      if (Problem problem = check_choice(item.text, rule)) return problem;
      words.push_back(item.text);
    }
    out = std::move(words);
    return std::nullopt;
  }
  static Json write(const std::vector<std::string>& value) { return value; }
};

/// archive.histogram: [["4KiB", 10], ["1MiB", 1]].
template <>
struct Codec<std::vector<std::pair<Bytes, double>>> {
  using Histogram = std::vector<std::pair<Bytes, double>>;
  static std::string kind(const Rule&) { return "list of [size, weight]"; }
  static Problem read(const TomlValue& value, Histogram& out, const Rule&) {
    const std::string expected = "should be a list such as [[\"4KiB\", 10], [\"1MiB\", 1]]";
    if (!value.is(TomlValue::Kind::list)) return fmt::format("{}, found {}", expected, shown(value));
    Histogram histogram;
    for (const TomlValue& pair : value.items) {
      if (!pair.is(TomlValue::Kind::list) || pair.items.size() != 2) return fmt::format("{}, found {}", expected, shown(pair));
      Bytes size{0};
      double weight = 0;
      if (Problem problem = Codec<Bytes>::read(pair.items[0], size, {})) return problem;
      if (Problem problem = Codec<double>::read(pair.items[1], weight, {})) return problem;
      if (weight <= 0) return fmt::format("has the weight {}; weights are positive", weight);
      histogram.emplace_back(size, weight);
    }
    out = std::move(histogram);
    return std::nullopt;
  }
  static Json write(const Histogram& value) {
    Json list = Json::array();
    for (const auto& [size, weight] : value) list.push_back(Json::array({size_text(size), weight}));
    return list;
  }
};

/// box.costs and box.kernel_constants: name = number.
template <>
struct Codec<std::vector<std::pair<std::string, double>>> {
  using Costs = std::vector<std::pair<std::string, double>>;
  static std::string kind(const Rule&) { return "table of numbers"; }
  static Problem read(const TomlValue& value, Costs& out, const Rule&) {
    if (!value.is(TomlValue::Kind::table)) return fmt::format("should be a table of name = number, found {}", shown(value));
    Costs costs;
    for (const auto& [name, member] : value.members) {
      double cost = 0;
      if (Problem problem = Codec<double>::read(member, cost, real_between(0, 1e12))) return fmt::format(".{} {}", name, *problem);
      costs.emplace_back(name, cost);
    }
    out = std::move(costs);
    return std::nullopt;
  }
  static Json write(const Costs& value) {
    Json table = Json::object();
    for (const auto& [name, cost] : value) table[name] = cost;
    return table;
  }
};

enum class Boxes : std::uint8_t { all, real, simulated };

template <class S>
struct Binding {
  std::string name;      ///< within its section
  std::string kind;      ///< "size", "choice", ...
  std::string meaning;   ///< one phrase, with its unit where the kind does not say it
  Boxes boxes = Boxes::all;
  Rule rule;
  std::function<Problem(const TomlValue&, S&)> read;
  std::function<Json(const S&)> write;
  /// Why the key has no meaning beside the other values of its section; empty: it has. A key without meaning is
  /// refused when it is written and null in the effective experiment.
  std::function<std::string(const S&)> pointless;
};

template <class S, class T>
Binding<S> key(std::string name, T S::* member, std::string meaning, Rule rule = {}, Boxes boxes = Boxes::all) {
  Binding<S> binding;
  binding.name = std::move(name);
  binding.kind = Codec<T>::kind(rule);
  binding.meaning = std::move(meaning);
  binding.boxes = boxes;
  binding.rule = rule;
  binding.read = [member, rule](const TomlValue& value, S& section) { return Codec<T>::read(value, section.*member, rule); };
  binding.write = [member](const S& section) { return Codec<T>::write(section.*member); };
  return binding;
}

template <class S>
using Section = std::vector<Binding<S>>;

}  // namespace spillway::schema
