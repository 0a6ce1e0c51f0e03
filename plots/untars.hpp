#pragma once
/// Time and CPU % of each untar, two axes: the founding mail's picture. Bars are elapsed seconds (left), the line is CPU
/// (right). Of several repeats the median, with a whisker from the least to the greatest.

#include "plots/figure.hpp"
#include "workload/record/record.hpp"

#include <span>

namespace spillway::plots {

/// Records of repeats of one case, at least one, with untars.
Figure untars_figure(std::span<const Record> repeats);

}  // namespace spillway::plots
