#include "analysis/statistics/many_tests.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace spillway::analysis {

std::vector<double> holm(std::span<const double> p_values) {
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return p_values[i]; });
  std::vector<double> adjusted(p_values.size());
  double least = 0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const auto left = static_cast<double>(order.size() - rank);
    least = std::max(least, std::min(1.0, left * p_values[order[rank]]));
    adjusted[order[rank]] = least;
  }
  return adjusted;
}

}  // namespace spillway::analysis
