#pragma once
/// Ctrl-C and its relatives, for the whole program. The first SIGINT, SIGTERM or SIGHUP is remembered, never acted on
/// in the handler: the campaign loop starts no further repeat, and a box that is in the middle of one ends it, puts
/// everything back and returns an error. The program then exits with 128 + the signal's number.
///
/// A box that waits should wait on interrupt_fd() too (poll, or a ring), so that it wakes at once; a blocking system
/// call is interrupted as well (EINTR), because the handlers are installed without SA_RESTART.

namespace spillway {

/// Installs the handlers, once, from main. SIGPIPE is ignored, so that a closed pipe is an error and not a death.
void install_interrupt_handlers();

/// The first signal that arrived, or 0. Callable from any thread.
int interrupt_signal();

/// Has one arrived?
inline bool interrupted() { return interrupt_signal() != 0; }

/// Readable from the moment that a signal has arrived; never read it. -1 when the handlers are not installed.
int interrupt_fd();

/// For tests: as if `signal` had arrived (0: none ever did).
void pretend_interrupt(int signal);

}  // namespace spillway
