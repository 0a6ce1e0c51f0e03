#pragma once
/// The device's bandwidth as the kernel estimates it (it sets each writer's pace by it) against what the device really
/// wrote, in a sliding window.

#include "plots/figure.hpp"
#include "workload/record/record.hpp"
#include "workload/record/timeline.hpp"

#include <optional>

namespace spillway::plots {

/// None when the timeline knows neither. `window_s`: width of the mean; short ones show the slices of a limited loop
/// (17 % deviation over 100 ms), 1 s shows 2 %.
std::optional<Figure> bandwidth_figure(const Record& record, const Timeline& timeline, double window_s = 1.0);

}  // namespace spillway::plots
