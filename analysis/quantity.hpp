#pragma once
/// Quantities as they stand in an effective experiment ("1GB", "40MB/s", "30s", "20%"), read back for comparing and for the
/// null model. Bytes, bytes a second, seconds, ratios.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace spillway::analysis {

enum class QuantityKind { number, bytes, rate, time, percent };
struct Quantity {
  QuantityKind kind = QuantityKind::number;
  double value = 0;  ///< in B, B/s, s; a percentage as a ratio
};

/// Empty when the text is not a number with a known unit.
std::optional<Quantity> read_quantity(std::string_view text);

/// The text at a dotted path ("memory.dirty_bytes") of an effective experiment; numbers as JSON writes them. Empty: not set.
std::optional<std::string> text_at(const nlohmann::ordered_json& experiment, std::string_view path);
/// The quantity there, whatever its kind.
std::optional<double> value_at(const nlohmann::ordered_json& experiment, std::string_view path);

}  // namespace spillway::analysis
