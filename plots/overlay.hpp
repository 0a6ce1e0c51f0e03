#pragma once
/// The simulated box over the real one: finish time of each untar, the real repeats as a band from the least to the
/// greatest with their median, the prediction, and beside it the null model's. Finish times rather than single walls: an
/// early pause only moves time between neighbours.

#include "plots/figure.hpp"
#include "workload/record/record.hpp"

#include <span>
#include <vector>

namespace spillway::plots {

/// At least one real and one simulated record, of the same number of untars. `null_finish_s`: the null model's finish
/// time of each untar (a leaky bucket at the device's rate); empty: not drawn.
Figure overlay_figure(std::span<const Record> real, const Record& simulated, const std::vector<double>& null_finish_s);

}  // namespace spillway::plots
