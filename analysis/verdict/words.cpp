#include "analysis/verdict/words.hpp"

#include <fmt/format.h>

#include <cmath>

#include "workload/record/metric.hpp"

namespace spillway::analysis {
namespace {

std::string unit_of(const std::string& metric) {
  const auto name = parse_metric(metric);
  if (!name || name->info == nullptr || name->info->unit == "count") return "";
  return std::string{name->info->unit};
}

std::string with_unit(const std::string& number, std::string_view unit) {
  return unit.empty() ? number : fmt::format("{} {}", number, unit);
}

/// A percentage with as many digits as a reader needs.
std::string percent_words(double share) {
  const double percent = 100 * share;
  return std::abs(percent) >= 10 ? fmt::format("{:.0f}", percent) : fmt::format("{:.1f}", percent);
}

}  // namespace

std::string_view verb_of(bool simulated) { return simulated ? "predicted" : "measured"; }

std::string number_words(double value) {
  const double size = std::abs(value);
  if (size != 0 && (size >= 1e7 || size < 1e-3)) return fmt::format("{:.3g}", value);
  if (size >= 1000) return fmt::format("{:.0f}", value);
  return fmt::format("{:.4g}", value);
}

std::string change_words(double ratio, const std::optional<Interval>& interval) {
  if (ratio > 3.0) {
    std::string words = fmt::format("up {:.1f}-fold", ratio);
    if (interval) words += fmt::format(" ({:.1f} to {:.1f})", interval->low, interval->high);
    return words;
  }
  const bool up = ratio >= 1.0;
  const double sign = up ? 1 : -1;
  std::string words = fmt::format("{} {} %", up ? "up" : "down", percent_words(sign * (ratio - 1)));
  if (interval) {
    const double near = sign * ((up ? interval->low : interval->high) - 1);
    const double far = sign * ((up ? interval->high : interval->low) - 1);
    words += fmt::format(" ({} to {})", percent_words(near), percent_words(far));
  }
  return words;
}

std::string value_words(double value, const std::optional<Interval>& interval, std::string_view unit) {
  std::string words = with_unit(number_words(value), unit);
  if (interval) words += fmt::format(" ({} to {})", number_words(interval->low), number_words(interval->high));
  return words;
}

std::string selector_words(const CaseSelector& selector) {
  std::string text;
  for (const auto& [key, value] : selector) text += (text.empty() ? "" : ", ") + key + "=" + value;
  return text;
}

std::string claim_words(const Expectation& e) {
  const std::string unit = e.versus ? "" : unit_of(e.metric);
  const std::string value = e.value ? with_unit(number_words(*e.value), unit) : "";
  std::string subject = e.metric;
  if (!e.of.empty()) subject += " of " + selector_words(e.of);
  const std::string against = e.versus ? " against " + selector_words(*e.versus) : "";
  switch (e.op) {
    case ExpectOp::value: {
      std::string within;
      if (e.tolerance) within = fmt::format(" within {} %", percent_words(*e.tolerance));
      if (e.tolerance_abs) within = fmt::format(" within {}", with_unit(number_words(*e.tolerance_abs), unit));
      return fmt::format("{}{} is {}{}", subject, against, value, within);
    }
    case ExpectOp::at_most: return fmt::format("{}{} is at most {}", subject, against, value);
    case ExpectOp::at_least: return fmt::format("{}{} is at least {}", subject, against, value);
    case ExpectOp::up: return fmt::format("{} is up{}", subject, against);
    case ExpectOp::down: return fmt::format("{} is down{}", subject, against);
    case ExpectOp::unchanged:
      return fmt::format("{} is unchanged within {} %{}", subject, percent_words(e.margin.value_or(0.05)), against);
    case ExpectOp::ordered: {
      std::string order;
      for (const std::string& one : e.order) order += (order.empty() ? "" : " < ") + one;
      return fmt::format("{} rises in the order {} of {}", subject, order, e.order_key);
    }
    case ExpectOp::knee_at:
      return e.value && *e.value > 0 ? fmt::format("the knee is at untar {}", number_words(*e.value)) : "there is no knee";
    case ExpectOp::bottleneck: return fmt::format("the bottleneck is {}", e.text.value_or("?"));
  }
  return subject;
}

}  // namespace spillway::analysis
