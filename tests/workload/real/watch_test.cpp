#include <catch2/catch.hpp>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "tests/support/skip.hpp"
#include "tests/support/temp_dir.hpp"
#include "workload/real/system/process.hpp"
#include "workload/real/system/text_file.hpp"
#include "workload/real/watch/watch.hpp"
#include "workload/record/record_io.hpp"

namespace spillway::real {

TEST_CASE("watch: where a thread sleeps says why", "[real][watch]") {
  CHECK_FALSE(wait_of('R', ""));
  CHECK(wait_of('D', "balance_dirty_pages") == Wait::throttled);
  CHECK(wait_of('D', "balance_dirty_pages_ratelimited_flags") == Wait::throttled);
  CHECK(wait_of('D', "rq_qos_wait") == Wait::device);
  CHECK(wait_of('D', "") == Wait::device);  // hidden: state D alone
  CHECK(wait_of('S', "") == Wait::other);
  CHECK(wait_of('S', "futex_wait_queue") == Wait::lock);
  CHECK(wait_of('S', "hrtimer_nanosleep") == Wait::other);
}

TEST_CASE("watch: schedstat is two numbers of nanoseconds, and nothing else", "[real][watch]") {
  CHECK(parse_schedstat("1234 567 8\n") == std::pair<std::int64_t, std::int64_t>{1234, 567});
  CHECK_FALSE(parse_schedstat(""));
  CHECK_FALSE(parse_schedstat("1234"));
}

TEST_CASE("watch: the time asleep is split as the looks were, and the account adds up", "[real][watch]") {
  TaskHistory task;
  task.first_ns = 1'000'000'000;
  task.last_ns = 11'000'000'000;
  task.cpu_ns = 1'500'000'000;
  task.runqueue_ns = 500'000'000;
  task.user_ticks = 50;
  task.system_ticks = 100;
  task.looks = {{Wait::throttled, 6}, {Wait::device, 2}};
  task.looks_asleep = 8;
  // 10 s less 1.5 on a core and 0.5 waiting for one are 8 s asleep, of which 6/8 throttled.
  CHECK(task.waited_s(Wait::throttled) == Approx(6));
  CHECK(task.waited_s(Wait::lock) == 0);
  const UntarResult untar = untar_of(task, 1, 0);
  CHECK(untar.start_s == Approx(1));
  CHECK(untar.user_s == Approx(0.5));
  CHECK(untar.account.device_s == Approx(2));
  CHECK(untar.account.total_s() == Approx(untar.elapsed_s));
  CHECK(std::abs(untar.account.unknown_s) < 1e-9);
}

TEST_CASE("watch: a frame names the regime, on both sides of each limit, and fits its width", "[real][watch]") {
  WatchFrame frame;
  frame.dirty = {0, 0, 1000, 500};
  const auto regime = [&](std::int64_t dirty) {
    frame.dirty.dirty = dirty;
    return frame_lines(frame, 200)[0];
  };
  CHECK(regime(500).contains("below background"));
  CHECK(regime(501).contains("above background"));
  CHECK(regime(750).contains("above background"));
  CHECK(regime(751).contains("above freerun"));
  CHECK(regime(1000).contains("at the limit"));
  TaskHistory task;
  task.command = std::string(500, 'x');
  frame.tasks.push_back(task);
  for (const auto& line : frame_lines(frame, 72)) CHECK(line.size() <= 72);
}

TEST_CASE("watch: a command's processes, its time and its exit code", "[real][watch]") {
  const test::TempDir folder{"watch"};
  WatchOptions options;
  // A shell that burns half a second in one child and sleeps half a second in another.
  options.command = {"sh", "-c", "timeout 0.5 sh -c 'while :; do :; done'; sleep 0.5; exit 7"};
  options.place = folder.path;
  options.directory = folder.path;
  options.interval = std::chrono::milliseconds{200};
  int frames = 0;
  const auto result = watch(options, [&](const WatchFrame&) { ++frames; });
  REQUIRE(result);
  CHECK(result->exit_code == 7);
  CHECK(frames >= 3);
  const Record& record = result->record;
  REQUIRE(record.phases.size() == 1);
  CHECK(record.phases[0].elapsed_s > 0.95);
  CHECK(record.phases[0].elapsed_s < 3);
  REQUIRE(record.untars.size() >= 2);
  const auto burner = std::ranges::max_element(record.untars, {}, [](const auto& u) { return u.user_s + u.system_s; });
  CHECK(burner->user_s + burner->system_s > 0.1);
  for (const auto& untar : record.untars) CHECK(untar.account.total_s() == Approx(untar.elapsed_s).margin(1e-9));
  CHECK(write_record(record, folder.path));
  CHECK(read_timeline(folder.path / "timeline.csv")->rows.size() > 5);
}

TEST_CASE("watch: a command that cannot be run is an error, not a record", "[real][watch]") {
  const test::TempDir folder{"watch"};
  WatchOptions options;
  options.command = {"/nowhere/at-all"};
  options.directory = folder.path;
  const auto result = watch(options, {});
  REQUIRE_FALSE(result);
  CHECK(result.error().kind == ErrorKind::bad_input);
  CHECK(result.error().what.contains("/nowhere/at-all"));
}

TEST_CASE("watch: an ordinary user can, changes nothing, and is told what stays hidden", "[real][watch]") {
  if (::geteuid() != 0) return test::skip("needs root, to become somebody else");
  const test::TempDir folder{"watch"};
  REQUIRE(::chown(folder.path.c_str(), 65534, 65534) == 0);
  const auto settings = [] {
    std::string all;
    for (const char* key : {"vm/dirty_bytes", "vm/dirty_ratio", "vm/dirty_background_bytes", "vm/dirty_background_ratio"})
      all += read_line(fmt::format("/proc/sys/{}", key)).value_or("?") + " ";
    return all;
  };
  const std::string before = settings();
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setresgid(65534, 65534, 65534) != 0 || ::setresuid(65534, 65534, 65534) != 0) ::_exit(3);
    WatchOptions options;
    options.command = {"sleep", "0.3"};
    options.place = options.directory = folder.path;
    const auto result = watch(options, {});
    if (!result) ::_exit(4);
    const bool told = std::ranges::any_of(result->not_seen, [](const std::string& sentence) { return sentence.contains("needs root"); });
    ::_exit(told && result->exit_code == 0 && result->record.untars.size() == 1 ? 0 : 5);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(settings() == before);
}

}  // namespace spillway::real
