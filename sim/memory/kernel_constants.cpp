#include "sim/memory/kernel_constants.hpp"

#include <array>
#include <cmath>
#include <fmt/format.h>
#include <string>

namespace spillway::sim {

namespace {

constexpr std::array kConstants{
    KernelConstantName{"max_pause_ms", "longest sleep of balance_dirty_pages (MAX_PAUSE)", &KernelConstants::max_pause_ms, 1, 10'000},
    KernelConstantName{"ratelimit_step", "divisor of a step of the dirty rate limit", &KernelConstants::ratelimit_step, 1, 1024},
    KernelConstantName{"min_writeback_pages", "unit of what a visit of the flusher writes (MIN_WRITEBACK_PAGES)", &KernelConstants::min_writeback_pages, 1,
                       1 << 24},
};

}  // namespace

std::span<const KernelConstantName> kernel_constant_names() { return kConstants; }

Status set_kernel_constant(KernelConstants& constants, std::string_view name, double value) {
  std::string names;
  for (const auto& constant : kConstants) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", constant.name);
    if (constant.name != name) continue;
    if (value != std::floor(value) || value < constant.low || value > constant.high)
      return fail(ErrorKind::bad_input, fmt::format("{} should be a whole number from {} to {}, found {}", name, constant.low, constant.high, value));
    constants.*constant.member = static_cast<int>(value);
    return {};
  }
  return fail(ErrorKind::bad_input, fmt::format("{} is not a constant that the model knows; those are {}", name, names));
}

}  // namespace spillway::sim
