#include "workload/real/replay/timed_process.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace spillway::real {

namespace {

Result<TimedProcess> timed(Result<Session::Started> started) {
  if (!started) return std::unexpected(started.error());
  TimedProcess process;
  process.started = *started;
  process.pidfd = static_cast<int>(::syscall(SYS_pidfd_open, process.started.pid, 0));
  return process;
}

}  // namespace

Result<TimedProcess> start_timed(Session& session, const std::string& what, const std::function<int()>& body,
                                 const std::function<void(pid_t)>& before_release) {
  return timed(session.start_process(what, body, {false, before_release}));
}

Result<TimedProcess> release_timed(Session::Waiting& waiting) { return timed(waiting.release()); }

std::optional<std::size_t> wait_any(Session& session, std::vector<TimedProcess*>& running, std::chrono::milliseconds limit) {
  std::vector<pollfd> ends;
  for (const auto* process : running) ends.push_back({process->pidfd, POLLIN, 0});
  if (::poll(ends.data(), ends.size(), static_cast<int>(limit.count())) <= 0) return std::nullopt;
  const std::int64_t now = monotonic_ns();
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (ends[i].revents == 0) continue;
    TimedProcess& process = *running[i];
    process.ended_ns = now;
    int status = 0;
    while (::wait4(process.started.pid, &status, 0, &process.usage) < 0 && errno == EINTR) {
    }
    process.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    ::close(process.pidfd);
    process.pidfd = -1;
    session.journal().forget(process.started.entry);
    return i;
  }
  return std::nullopt;
}

void wait_for(Session& session, TimedProcess& process, const std::function<void()>& tick) {
  std::vector<TimedProcess*> one{&process};
  while (!wait_any(session, one, std::chrono::milliseconds{200}))
    if (tick) tick();
}

}  // namespace spillway::real
