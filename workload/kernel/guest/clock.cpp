#include "workload/kernel/guest/clock.hpp"

#include <algorithm>
#include <atomic>
#include <ctime>
#include <sys/mman.h>

namespace spillway::kernel::guest {

std::int64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

void sleep_until_ns(std::int64_t at) {
  timespec time{};
  time.tv_sec = at / 1'000'000'000LL;
  time.tv_nsec = at % 1'000'000'000LL;
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr) != 0) {
  }
}

Cores* make_cores(int count) {
  void* memory = mmap(nullptr, sizeof(Cores), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* cores = new (memory) Cores{};
  cores->count = std::clamp(count, 0, Cores::kMost);
  return cores;
}

void Charge::settle() {
  if (pending_ns_ <= 0) return;
  const std::int64_t work = pending_ns_;
  pending_ns_ = 0;
  charged_ns_ += work;
  const std::int64_t now = now_ns();
  std::int64_t start = now;
  if (cores_.count > 0) {
    // Book the core that is free first. A race of two tasks on the same core retries with the newer booking.
    while (true) {
      auto* core = std::min_element(cores_.booked_until_ns, cores_.booked_until_ns + cores_.count);
      std::atomic_ref booked{*core};
      std::int64_t until = booked.load();
      start = std::max(now, until);
      if (booked.compare_exchange_strong(until, start + work)) break;
    }
  }
  queued_ns_ += start - now;
  sleep_until_ns(start + work);
}

}  // namespace spillway::kernel::guest
