#pragma once
/// A session: the journal, and a thread that waits for SIGINT, SIGTERM and SIGHUP. When one comes, that thread at once
/// takes everything back and refuses all further changes, whatever the other threads are blocked in (a sync comes back
/// only when the limit is lifted). The run then fails with "interrupted" and the program ends in its own way; if it has
/// not done so after ten seconds, the thread ends it with 128 + signal.

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "workload/real/journal/journal.hpp"

namespace spillway::real {

class Session {
 public:
  /// Takes the lock, puts back what an earlier run left (`notice` tells), starts to listen for signals. Open one per
  /// process, before any other thread is started: the signals are blocked in this thread and inherited so.
  static Result<std::unique_ptr<Session>> open(const std::filesystem::path& directory = state_directory());
  /// Takes everything back.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  [[nodiscard]] Journal& journal() { return *journal_; }
  /// What was found and put back when the session was opened; empty if nothing.
  [[nodiscard]] const std::string& notice() const { return notice_; }

  /// Starts a process whose identity is in the journal before it does anything: it waits for a byte in a pipe, which
  /// comes after the fsync; if we die first, it reads the end of the pipe and exits. `body` runs in the child and its
  /// value is the exit code; the child holds none of our signals, is the leader of its own process group and exits by
  /// _exit. Returns pid and journal entry.
  struct Started {
    pid_t pid = 0;
    std::uint64_t entry = 0;
    ProcessId id;
    std::int64_t released_ns = 0;  ///< when it was let go, CLOCK_MONOTONIC
  };
  /// The same in two steps, so that the fsync can lie before the moment at which the process is wanted: one that waits at
  /// its gate. Not released, it is ended and forgotten.
  class Waiting {
   public:
    Waiting(Session& session, Started started, int gate) : session_(&session), started_(started), gate_(gate) {}
    Waiting(Waiting&& other) noexcept : session_(other.session_), started_(other.started_), gate_(std::exchange(other.gate_, -1)) {}
    Waiting& operator=(Waiting&&) = delete;
    ~Waiting();
    /// Lets it go; an error when it is dead already.
    Result<Started> release();
    [[nodiscard]] pid_t pid() const { return started_.pid; }

   private:
    Session* session_;
    Started started_;
    int gate_;
  };
  Result<Waiting> prepare_process(const std::string& what, const std::function<int()>& body, bool serves = false);
  /// `before_release` is called with the pid while the child still waits (to trace it from its first instruction).
  struct ProcessOptions {
    bool serves = false;
    std::function<void(pid_t)> before_release;
  };
  Result<Started> start_process(const std::string& what, const std::function<int()>& body, const ProcessOptions& options);

 private:
  explicit Session(std::unique_ptr<Journal> journal) : journal_(std::move(journal)) {}
  void listen();

  std::unique_ptr<Journal> journal_;
  std::string notice_;
  std::thread listener_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
};

}  // namespace spillway::real
