#pragma once
/// A device's share of recently completed writeback: counts of completed pages that are halved every 3 s.
/// lib/flex_proportions.c and mm/page-writeback.c, wb_domain_writeout_add(), writeout_period() (6.18).
///
/// Not modelled: the batching of the per-CPU counters (an error of at most 64 pages with two CPUs).

#include <cstdint>

#include "sim/memory/kernel_math.hpp"

namespace spillway::sim {

/// The domain's counter: all devices together.
struct CompletionPeriods {
  std::int64_t events = 1;   ///< starts at 1, so that a share of nothing is 0 and not undefined
  unsigned period = 0;       ///< halvings so far

  /// `periods` halvings are due. False when all has aged out: the period timer then stops until the next completion.
  bool age(unsigned periods) {
    if (events <= 1) return false;
    if (periods < 64) events >>= periods;
    else events = 0;
    period += periods;
    return true;
  }
};

/// One device's counter, brought up to date when it is used.
struct DeviceCompletions {
  std::int64_t events = 0;
  unsigned period = 0;

  void catch_up(const CompletionPeriods& domain) {
    const unsigned behind = domain.period - period;
    if (behind == 0) return;
    events = behind < 64 ? events >> behind : 0;
    period = domain.period;
  }
  /// `pages` of this device completed.
  void complete(CompletionPeriods& domain, std::int64_t pages) {
    catch_up(domain);
    events += pages;
    domain.events += pages;
  }
};

struct Fraction {
  KernelWord numerator = 0, denominator = 1;
};

/// fprop_fraction_percpu(): never above 1.
[[nodiscard]] inline Fraction completion_fraction(DeviceCompletions& device, const CompletionPeriods& domain) {
  device.catch_up(domain);
  Fraction f{static_cast<KernelWord>(device.events), static_cast<KernelWord>(domain.events < 0 ? 0 : domain.events)};
  if (f.denominator <= f.numerator) f.denominator = f.numerator ? f.numerator : 1;
  return f;
}

}  // namespace spillway::sim
