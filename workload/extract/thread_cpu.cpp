#include "workload/extract/thread_cpu.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <tuple>
#include <utility>

#include "sim/check.hpp"

namespace spillway::extract {
namespace {

Duration duration(const timeval& time) {
  return std::chrono::seconds{time.tv_sec} + std::chrono::microseconds{time.tv_usec};
}

std::pair<Duration, Duration> now() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return {duration(usage.ru_utime), duration(usage.ru_stime)};
}

}  // namespace

ThreadClock::ThreadClock() { std::tie(user_, system_) = now(); }

ThreadCpu ThreadClock::read(std::string role) const {
  const auto [user, system] = now();
  return {std::move(role), user - user_, system - system_};
}

void own_umask() {
  // Needs no privilege and cannot fail but for memory; without it a umask of 0 would be the whole process's.
  SPILLWAY_CHECK(::unshare(CLONE_FS) == 0, "unshare(CLONE_FS)");
  ::umask(0);
}

}  // namespace spillway::extract
