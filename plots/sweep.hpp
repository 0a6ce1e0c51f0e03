#pragma once
/// A sweep: a metric against one swept key as curves, one per value of a second key; or against two keys as a heat map.

#include "plots/figure.hpp"

#include <string>
#include <vector>

namespace spillway::plots {

struct SweepPoint {
  double x = 0;                          ///< value of the swept key, in `x_label`'s unit
  std::string x_text;                    ///< as in the experiment file
  std::string series;                    ///< value of the second key; empty: there is none
  double y = 0;
  std::optional<double> low, high;       ///< interval or least and greatest of repeats
};

struct SweepLabels {
  std::string title, subtitle;
  std::string x, y;                      ///< with their units
  std::string series;                    ///< name of the second key
};

/// Curves. The x axis is logarithmic when its values span a factor of 8 or more and are all positive.
Figure sweep_figure(const std::vector<SweepPoint>& points, const SweepLabels& labels);

/// A heat map: x left to right and series bottom to top in the order of their first appearance, the number in each cell.
/// Cividis-like colours: light is much, in black and white too.
Figure heat_figure(const std::vector<SweepPoint>& points, const SweepLabels& labels);

}  // namespace spillway::plots
