#include "analysis/quantity.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace spillway::analysis {
namespace {

struct Unit {
  std::string_view text;
  QuantityKind kind;
  double factor;
};
using enum QuantityKind;
constexpr std::array<Unit, 24> kUnits{{{"", number, 1},       {"B", bytes, 1},           {"kB", bytes, 1e3},
                                       {"MB", bytes, 1e6},    {"GB", bytes, 1e9},        {"TB", bytes, 1e12},
                                       {"KiB", bytes, 1024},  {"MiB", bytes, 1048576},   {"GiB", bytes, 1073741824},
                                       {"TiB", bytes, 1099511627776}, {"B/s", rate, 1},  {"kB/s", rate, 1e3},
                                       {"MB/s", rate, 1e6},   {"GB/s", rate, 1e9},       {"KiB/s", rate, 1024},
                                       {"MiB/s", rate, 1048576}, {"GiB/s", rate, 1073741824}, {"s", time, 1},
                                       {"ms", time, 1e-3},    {"us", time, 1e-6},        {"ns", time, 1e-9},
                                       {"min", time, 60},     {"h", time, 3600},         {"%", percent, 0.01}}};

}  // namespace

std::optional<Quantity> read_quantity(std::string_view text) {
  double read = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), read);
  if (code != std::errc{}) return std::nullopt;
  std::string_view unit{end, static_cast<std::size_t>(text.data() + text.size() - end)};
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  const auto known = std::ranges::find(kUnits, unit, &Unit::text);
  if (known == kUnits.end()) return std::nullopt;
  return Quantity{known->kind, read * known->factor};
}

std::optional<std::string> text_at(const nlohmann::ordered_json& experiment, std::string_view path) {
  const nlohmann::ordered_json* at = &experiment;
  while (!path.empty()) {
    if (!at->is_object()) return std::nullopt;
    // Knob names hold dots and slashes themselves: from a slash on it is one name.
    const std::size_t dot = path.starts_with('/') ? std::string_view::npos : path.find('.');
    const auto member = at->find(std::string{path.substr(0, dot)});
    if (member == at->end() || member->is_null()) return std::nullopt;
    at = &*member;
    path = dot == std::string_view::npos ? std::string_view{} : path.substr(dot + 1);
  }
  return at->is_string() ? at->get<std::string>() : at->dump();
}

std::optional<double> value_at(const nlohmann::ordered_json& experiment, std::string_view path) {
  const auto text = text_at(experiment, path);
  if (!text) return std::nullopt;
  const auto quantity = read_quantity(*text);
  if (!quantity) return std::nullopt;
  return quantity->value;
}

}  // namespace spillway::analysis
