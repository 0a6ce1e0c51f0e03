#pragma once
/// Where the time went: one stacked bar per untar, the parts of the account in the order of the design. Patterns and
/// colours both tell the parts apart. As text: a line per untar, a letter per part.

#include "plots/figure.hpp"
#include "workload/record/record.hpp"

namespace spillway::plots {

/// The record needs untars.
Figure account_figure(const Record& record);

}  // namespace spillway::plots
