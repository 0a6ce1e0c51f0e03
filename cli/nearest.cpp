#include "cli/nearest.hpp"

#include "workload/record/metric.hpp"

#include <algorithm>

namespace spillway::cli {

std::string nearest(const std::string& word, const std::vector<std::string>& known) {
  std::string best;
  int best_distance = std::max(2, static_cast<int>(word.size()) / 3) + 1;
  for (const std::string& candidate : known) {
    // A word cut short ("--rep") is nearer than its edit distance says.
    const bool begins = word.size() > 3 && candidate.starts_with(word);
    const int distance = begins ? 1 : edit_distance(word, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace spillway::cli
