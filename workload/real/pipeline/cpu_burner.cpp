#include "workload/real/pipeline/cpu_burner.hpp"

#include <time.h>

#include <atomic>

namespace spillway::real {

std::int64_t thread_cpu_ns() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<std::int64_t>(used.tv_sec) * 1'000'000'000 + used.tv_nsec;
}

void burn(Duration amount) {
  if (amount.count() <= 0) return;
  const std::int64_t end = thread_cpu_ns() + amount.count();
  while (thread_cpu_ns() < end)
    for (int i = 0; i < 64; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
}

}  // namespace spillway::real
