#include "workload/experiment/quantity.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fmt/core.h>
#include <limits>
#include <optional>
#include <span>

namespace spillway {

namespace {

__extension__ using Wide = __int128;

struct UnitName {
  std::string_view name;
  std::int64_t factor;
};

// Larger first: of two texts of equal length the one with the larger unit is printed.
constexpr std::array kSizes = {UnitName{"TiB", kTiB}, UnitName{"TB", kTB}, UnitName{"GiB", kGiB},
                               UnitName{"GB", kGB},   UnitName{"MiB", kMiB}, UnitName{"MB", kMB},
                               UnitName{"KiB", kKiB}, UnitName{"kB", kKB},   UnitName{"B", 1}};
constexpr std::array kBits = {UnitName{"Gbit", kGB / 8}, UnitName{"Mbit", kMB / 8}, UnitName{"kbit", kKB / 8}};
constexpr std::array kTimes = {UnitName{"h", 3'600'000'000'000}, UnitName{"min", 60'000'000'000},
                               UnitName{"s", 1'000'000'000},     UnitName{"ms", 1'000'000},
                               UnitName{"us", 1'000},            UnitName{"ns", 1}};

/// A decimal number as an integer and a power of ten, so that no rounding happens before the unit is applied.
struct Decimal {
  std::int64_t digits = 0;
  std::int64_t divisor = 1;
};

struct Split {
  Decimal number;
  std::string_view unit;
};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

Read<Split> split(std::string_view text, std::string_view example) {
  text = trimmed(text);
  if (text.starts_with('-')) return std::unexpected(fmt::format("is negative; {} was expected", example));
  Split out;
  std::size_t i = 0;
  bool point = false, any = false;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '.' && !point) {
      point = true;
    } else if (c >= '0' && c <= '9') {
      any = true;
      if (out.number.digits > (std::numeric_limits<std::int64_t>::max() - 9) / 10 || (point && out.number.divisor > 1'000'000'000'000)) {
        return std::unexpected(std::string{"has too many digits"});
      }
      out.number.digits = out.number.digits * 10 + (c - '0');
      if (point) out.number.divisor *= 10;
    } else {
      break;
    }
  }
  if (!any) return std::unexpected(fmt::format("does not begin with a number; {} was expected", example));
  out.unit = trimmed(text.substr(i));
  return out;
}

std::string names(std::span<const UnitName> units, std::string_view suffix) {
  std::string out;
  for (std::size_t i = units.size(); i-- > 0;) {
    out += fmt::format("{}{}{}", units[i].name, suffix, i == 0 ? "" : ", ");
  }
  return out;
}

std::optional<std::int64_t> factor_of(std::span<const UnitName> units, std::string_view name) {
  for (const UnitName& unit : units) {
    if (unit.name == name) return unit.factor;
  }
  return std::nullopt;
}

/// Rounded to the nearest whole unit, halves up.
Read<std::int64_t> scaled(Decimal number, std::int64_t factor) {
  const Wide value = (static_cast<Wide>(number.digits) * factor + number.divisor / 2) / number.divisor;
  if (value > std::numeric_limits<std::int64_t>::max()) return std::unexpected(std::string{"is too large"});
  return static_cast<std::int64_t>(value);
}

template <class T>
Read<T> counted(Decimal number, std::int64_t factor) {
  const auto n = scaled(number, factor);
  if (!n) return std::unexpected(n.error());
  return T{*n};
}

std::string shortest(std::int64_t value, std::span<const UnitName> units, std::string_view zero) {
  if (value == 0) return std::string{zero};
  std::string best;
  for (const UnitName& unit : units) {
    for (int decimals = 0, scale = 1; decimals <= 3; ++decimals, scale *= 10) {
      const Wide wide = static_cast<Wide>(value) * scale;
      if (wide % unit.factor != 0) continue;
      const auto digits = static_cast<std::int64_t>(wide / unit.factor);
      if (digits < scale) break;  // "500MB" reads better than "0.5GB"
      std::string text = decimals == 0 ? fmt::format("{}", digits)
                                       : fmt::format("{}.{:0{}}", digits / scale, digits % scale, decimals);
      text += unit.name;
      if (best.empty() || text.size() < best.size()) best = std::move(text);
      break;
    }
  }
  return best;
}

}  // namespace

Read<Bytes> read_size(std::string_view text) {
  const auto parts = split(text, "a size such as \"64KiB\"");
  if (!parts) return std::unexpected(parts.error());
  if (parts->unit.empty()) {
    return std::unexpected(fmt::format("has no unit; sizes take {}", names(kSizes, "")));
  }
  if (parts->unit.ends_with("/s")) return std::unexpected(std::string{"is a rate; a size such as \"64KiB\" was expected"});
  const auto factor = factor_of(kSizes, parts->unit);
  if (!factor) return std::unexpected(fmt::format("has the unknown unit \"{}\"; sizes take {} (MB = 10^6, MiB = 2^20)", parts->unit, names(kSizes, "")));
  return counted<Bytes>(parts->number, *factor);
}

Read<BytesPerSec> read_rate(std::string_view text) {
  const auto parts = split(text, "a rate such as \"40MB/s\"");
  if (!parts) return std::unexpected(parts.error());
  std::string_view unit = parts->unit;
  if (!unit.ends_with("/s")) {
    return std::unexpected(std::string{unit.empty() ? "has no unit; rates look like \"40MB/s\"" : "is not a rate; rates end in \"/s\", for example \"40MB/s\""});
  }
  unit.remove_suffix(2);
  auto factor = factor_of(kSizes, unit);
  if (!factor) factor = factor_of(kBits, unit);
  if (!factor) return std::unexpected(fmt::format("has the unknown unit \"{}\"; rates take {} and {}", parts->unit, names(kSizes, "/s"), names(kBits, "/s")));
  return counted<BytesPerSec>(parts->number, *factor);
}

Read<Duration> read_time(std::string_view text) {
  const auto parts = split(text, "a time such as \"30s\"");
  if (!parts) return std::unexpected(parts.error());
  if (parts->unit.empty()) return std::unexpected(fmt::format("has no unit; times take {}", names(kTimes, "")));
  const auto factor = factor_of(kTimes, parts->unit);
  if (!factor) return std::unexpected(fmt::format("has the unknown unit \"{}\"; times take {}", parts->unit, names(kTimes, "")));
  return counted<Duration>(parts->number, *factor);
}

Read<double> read_percent(std::string_view text) {
  const auto parts = split(text, "a percentage such as \"20%\"");
  if (!parts) return std::unexpected(parts.error());
  if (parts->unit != "%") return std::unexpected(std::string{"is not a percentage; one such as \"20%\" was expected"});
  return static_cast<double>(parts->number.digits) / (static_cast<double>(parts->number.divisor) * 100.0);
}

std::string size_text(Bytes size) { return shortest(size.value(), kSizes, "0B"); }
std::string rate_text(BytesPerSec rate) { return shortest(rate.value(), kSizes, "0B") + "/s"; }
std::string time_text(Duration time) { return shortest(time.count(), kTimes, "0s"); }

std::string percent_text(double ratio) {
  // The fewest decimals that read back to the same number.
  for (int decimals = 0; decimals <= 12; ++decimals) {
    std::string text = fmt::format("{:.{}f}%", ratio * 100.0, decimals);
    if (const auto back = read_percent(text); back && *back == ratio) return text;
  }
  return fmt::format("{}%", ratio * 100.0);
}

}  // namespace spillway
