#pragma once
/// What one thread of a pipeline used and waited for, from the kernel's own counters (schedstat, rusage), and its
/// scheduler slice.

#include <cstdint>
#include <string>
#include <vector>

#include "sim/result.hpp"
#include "sim/units.hpp"

namespace spillway::real {

struct ThreadUse {
  std::string stage;
  int number = 1;                        ///< within its stage, from 1
  std::int64_t cpu_ns = 0, runqueue_ns = 0, slices = 0;
  std::int64_t voluntary_switches = 0, involuntary_switches = 0;
  std::vector<std::int64_t> wakeup_delays_ns;  ///< of every kSampled-th wake-up
  std::int64_t requests = 0;
  std::int64_t lock_wait_ns = 0;
};

/// The calling thread's counters; the schedstat file stays open, so that a look costs one pread.
class ThreadAccount {
 public:
  static constexpr int kSampled = 8;

  ThreadAccount(std::string stage, int number);
  ~ThreadAccount();
  ThreadAccount(const ThreadAccount&) = delete;
  ThreadAccount& operator=(const ThreadAccount&) = delete;

  /// Around a sleep: what the run queue cost on the way out of it. Only every kSampled-th is looked at.
  void before_sleep();
  void after_sleep();
  ThreadUse& use() { return use_; }
  /// Since the construction.
  ThreadUse finish();

 private:
  struct Counters {
    std::int64_t cpu_ns = 0, runqueue_ns = 0, slices = 0;
  };
  [[nodiscard]] Counters look() const;
  ThreadUse use_;
  int fd_ = -1;
  Counters begin_, before_;
  std::int64_t voluntary_begin_ = 0, involuntary_begin_ = 0;
  int sleeps_ = 0;
  bool sampling_ = false;
};

/// Sets the calling thread's slice (EEVDF, kernels from 6.12) through sched_setattr and reads it back. The error says
/// what the kernel answered; it is of kind `unsupported` where the kernel has no such slice.
Status set_slice(Duration slice);
/// The calling thread's slice as sched_getattr gives it; 0 where the kernel has none.
Duration slice_now();

}  // namespace spillway::real
