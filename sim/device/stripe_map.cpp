#include "sim/device/stripe_map.hpp"

#include <algorithm>

namespace spillway::sim::device {

std::vector<MemberRun> stripe_runs(const StripeShape& shape, std::int64_t start, std::int64_t length) {
  const std::int64_t n = shape.members, k = shape.copies, chunk = shape.chunk;
  const std::int64_t first_chunk = start / chunk, last_chunk = (start + length - 1) / chunk;
  const std::int64_t first_slot = first_chunk * k, last_slot = last_chunk * k + k - 1;
  std::vector<MemberRun> runs;
  runs.reserve(static_cast<std::size_t>(std::min(n, last_slot - first_slot + 1)));
  for (std::int64_t slot = first_slot; slot <= last_slot && slot < first_slot + n; ++slot) {
    const std::int64_t last = last_slot - (last_slot - slot) % n;  // this member's last slot
    const std::int64_t from = slot / n * chunk + (slot / k == first_chunk ? start % chunk : 0);
    const std::int64_t to = last / n * chunk + (last / k == last_chunk ? (start + length - 1) % chunk + 1 : chunk);
    MemberRun run{static_cast<int>(slot % n), from, to - from, 0};
    if (k > 1) {
      // Even rounds: a member holds either first copies or further ones throughout. Else both take turns.
      run.redundant = n % k == 0 ? (slot % k == 0 ? 0 : run.length) : run.length * (k - 1) / k;
    }
    runs.push_back(run);
  }
  return runs;
}

}  // namespace spillway::sim::device
