#include "workload/real/journal/session.hpp"

#include <fmt/format.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "workload/interrupt/interrupt.hpp"

namespace spillway::real {
namespace {

/// Ends the listener: sent by the session to itself.
constexpr int kStop = SIGUSR2;

sigset_t listened() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, kStop}) sigaddset(&set, signal);
  return set;
}

void tell_failures(const UndoReport& report) {
  for (const auto& failure : report.failures) std::fprintf(stderr, "could not be put back: %s; run `spillway restore`\n", failure.c_str());
}

}  // namespace

Result<std::unique_ptr<Session>> Session::open(const std::filesystem::path& directory) {
  SPILLWAY_ASSIGN(auto journal, Journal::open(directory));
  std::string notice;
  if (!journal->pending().empty()) {
    const auto report = journal->undo_all();
    if (!report.clean())
      return fail(ErrorKind::refused, fmt::format("an interrupted run left changes that cannot be put back: {}",
                                                  fmt::join(report.failures, "; ")));
    notice = fmt::format("An interrupted run had left {} changes; they were put back: {}.", report.undone.size(),
                         fmt::join(report.undone, "; "));
  }
  std::unique_ptr<Session> session{new Session{std::move(journal)}};
  session->notice_ = std::move(notice);
  const sigset_t set = listened();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  session->listener_ = std::thread{[raw = session.get()] { raw->listen(); }};
  return session;
}

void Session::listen() {
  const sigset_t set = listened();
  int signal = 0;
  while (::sigwait(&set, &signal) != 0) {
  }
  if (signal == kStop) return;
  pretend_interrupt(signal);  // first: a run that fails because of what follows must know why
  // What fails now may only be waiting for the run to let go of it (a monitor's open file in debugfs): it is tried again
  // when the run has ended, and told only then.
  (void)journal_->close();
  std::unique_lock lock{mutex_};
  if (changed_.wait_for(lock, std::chrono::seconds{10}, [this] { return ended_; })) return;
  tell_failures(journal_->undo_all());
  std::fprintf(stderr, "%s: ended; the box was put back.\n", ::strsignal(signal));
  ::_exit(128 + signal);
}

Session::~Session() {
  {
    const std::scoped_lock lock{mutex_};
    ended_ = true;
  }
  changed_.notify_all();
  if (listener_.joinable()) {
    ::pthread_kill(listener_.native_handle(), kStop);
    listener_.join();
  }
  tell_failures(journal_->undo_all());
  const sigset_t set = listened();
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

Result<Session::Waiting> Session::prepare_process(const std::string& what, const std::function<int()>& body, bool serves) {
  int gate[2];
  if (::pipe2(gate, O_CLOEXEC) != 0) return fail(ErrorKind::refused, "cannot make a pipe", errno);
  const pid_t pid = ::fork();
  if (pid < 0) {
    const int error = errno;
    ::close(gate[0]);
    ::close(gate[1]);
    return fail(ErrorKind::refused, fmt::format("cannot start {}: {}", what, std::strerror(error)), error);
  }
  if (pid == 0) {
    ::close(gate[1]);
    ::setpgid(0, 0);
    const sigset_t set = listened();
    ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
    char go = 0;
    if (::read(gate[0], &go, 1) != 1) ::_exit(125);
    ::close(gate[0]);
    ::_exit(body());
  }
  ::close(gate[0]);
  Started started{pid, 0, identify(pid).value_or(ProcessId{pid, 0}), 0};
  auto entry = journal_->note(ChildProcess{started.id, what, serves});
  if (!entry) {
    ::close(gate[1]);
    ::waitpid(pid, nullptr, 0);
    return std::unexpected(entry.error());
  }
  started.entry = *entry;
  return Waiting{*this, started, gate[1]};
}

Session::Waiting::~Waiting() {
  if (gate_ < 0) return;
  // Killed, not only let go by the end of its pipe: a process that was forked later may hold a copy of that end.
  ::kill(started_.pid, SIGKILL);
  ::close(gate_);
  ::waitpid(started_.pid, nullptr, 0);
  session_->journal().forget(started_.entry);
}

Result<Session::Started> Session::Waiting::release() {
  const char go = 1;
  started_.released_ns = monotonic_ns();
  if (::write(gate_, &go, 1) != 1) return fail(ErrorKind::refused, fmt::format("process {} died before it began", started_.pid), errno);
  ::close(std::exchange(gate_, -1));
  return started_;
}

Result<Session::Started> Session::start_process(const std::string& what, const std::function<int()>& body,
                                                const ProcessOptions& options) {
  SPILLWAY_ASSIGN(Waiting waiting, prepare_process(what, body, options.serves));
  if (options.before_release) options.before_release(waiting.pid());
  return waiting.release();
}

}  // namespace spillway::real
