#pragma once
/// Constants of the kernel's writeback code that people change by one line when they look for a better kernel. The model
/// follows, so that a patched kernel can be predicted before it is built.

#include <cstdint>
#include <span>
#include <string_view>

#include "sim/result.hpp"

namespace spillway::sim {

struct KernelConstants {
  /// MAX_PAUSE, mm/page-writeback.c: max(HZ/5, 1).
  int max_pause_ms = 200;
  /// wb_update_dirty_ratelimit(): a step of the rate limit is divided by this.
  int ratelimit_step = 8;
  /// MIN_WRITEBACK_PAGES, fs/fs-writeback.c: 4 MiB. What one visit of the flusher writes is a multiple of it.
  int min_writeback_pages = 1024;

  friend bool operator==(const KernelConstants&, const KernelConstants&) = default;
};

struct KernelConstantName {
  std::string_view name, meaning;
  int KernelConstants::* member;
  int low, high;
};
/// By these names an experiment sets them ([box.kernel_constants]).
[[nodiscard]] std::span<const KernelConstantName> kernel_constant_names();
/// Sets one; what is no name, no whole number or out of range is an error.
[[nodiscard]] Status set_kernel_constant(KernelConstants& constants, std::string_view name, double value);

}  // namespace spillway::sim
