#pragma once
/// The integer helpers that the kernel's controller is written with. The controller's pure functions keep the kernel's
/// own arithmetic: pages and pages per second as 64-bit words, truncating division, unsigned wrap where the kernel has it.

#include <bit>
#include <cstdint>

namespace spillway::sim {

/// Pages or pages per second inside the controller: `unsigned long` of the kernel. Typed units end at its door.
using KernelWord = std::uint64_t;

/// Smallest power of two not below x; x must be positive. roundup_pow_of_two().
constexpr KernelWord round_up_pow2(KernelWord x) { return std::bit_ceil(x); }
/// Floor of the binary logarithm; x must be positive. ilog2().
constexpr int ilog2(KernelWord x) { return 63 - std::countl_zero(x); }
constexpr KernelWord div_round_up(KernelWord a, KernelWord b) { return (a + b - 1) / b; }

/// 1.0 in the controller's fixed point: RATELIMIT_CALC_SHIFT = 10.
inline constexpr int kRatioShift = 10;
inline constexpr std::int64_t kRatioOne = 1 << kRatioShift;
/// DIRTY_POLL_THRESH: 128 KiB in pages.
inline constexpr KernelWord kPollThreshold = 32;
/// INIT_BW: 100 MiB/s in pages per second.
inline constexpr KernelWord kInitialBandwidth = 25600;
/// MIN_WRITEBACK_PAGES: 4 MiB in pages.
inline constexpr KernelWord kMinWritebackPages = 1024;

}  // namespace spillway::sim
