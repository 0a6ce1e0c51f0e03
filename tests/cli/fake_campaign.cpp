/// A campaign on fake boxes as a process of its own, so that tests can kill it at any moment.
///   fake_campaign OUT records|table CASES REPEATS THREADS SHARD KILL_AT WHERE MICROSECONDS
/// The KILL_AT-th point (0: none) kills the process: WHERE = early (before the box wrote anything), late (when the box is
/// done, before the record is kept). Each point takes about MICROSECONDS.

#include "cli/campaign/campaign.hpp"
#include "cli/campaign/folder.hpp"
#include "cli/campaign/lock.hpp"
#include "cli/campaign/table_log.hpp"
#include "tests/cli/fake_box.hpp"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

using namespace spillway;
using namespace spillway::campaign;

namespace {

/// Kills the process in the middle of a point.
class KillBox final : public test::FakeBox {
 public:
  KillBox(std::atomic<int>& count, int kill_at, bool late, int microseconds) {
    on_run = [this, &count, kill_at, late, microseconds](const Case&, const RepeatContext&) -> Status {
      if (microseconds > 0) std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
      runs.clear();
      kill_now_ = ++count == kill_at;
      if (kill_now_ && !late) ::kill(::getpid(), SIGKILL);
      return {};
    };
  }
  Result<Record> run(const Case& item, const RepeatContext& context) override {
    auto record = FakeBox::run(item, context);
    if (kill_now_) ::kill(::getpid(), SIGKILL);
    return record;
  }

 private:
  bool kill_now_ = false;
};

int say(const Error& error) {
  std::fprintf(stderr, "%s\n", error.what.c_str());
  return error.kind == ErrorKind::bad_input ? 2 : 3;
}

}  // namespace

int main(int argc, char* argv[]) {
  if (argc != 10) return 2;
  const std::filesystem::path out = argv[1];
  const bool table = std::string_view{argv[2]} == "table";
  const auto count = static_cast<std::size_t>(std::atol(argv[3]));
  Options options;
  options.repeats = std::atoi(argv[4]);
  options.seed = 42;
  const int threads = std::atoi(argv[5]);
  const auto shard = parse_shard(argv[6]);
  if (!shard) return say(shard.error());
  options.shard = *shard;
  auto lock = Lock::take(out, *shard);
  if (!lock) return say(lock.error());

  const CaseSource cases{count, [](std::size_t index) -> Result<Case> { return test::fake_case(index); }};
  std::atomic<int> points{0};
  std::vector<std::unique_ptr<KillBox>> boxes;
  std::vector<Box*> pointers;
  for (int i = 0; i < threads; ++i) {
    boxes.push_back(std::make_unique<KillBox>(points, std::atoi(argv[7]), std::string_view{argv[8]} == "late", std::atoi(argv[9])));
    pointers.push_back(boxes.back().get());
  }
  std::unique_ptr<Store> store;
  if (table) {
    auto opened = TableStore::open(out, {"fake", digest_of("fake"), count, {"memory.dirty_bytes"}}, options.repeats, *shard, 42, false);
    if (!opened) return say(opened.error());
    store = *std::move(opened);
  } else {
    store = std::make_unique<RecordStore>(out, "simulated", 42, false);
  }
  const auto outcome = run_campaign(cases, pointers, *store, options);
  if (!outcome) return say(outcome.error());
  if (table && shard->whole()) {
    const auto merged = merge_tables(table_logs_below(out), out / "table.csv", false);
    if (!merged) return say(merged.error());
  }
  struct rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  std::printf("run %zu kept %zu rss_kib %ld\n", outcome->progress.run, outcome->progress.kept, usage.ru_maxrss);
  return 0;
}
