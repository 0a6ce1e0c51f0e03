#pragma once
/// Where the time went: stacked bars of the account, one bar per untar, or one per step of time.

#include "analysis/account/account.hpp"
#include "plots/figure.hpp"
#include "workload/record/record.hpp"

#include <optional>
#include <span>

namespace spillway::plots {

/// Figure `account`. Parts that are zero everywhere are left out of the key.
Figure account_figure(const Record& record);

/// Figure `account_time`: the same over time, one bar for at most 40 steps; a bar is as high as untars ran in its step. `pauses` date the
/// throttled part (analysis/account/pause_trace.hpp); none: nothing is drawn, since an even spread would show nothing new.
std::optional<Figure> account_time_figure(const Record& record, std::span<const analysis::DatedPause> pauses);

}  // namespace spillway::plots
