#pragma once
/// A child process and what wait4 says of it.

#include <sys/resource.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/result.hpp"
#include "workload/real/journal/session.hpp"

namespace spillway::real {

struct TimedProcess {
  Session::Started started;
  int pidfd = -1;
  std::int64_t ended_ns = 0;
  int exit_code = 0;           ///< 128 + signal when killed
  rusage usage{};
  [[nodiscard]] double elapsed_s() const { return static_cast<double>(ended_ns - started.released_ns) * 1e-9; }
  [[nodiscard]] double user_s() const { return static_cast<double>(usage.ru_utime.tv_sec) + static_cast<double>(usage.ru_utime.tv_usec) * 1e-6; }
  [[nodiscard]] double system_s() const { return static_cast<double>(usage.ru_stime.tv_sec) + static_cast<double>(usage.ru_stime.tv_usec) * 1e-6; }
};

Result<TimedProcess> start_timed(Session& session, const std::string& what, const std::function<int()>& body,
                                 const std::function<void(pid_t)>& before_release = {});
/// One that was prepared: let go.
Result<TimedProcess> release_timed(Session::Waiting& waiting);
/// Waits until one of them has ended, at most `limit`; returns its place, with its end and usage filled in.
std::optional<std::size_t> wait_any(Session& session, std::vector<TimedProcess*>& running, std::chrono::milliseconds limit);
/// Waits for this one; `tick` is called every 200 ms.
void wait_for(Session& session, TimedProcess& process, const std::function<void()>& tick);

}  // namespace spillway::real
