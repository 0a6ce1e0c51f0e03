#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "workload/real/journal/journal.hpp"
#include "workload/real/system/text_file.hpp"

namespace spillway::real {
namespace {

/// A state folder of its own, deleted afterwards.
struct Scratch {
  std::filesystem::path path;
  Scratch() {
    char name[] = "/tmp/spillway-test-XXXXXX";
    path = ::mkdtemp(name);
  }
  ~Scratch() { std::filesystem::remove_all(path); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] std::string file(const std::string& name, const std::string& content) const {
    std::ofstream{path / name} << content;
    return path / name;
  }
};

std::string content(const std::string& path) { return read_line(path).value_or("?"); }

/// Two files that exclude each other as vm.dirty_ratio and vm.dirty_bytes do are imitated by the caller.
}  // namespace

TEST_CASE("journal: every kind of change goes to a line and back unchanged", "[real][journal]") {
  const Change changes[] = {FileKnob{"/proc/sys/x", "5"}, DirtyPair{"/r", "/b", 20, 0}, ThrottleRule{"/f", "7:64 0", "7:64 5"}, LoopAttachment{64, "/a b"},
                            MountMade{"/dev/loop64", "/mnt", "xfs", true, 77}, TraceInstance{"/t"}, ChildProcess{{12, 345}, "untar 1", false},
                            ChildProcess{{13, 346}, "daemon", true}, OwnedPath{"/x/spillway-y"}};
  std::uint64_t id = 0;
  for (const auto& change : changes) {
    const std::string line = to_line(++id, change);
    CAPTURE(line);
    REQUIRE(line.back() == '\n');
    const auto back = from_line(std::string_view{line}.substr(0, line.size() - 1));
    REQUIRE(back);
    CHECK(back->id == id);
    CHECK(kind_of(back->change) == kind_of(change));
    CHECK(to_line(id, back->change) == line);
    // Cut off anywhere, as a power loss leaves it, it is no change at all.
    for (std::size_t cut = 0; cut + 2 < line.size(); ++cut) CHECK_FALSE(from_line(std::string_view{line}.substr(0, cut)));
  }
}

TEST_CASE("journal: the entry is on disk before the change is made, and gone when all is undone", "[real][journal]") {
  const Scratch scratch;
  const std::string knob = scratch.file("knob", "old\n");
  {
    auto journal = Journal::open(scratch.path);
    REQUIRE(journal);
    bool seen_first = false;
    REQUIRE((*journal)->change(FileKnob{knob, "old"}, [&]() -> Status {
      seen_first = read_text(scratch.path / "journal.jsonl").value_or("").find(knob) != std::string::npos && content(knob) == "old";
      return write_text(knob, "new");
    }));
    CHECK(seen_first);
    CHECK(content(knob) == "new");
  }
  CHECK(content(knob) == "old");
  CHECK_FALSE(exists(scratch.path / "journal.jsonl"));
}

TEST_CASE("journal: what a dead process left is restored by another, twice without harm", "[real][journal]") {
  const Scratch scratch;
  const std::string knob = scratch.file("knob", "7\n");
  const pid_t child = ::fork();
  if (child == 0) {
    auto journal = Journal::open(scratch.path);
    (void)(*journal)->change(FileKnob{knob, "7"}, [&] { return write_text(knob, "8"); });
    (void)(*journal)->note(OwnedPath{scratch.path / "spillway-image"});
    std::ofstream{scratch.path / "spillway-image"} << "data";
    ::_exit(0);  // no destructor runs: as with SIGKILL
  }
  ::waitpid(child, nullptr, 0);
  CHECK(content(knob) == "8");
  const auto report = restore(scratch.path);
  REQUIRE(report);
  CHECK(report->clean());
  CHECK(report->undone.size() == 2);
  CHECK(content(knob) == "7");
  CHECK_FALSE(exists(scratch.path / "spillway-image"));
  const auto again = restore(scratch.path);
  REQUIRE(again);
  CHECK(again->undone.empty());
}

TEST_CASE("journal: a journal of an earlier boot deletes files and touches no setting", "[real][journal]") {
  const Scratch scratch;
  const std::string knob = scratch.file("knob", "after reboot\n");
  const std::string image = scratch.file("spillway-image", "data");
  std::ofstream{scratch.path / "journal.jsonl"} << "{\"journal\":1,\"boot_id\":\"another\",\"pid\":1,\"start_ticks\":1}\n"
                                                << to_line(1, FileKnob{knob, "before"}) << to_line(2, OwnedPath{image})
                                                << "{\"id\":3,\"kind\":\"knob\",\"pa";  // cut off
  const auto report = restore(scratch.path);
  REQUIRE(report);
  CHECK(report->clean());
  CHECK(content(knob) == "after reboot");
  CHECK_FALSE(exists(image));
}

TEST_CASE("journal: two runs at once are refused, and the holder is named", "[real][journal]") {
  const Scratch scratch;
  auto journal = Journal::open(scratch.path);
  REQUIRE(journal);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto second = Journal::open(scratch.path);
    const bool right = !second && second.error().what.find(std::to_string(::getppid())) != std::string::npos;
    ::_exit(right ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("journal: a change that fails is taken back at once", "[real][journal]") {
  const Scratch scratch;
  auto journal = Journal::open(scratch.path);
  REQUIRE(journal);
  CHECK_FALSE((*journal)->change(FileKnob{scratch.path / "missing", "1"}, [] { return Status{fail(ErrorKind::refused, "no")}; }));
  CHECK((*journal)->pending().empty());
}

TEST_CASE("journal: after an interruption nothing can be changed any more", "[real][journal]") {
  const Scratch scratch;
  const std::string knob = scratch.file("knob", "1\n");
  auto journal = Journal::open(scratch.path);
  REQUIRE(journal);
  (*journal)->close();
  bool made = false;
  CHECK_FALSE((*journal)->change(FileKnob{knob, "1"}, [&]() -> Status {
    made = true;
    return {};
  }));
  CHECK_FALSE(made);
}

TEST_CASE("journal: children first, then limits, then the newest first", "[real][journal]") {
  std::vector<NumberedChange> changes = {{1, OwnedPath{"/spillway-i"}}, {2, LoopAttachment{64, "/i"}}, {3, ThrottleRule{"/f", "7:64 0", ""}},
                                         {4, MountMade{"/dev/loop64", "/m", "xfs", true}}, {5, ChildProcess{{9, 9}, "untar", false}},
                                         {6, ChildProcess{{8, 8}, "daemon", true}}};
  std::vector<std::uint64_t> order;
  for (const auto& numbered : undo_order(changes)) order.push_back(numbered.id);
  CHECK(order == std::vector<std::uint64_t>{5, 3, 6, 4, 2, 1});
}

TEST_CASE("journal: the form of a dirty limit that was in force is the one that is put back", "[real][journal]") {
  const Scratch scratch;
  const std::string ratio = scratch.file("ratio", "0\n"), bytes = scratch.file("bytes", "500\n");
  REQUIRE(undo(DirtyPair{ratio, bytes, 20, 0}));
  CHECK(content(ratio) == "20");
  CHECK(content(bytes) == "500");  // the kernel zeroes the other form; a file does not: it is not written
  std::ofstream{ratio} << "5\n";
  REQUIRE(undo(DirtyPair{ratio, bytes, 0, 123}));
  CHECK(content(bytes) == "123");
  CHECK(content(ratio) == "5");
}

TEST_CASE("journal: only names of ours are deleted", "[real][journal]") {
  const Scratch scratch;
  const std::string precious = scratch.file("precious", "data");
  CHECK_FALSE(undo(OwnedPath{precious}));
  CHECK(exists(precious));
}

TEST_CASE("processes: a process is killed by identity, never by number alone", "[real][journal]") {
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) ::pause();
  }
  auto id = identify(child);
  REQUIRE(id);
  ProcessId other = *id;
  other.start_ticks += 1;
  CHECK(kill_process(other, std::chrono::milliseconds{100}));
  CHECK(is_alive(*id));
  CHECK(kill_process(*id, std::chrono::milliseconds{2000}));
  CHECK_FALSE(is_alive(*id));
  ::waitpid(child, nullptr, 0);
  // A comm with blanks and brackets does not confuse the fields.
  const auto stat = parse_process_stat("12 (a) b (c)) S 1 2 3 4 5 2097216 0 0 0 0 7 8 0 0 20 0 1 0 99 0 0 0\n");
  REQUIRE(stat);
  CHECK(stat->comm == "a) b (c)");
  CHECK(stat->state == 'S');
  CHECK(stat->user_ticks == 7);
  CHECK(stat->system_ticks == 8);
  CHECK(stat->start_ticks == 99);
}

}  // namespace spillway::real
