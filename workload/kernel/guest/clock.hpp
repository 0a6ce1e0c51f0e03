#pragma once
/// The guest's clock, and CPU time that is asked of it.
///
/// In a kernel that computes in no time an untar below the dirty limit would take none. The charge makes it take what the
/// calibrated profile says: the task sleeps until the cores (a pool of `cpus` servers, first come first served) would have
/// done its work. It sleeps rather than computes, so other tasks run meanwhile as they would on the other cores; kernel
/// workers are not charged and never wait for a core.

#include "workload/kernel/guest_plan.hpp"

#include <cstdint>

namespace spillway::kernel::guest {

[[nodiscard]] std::int64_t now_ns();
void sleep_until_ns(std::int64_t at);

/// Shared by the processes of a run: how far each core is booked.
struct Cores {
  static constexpr int kMost = 256;
  int count = 0;  ///< 0: no contention
  std::int64_t booked_until_ns[kMost] = {};
};
/// In memory that forked children share.
[[nodiscard]] Cores* make_cores(int count);

class Charge {
 public:
  explicit Charge(Cores& cores) : cores_(cores) {}
  /// Small amounts are saved up and slept together: a sleep costs the host two system calls.
  void add_ns(std::int64_t amount) {
    pending_ns_ += amount;
    if (pending_ns_ >= kQuantumNs) settle();
  }
  void settle();
  [[nodiscard]] std::int64_t charged_ns() const { return charged_ns_; }
  [[nodiscard]] std::int64_t queued_ns() const { return queued_ns_; }  ///< waited for a core

 private:
  static constexpr std::int64_t kQuantumNs = 50'000;
  Cores& cores_;
  std::int64_t pending_ns_ = 0, charged_ns_ = 0, queued_ns_ = 0;
};

}  // namespace spillway::kernel::guest
