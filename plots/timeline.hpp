#pragma once
/// Dirty pages and pages under writeback against time, with the background, freerun and limit lines of that moment and
/// the start of each untar: where the spillway opens.

#include "plots/figure.hpp"
#include "workload/record/record.hpp"
#include "workload/record/timeline.hpp"

namespace spillway::plots {

/// `timeline` needs nr_dirty_pages and nr_writeback_pages; lines that it does not know are left out.
Figure timeline_figure(const Record& record, const Timeline& timeline);

/// Starts on the time axis as labels that do not overlap: starts nearer than `least_gap_s` to the first of their label
/// share it ("1-3").
struct BoundaryLabel {
  double t_s = 0;
  std::string text;
};
std::vector<BoundaryLabel> boundary_labels(const Record& record, double least_gap_s);

}  // namespace spillway::plots
