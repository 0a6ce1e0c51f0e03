#include "workload/interrupt/interrupt.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <sys/eventfd.h>
#include <unistd.h>

namespace spillway {

namespace {

std::atomic<int> first_signal{0};
std::atomic<int> event_fd{-1};
static_assert(std::atomic<int>::is_always_lock_free, "the handler may only touch lock-free atomics");

void note(int signal) {
  const int saved = errno;
  int none = 0;
  first_signal.compare_exchange_strong(none, signal);
  if (const int fd = event_fd.load(); fd >= 0) {
    const std::uint64_t one = 1;
    // A full counter already means "readable": nothing to do about a failure here.
    [[maybe_unused]] const auto written = ::write(fd, &one, sizeof one);
  }
  errno = saved;
}

}  // namespace

void install_interrupt_handlers() {
  if (event_fd.load() >= 0) return;
  event_fd.store(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  struct sigaction action{};
  action.sa_handler = note;
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction old{};
    // `nohup` and background jobs of old shells ignore signals on purpose: leave those ignored.
    if (::sigaction(signal, nullptr, &old) == 0 && old.sa_handler == SIG_IGN) continue;
    ::sigaction(signal, &action, nullptr);
  }
  std::signal(SIGPIPE, SIG_IGN);
}

int interrupt_signal() { return first_signal.load(); }

int interrupt_fd() { return event_fd.load(); }

void pretend_interrupt(int signal) { first_signal.store(signal); }

}  // namespace spillway
