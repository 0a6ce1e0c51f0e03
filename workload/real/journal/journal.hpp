#pragma once
/// The journal: every change to the box is on disk (fsync) before it is made, so that whatever ends the program, what it
/// did can be undone. One journal per state folder, one run at a time.
///
/// STATE/journal.jsonl: a first line that names boot and process, then one line per change ({"id":..,"kind":..}) or per
/// change taken back ({"undone":id}). A last line that is cut off was never acted on. The file is gone when nothing is
/// left to undo.
///
/// For tests: SPILLWAY_TEST_SIGNAL="SIGNAL WHEN WHAT" (KILL, INT, TERM or HUP; before or after; a kind or a running
/// number from 1) sends the signal to the program itself when that entry is on disk and the change not yet / just made.

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "sim/result.hpp"
#include "workload/real/journal/change.hpp"

namespace spillway::real {

/// $SPILLWAY_STATE_DIR, else /var/lib/spillway for root, else $XDG_STATE_HOME/spillway or ~/.local/state/spillway.
std::filesystem::path state_directory();

/// What undoing came to.
struct UndoReport {
  std::vector<std::string> undone;    ///< one sentence each
  std::vector<std::string> failures;  ///< what could not be taken back, and why
  [[nodiscard]] bool clean() const { return failures.empty(); }
};

class Journal {
 public:
  /// Takes the lock (a POSIX record lock: children do not inherit it, it dies with the process). An error of kind
  /// `refused` names the process that holds it.
  static Result<std::unique_ptr<Journal>> open(const std::filesystem::path& directory);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// Writes the change down, then makes it. If `make` fails the entry is taken back.
  Status change(const Change& entry, const std::function<Status()>& make);
  /// An entry whose making is nobody's function (a child that waits to be released, for instance).
  Result<std::uint64_t> note(const Change& entry);
  /// Takes one change back, by its number.
  Status undo_one(std::uint64_t id);
  /// The place to which undo_to returns.
  [[nodiscard]] std::uint64_t mark();
  /// Takes back everything made since the mark, in the order of undo_order. What fails stays in the journal.
  UndoReport undo_to(std::uint64_t mark);
  /// Takes back everything; `patience` bounds the wait for a change that another thread is in the middle of.
  UndoReport undo_all(std::chrono::milliseconds patience = std::chrono::milliseconds{5000});
  /// Refuses all further changes, and takes everything back.
  UndoReport close(std::chrono::milliseconds patience = std::chrono::milliseconds{5000});
  /// What is made and not taken back.
  [[nodiscard]] std::vector<NumberedChange> pending();
  /// A process ended by itself: its entry needs no undoing.
  void forget(std::uint64_t id);

  [[nodiscard]] const std::filesystem::path& directory() const { return directory_; }

 private:
  Journal(std::filesystem::path directory, int lock_fd) : directory_(std::move(directory)), lock_fd_(lock_fd) {}
  Result<std::uint64_t> append(const Change& entry);
  Status append_line(const std::string& line, bool durable);
  void mark_undone(std::uint64_t id);
  UndoReport undo_since(std::uint64_t mark);
  Status start_file();

  std::filesystem::path directory_;
  int lock_fd_ = -1;
  int file_ = -1;
  std::uint64_t last_id_ = 0;
  std::atomic<bool> closing_ = false;
  std::vector<NumberedChange> pending_;
  std::recursive_timed_mutex mutex_;
};

/// Undoes what an earlier process left in this state folder. Refused while that process lives. Nothing left: a clean,
/// empty report.
Result<UndoReport> restore(const std::filesystem::path& directory);

}  // namespace spillway::real
