#include <sched.h>
#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "workload/calibrate/clock.hpp"
#include "workload/calibrate/fit.hpp"
#include "workload/calibrate/parts.hpp"

namespace spillway::calibrate {

namespace {

constexpr int kRepeats = 5;

double page_fault_once() {
  constexpr std::size_t kBytes = 64UL << 20;
  void* memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 0;
  const std::int64_t began = cpu_ns();
  for (std::size_t at = 0; at < kBytes; at += static_cast<std::size_t>(kPage)) static_cast<volatile char*>(memory)[at] = 1;
  const double ns = static_cast<double>(cpu_ns() - began) / (kBytes / static_cast<std::size_t>(kPage));
  ::munmap(memory, kBytes);
  return ns;
}

void pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(cpu), &set);
  ::sched_setaffinity(0, sizeof set, &set);
}

/// Two threads on one core hand it to each other. A yield that finds nobody costs a system call only, so both run the
/// same number and the wall time is shared by all of them.
double context_switch_once() {
  constexpr int kYields = 20'000;
  std::atomic<int> ready = 0;
  std::atomic<std::int64_t> ns = 0;
  const int cpu = ::sched_getcpu();
  const auto body = [&] {
    pin(cpu < 0 ? 0 : cpu);
    ++ready;
    while (ready < 2) ::sched_yield();
    const std::int64_t began = cpu_ns();
    for (int i = 0; i < kYields; ++i) ::sched_yield();
    ns += cpu_ns() - began;
  };
  std::thread a{body}, b{body};
  a.join();
  b.join();
  return static_cast<double>(ns) / (2.0 * kYields);
}

/// Bytes read plus written per second by `threads` that copy at once, for about 60 ms.
double copy_rate(int threads) {
  constexpr std::size_t kBuffer = 16UL << 20;
  std::atomic<int> ready = 0;
  std::atomic<bool> stop = false;
  std::atomic<std::int64_t> bytes = 0;
  std::vector<std::thread> copiers;
  for (int i = 0; i < threads; ++i) {
    copiers.emplace_back([&] {
      std::vector<char> from(kBuffer, 1), to(kBuffer, 2);
      ++ready;
      while (ready < threads) std::this_thread::yield();
      while (!stop) {
        std::memcpy(to.data(), from.data(), kBuffer);
        from[0] = to[kBuffer - 1];
        bytes += 2 * static_cast<std::int64_t>(kBuffer);
      }
    });
  }
  while (ready < threads) std::this_thread::yield();
  const std::int64_t began = wall_ns();
  std::this_thread::sleep_for(std::chrono::milliseconds{60});
  const std::int64_t moved = bytes, took = wall_ns() - began;
  stop = true;
  for (auto& copier : copiers) copier.join();
  return static_cast<double>(moved) * 1e9 / static_cast<double>(took);
}

}  // namespace

CpuMeasurements measure_cpu(int cpus) {
  CpuMeasurements out;
  std::vector<double> faults, switches;
  for (int i = 0; i < kRepeats; ++i) {
    faults.push_back(page_fault_once());
    switches.push_back(context_switch_once());
  }
  out.page_fault_ns = median(faults);
  out.context_switch_ns = median(switches);
  for (int threads = 1; threads <= cpus; threads = threads * 2 > cpus && threads < cpus ? cpus : threads * 2) {
    std::vector<double> rates;
    for (int i = 0; i < 3; ++i) rates.push_back(copy_rate(threads));
    out.memory_bytes_per_s.emplace_back(threads, median(rates));
  }
  return out;
}

}  // namespace spillway::calibrate
