#include "workload/real/journal/journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "workload/real/system/text_file.hpp"

namespace spillway::real {
namespace {

constexpr const char* kFile = "journal.jsonl";
constexpr const char* kLock = "lock";

std::string boot_id() { return read_line("/proc/sys/kernel/random/boot_id").value_or("unknown"); }

/// The entry at which a test wants this program to be signalled; see the header.
struct TestSignal {
  int signal = 0;
  bool before = false;
  std::string what;
};

TestSignal test_signal() {
  const char* spec = std::getenv("SPILLWAY_TEST_SIGNAL");
  if (spec == nullptr) return {};
  const auto words = split_words(spec);
  if (words.size() != 3) return {};
  TestSignal wanted;
  wanted.signal = words[0] == "KILL" ? SIGKILL : words[0] == "INT" ? SIGINT : words[0] == "HUP" ? SIGHUP : SIGTERM;
  wanted.before = words[1] == "before";
  wanted.what = std::string{words[2]};
  return wanted;
}

void raise_for_test(bool before, std::uint64_t count, const Change& change) {
  static const TestSignal wanted = test_signal();
  static bool done = false;
  if (wanted.signal == 0 || done || wanted.before != before) return;
  if (wanted.what != std::to_string(count) && wanted.what != kind_of(change)) return;
  done = true;
  ::kill(::getpid(), wanted.signal);
}

struct flock whole_file(short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

}  // namespace

std::filesystem::path state_directory() {
  if (const char* own = std::getenv("SPILLWAY_STATE_DIR"); own && *own) return own;
  if (::geteuid() == 0) return "/var/lib/spillway";
  if (const char* xdg = std::getenv("XDG_STATE_HOME"); xdg && *xdg) return std::filesystem::path{xdg} / "spillway";
  const char* home = std::getenv("HOME");
  return std::filesystem::path{home ? home : "/tmp"} / ".local/state/spillway";
}

Result<std::unique_ptr<Journal>> Journal::open(const std::filesystem::path& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error)
    return fail(ErrorKind::refused, fmt::format("cannot make the state folder {}: {}; set SPILLWAY_STATE_DIR to one "
                                                "that can be written", directory.string(), error.message()), error.value());
  const std::string lock_path = directory / kLock;
  const int fd = ::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0)
    return fail(ErrorKind::refused, fmt::format("cannot open {}: {}; set SPILLWAY_STATE_DIR to a folder that can be written",
                                                lock_path, std::strerror(errno)), errno);
  auto lock = whole_file(F_WRLCK);
  if (::fcntl(fd, F_SETLK, &lock) != 0) {
    auto holder = whole_file(F_WRLCK);
    ::fcntl(fd, F_GETLK, &holder);
    ::close(fd);
    return fail(ErrorKind::refused, fmt::format("another run (process {}) is using this box; wait until it ends, or end it: "
                                                "two runs at once would measure each other", holder.l_pid), EBUSY);
  }
  std::unique_ptr<Journal> journal{new Journal{directory, fd}};
  // What an earlier process left, if any.
  if (const auto text = read_text(directory / kFile)) {
    bool same_boot = false;
    for (const auto line : split_lines(*text)) {
      const auto json = nlohmann::ordered_json::parse(line, nullptr, false);
      if (json.is_object() && json.contains("boot_id")) same_boot = json["boot_id"] == boot_id();
      if (json.is_object() && json.contains("undone")) {
        const auto id = json.value("undone", std::uint64_t{0});
        std::erase_if(journal->pending_, [&](const NumberedChange& c) { return c.id == id; });
      }
      if (auto numbered = from_line(line)) {
        journal->last_id_ = std::max(journal->last_id_, numbered->id);
        journal->pending_.push_back(std::move(*numbered));
      }
    }
    if (!same_boot) std::erase_if(journal->pending_, [](const NumberedChange& c) { return !survives_reboot(c.change); });
  }
  return journal;
}

Journal::~Journal() {
  undo_all();
  if (file_ >= 0) ::close(file_);
  ::close(lock_fd_);
}

Status Journal::start_file() {
  if (file_ >= 0) return {};
  const std::string path = directory_ / kFile;
  file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file_ < 0) return fail(ErrorKind::refused, fmt::format("cannot write {}: {}", path, std::strerror(errno)), errno);
  const auto self = identify(::getpid());
  const nlohmann::ordered_json first{{"journal", 1}, {"boot_id", boot_id()}, {"pid", ::getpid()},
                             {"start_ticks", self ? self->start_ticks : 0}};
  SPILLWAY_TRY(append_line(first.dump() + "\n", true));
  const int folder = ::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);  // the name itself must be durable too
  if (folder >= 0) {
    ::fsync(folder);
    ::close(folder);
  }
  return {};
}

Status Journal::append_line(const std::string& line, bool durable) {
  ssize_t n = 0;
  do n = ::write(file_, line.data(), line.size());
  while (n < 0 && errno == EINTR);
  if (n != static_cast<ssize_t>(line.size()) || (durable && ::fdatasync(file_) != 0))
    return fail(ErrorKind::refused, fmt::format("cannot write the journal in {}: {}; nothing was changed", directory_.string(),
                                                std::strerror(errno)), errno);
  return {};
}

Result<std::uint64_t> Journal::append(const Change& entry) {
  if (closing_) return fail(ErrorKind::refused, "the run was interrupted", EINTR);
  SPILLWAY_TRY(start_file());
  const std::uint64_t id = last_id_ + 1;
  SPILLWAY_TRY(append_line(to_line(id, entry), true));
  last_id_ = id;
  pending_.push_back({id, entry});
  return id;
}

void Journal::mark_undone(std::uint64_t id) {
  std::erase_if(pending_, [&](const NumberedChange& c) { return c.id == id; });
  // Undoing twice is harmless, so this line need not be durable.
  if (file_ >= 0) (void)append_line(fmt::format("{{\"undone\":{}}}\n", id), false);
}

Status Journal::change(const Change& entry, const std::function<Status()>& make) {
  const std::scoped_lock lock{mutex_};
  SPILLWAY_ASSIGN(const std::uint64_t id, append(entry));
  raise_for_test(true, id, entry);
  auto made = make();
  if (!made) {
    (void)undo(entry);
    mark_undone(id);
    return made;
  }
  raise_for_test(false, id, entry);
  return {};
}

Result<std::uint64_t> Journal::note(const Change& entry) {
  const std::scoped_lock lock{mutex_};
  SPILLWAY_ASSIGN(const std::uint64_t id, append(entry));
  raise_for_test(true, id, entry);
  raise_for_test(false, id, entry);
  return id;
}

Status Journal::undo_one(std::uint64_t id) {
  const std::scoped_lock lock{mutex_};
  const auto it = std::ranges::find(pending_, id, &NumberedChange::id);
  if (it == pending_.end()) return {};
  SPILLWAY_TRY(undo(it->change));
  mark_undone(id);
  return {};
}

void Journal::forget(std::uint64_t id) {
  const std::scoped_lock lock{mutex_};
  mark_undone(id);
}

std::uint64_t Journal::mark() {
  const std::scoped_lock lock{mutex_};
  return last_id_;
}

std::vector<NumberedChange> Journal::pending() {
  const std::scoped_lock lock{mutex_};
  return pending_;
}

UndoReport Journal::undo_since(std::uint64_t mark) {
  UndoReport report;
  std::vector<NumberedChange> wanted;
  for (const auto& numbered : pending_)
    if (numbered.id > mark) wanted.push_back(numbered);
  hurry(wanted);
  wanted = undo_order(std::move(wanted));
  for (const auto& numbered : wanted) {
    const auto status = undo(numbered.change);
    if (status) {
      report.undone.push_back(describe(numbered.change));
      mark_undone(numbered.id);
    } else {
      report.failures.push_back(status.error().what);
    }
  }
  return report;
}

UndoReport Journal::undo_to(std::uint64_t mark) {
  const std::scoped_lock lock{mutex_};
  return undo_since(mark);
}

UndoReport Journal::close(std::chrono::milliseconds patience) {
  closing_ = true;
  return undo_all(patience);
}

UndoReport Journal::undo_all(std::chrono::milliseconds patience) {
  const bool locked = mutex_.try_lock_for(patience);
  UndoReport report = undo_since(0);
  if (report.failures.empty() && pending_.empty()) {
    std::error_code ignored;
    std::filesystem::remove(directory_ / kFile, ignored);
    if (file_ >= 0) ::close(file_);
    file_ = -1;
  }
  if (locked) mutex_.unlock();
  return report;
}

Result<UndoReport> restore(const std::filesystem::path& directory) {
  if (!exists(directory / kFile)) return UndoReport{};
  SPILLWAY_ASSIGN(auto journal, Journal::open(directory));
  return journal->undo_all();
}

}  // namespace spillway::real
