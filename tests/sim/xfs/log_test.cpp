// The journal: reservations and checkpoint sizes worked out by hand; the log alone on a device that completes after a
// fixed time; conservation of its space.

#include <catch2/catch.hpp>
#include <vector>

#include "sim/random.hpp"
#include "sim/xfs/log.hpp"
#include "sim/xfs/worker_names.hpp"

using namespace spillway;
using namespace spillway::sim;
using namespace spillway::sim::xfs;
using namespace std::chrono_literals;

namespace {

/// Takes everything at once and completes it after a while, in order.
class FixedDevice final : public BlockDevice {
 public:
  FixedDevice(Engine& engine, Duration each) : engine_(engine), each_(each) {}
  bool try_submit(Bio& bio) override {
    seen.push_back(bio);
    free_at_ = std::max(free_at_, engine_.now()) + each_;
    engine_.schedule(free_at_, Phase::device_done, [](void* b, std::uint64_t) { static_cast<Bio*>(b)->owner->bio_done(*static_cast<Bio*>(b)); }, &bio);
    return true;
  }
  Task<> submit(Thread&, Bio& bio) override {
    try_submit(bio);
    co_return;
  }
  [[nodiscard]] BlockCounters counters() const override { return {}; }
  [[nodiscard]] bool volatile_cache() const override { return true; }
  std::vector<Bio> seen;

 private:
  Engine& engine_;
  Duration each_;
  SimTime free_at_{};
};

struct Bench {
  explicit Bench(LogParams params = {}, Duration each = 1ms) : device(engine, each), log(engine, cpus, queues, device, device, params) {}
  ~Bench() { engine.destroy_roots(); }
  Engine engine;
  CpuSet cpus{engine, {}};
  WorkQueues queues{engine, cpus};
  FixedDevice device;
  Log log;
};

/// 1,000 blocks and the items that live in them.
struct Blocks {
  std::vector<LogItem> items{std::vector<LogItem>(1000)};
  std::vector<MetaBuffer> buffers{std::vector<MetaBuffer>(1000)};
  Blocks() {
    for (std::size_t i = 0; i < items.size(); ++i) {
      buffers[i].at = Sectors{static_cast<std::int64_t>(i) * 8};
      buffers[i].items = {&items[i]};
      items[i].home = &buffers[i];
    }
  }
};

Task<> transactions(Bench& b, Blocks& blocks, Thread& thread, int count, std::uint64_t seed, int& running) {
  Random random{seed, "test: transactions"};
  for (int i = 0; i < count; ++i) {
    Log::Ticket ticket;
    const auto kind = random.below(2) ? Transaction::create : Transaction::write;
    if (!b.log.try_reserve(kind, ticket)) co_await b.log.wait_for_space(thread, kind, ticket);
    co_await b.cpus.run(thread, CpuMode::system, 5us);
    for (int k = 0; k < 4; ++k) b.log.log_item(blocks.items[random.below(1000)], 200 + static_cast<std::int64_t>(random.below(4000)));
    if (b.log.commit_must_wait()) co_await b.log.wait_to_commit(thread);
    b.log.commit(ticket);
    if (random.below(500) == 0) co_await b.log.force(thread);
  }
  if (--running == 0) {
    co_await b.log.force(thread);
    b.log.push_all();
    while (!b.log.idle()) co_await b.engine.sleep(1ms);
    b.engine.stop();
  }
}

}  // namespace

TEST_CASE("xfs log: reservations and sizes", "[sim][xfs]") {
  CHECK(reservation(Transaction::create) == 438'488);  // 2 x 219,244, measured
  CHECK(reservation(Transaction::write) == 450'880);   // 4 x 112,720
  // A log stripe unit of 64 KiB pads twice a unit: 2 x (219,244 + 2 x (65,536 - 512)).
  CHECK(reservation(Transaction::create, 65'536) == 698'584);
  CHECK(inode_log_bytes(0) == 256);                    // 12 + 56 + 12 + 176
  CHECK(inode_log_bytes(1) == 284);                    // + 12 + 16
  CHECK(inode_log_bytes(1000) == 604);                 // the list fills what a 512-byte inode has behind its core: 336
  CHECK(checkpoint_log_bytes(1000) == 1000 + 512 + 512);
  CHECK(checkpoint_log_bytes(8 * kMiB) == 8'388'608 + 512 + 261 * 512);  // 8 MiB in pieces of 32,256
}

TEST_CASE("xfs log: as many transactions at once as reservations fit", "[sim][xfs]") {
  Bench b{{.size = 4 * kMiB}};
  std::vector<Log::Ticket> held(20);
  int got = 0;
  while (got < 20 && b.log.try_reserve(Transaction::create, held[static_cast<std::size_t>(got)])) ++got;
  CHECK(got == 9);  // 4,194,304 / 438,488 = 9.57
  Thread& waiter = b.cpus.new_thread("waiter");
  Log::Ticket late;
  bool through = false;
  b.engine.spawn([](Bench& bench, Thread& t, Log::Ticket& ticket, bool& done) -> Task<> {
    co_await bench.log.wait_for_space(t, Transaction::create, ticket);
    done = true;
    bench.engine.stop();
  }(b, waiter, late, through));
  b.engine.spawn([](Bench& bench, Log::Ticket& first) -> Task<> {
    co_await bench.engine.sleep(7ms);
    bench.log.commit(first);  // it used nothing: all of it is free again
  }(b, held[0]));
  b.engine.run();
  CHECK(through);
  CHECK(waiter.account.log == 7ms);
  CHECK(b.log.counters().space_waits == 1);
}

TEST_CASE("xfs log: a checkpoint fills log buffers, and only its last is forced through the cache", "[sim][xfs]") {
  for (const std::int64_t buffer : {32 * kKiB, 256 * kKiB}) {
    Bench b{{.size = 64 * kMiB, .buffer_size = buffer}};
    Blocks blocks;
    Thread& thread = b.cpus.new_thread("committer");
    b.engine.spawn([](Bench& bench, Blocks& all, Thread& t) -> Task<> {
      Log::Ticket ticket;
      REQUIRE(bench.log.try_reserve(Transaction::write, ticket));
      for (auto& item : all.items) bench.log.log_item(item, 1000);
      bench.log.log_item(all.items[0], 900);  // again, and no longer: nothing is added
      bench.log.commit(ticket);
      co_await bench.log.force(t);
      bench.engine.stop();
    }(b, blocks, thread));
    b.engine.run();
    // 1,000,000 bytes + 512 + 32 headers of 512 = 1,016,896; whole sectors: 1,017,344.
    CHECK(b.log.counters().log_written == Bytes{1'017'344});
    const auto writes = (1'017'344 + buffer - 1) / buffer;  // 32, or 4
    CHECK(b.log.counters().log_writes == writes);
    int forced = 0;
    for (const Bio& bio : b.device.seen) forced += bio.fua;
    CHECK(forced == 1);
    CHECK(b.device.seen.back().fua);
    CHECK(b.device.seen.back().flush);
    // The last waits for the others: one device time for each of them, then its own.
    CHECK(thread.account.log >= std::chrono::milliseconds{writes});
  }
}

TEST_CASE("xfs log: before 5.14 every buffer was forced through", "[sim][xfs]") {
  Bench b{{.kernel = *kernel_version("4.18")}};
  Blocks blocks;
  Thread& thread = b.cpus.new_thread("committer");
  b.engine.spawn([](Bench& bench, Blocks& all, Thread& t) -> Task<> {
    Log::Ticket ticket;
    REQUIRE(bench.log.try_reserve(Transaction::write, ticket));
    for (auto& item : all.items) bench.log.log_item(item, 100);
    bench.log.commit(ticket);
    co_await bench.log.force(t);
    bench.engine.stop();
  }(b, blocks, thread));
  b.engine.run();
  REQUIRE(b.device.seen.size() == 4);  // 100,000 + 512 + 4 x 512 in buffers of 32 KiB
  for (const Bio& bio : b.device.seen) CHECK((bio.fua && bio.flush));
}

TEST_CASE("xfs log: writing back from the tail returns all space, whatever is done", "[sim][xfs]") {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    Random random{seed, "test: log shapes"};
    LogParams p;
    p.size = static_cast<std::int64_t>(3 + random.below(30)) * kMiB;
    p.buffer_size = std::int64_t{16 * kKiB} << random.below(5);
    p.buffers = 2 + static_cast<int>(random.below(7));
    if (random.below(2)) p.stripe_unit = 64 * kKiB;
    Bench b{p, std::chrono::microseconds{10 + random.below(3000)}};
    Blocks blocks;
    int running = 1 + static_cast<int>(random.below(8));
    for (int i = running; i > 0; --i)
      b.engine.spawn(transactions(b, blocks, b.cpus.new_thread("t"), 1500, seed * 100 + static_cast<std::uint64_t>(i), running));
    REQUIRE(b.engine.run() == RunOutcome::stopped);
    CHECK(b.log.idle());
    CHECK(b.log.audit().empty());
    CHECK(b.log.free_space() == p.size);
    CHECK(b.log.reserved() == 0);
    for (const LogItem& item : blocks.items) {
      CHECK(item.pins == 0);
      CHECK(item.ail == 0);
    }
    // What is in the log is also at its place: nothing was forgotten.
    CHECK(b.log.counters().metadata_written > Bytes{0});
  }
}

TEST_CASE("work queues: a core's pool has one running worker, and another when that one sleeps", "[sim][xfs]") {
  Engine engine;
  CpuSet cpus{engine, {}};
  WorkQueues queues{engine, cpus};
  const auto busy = queues.add("busy", WorkKind::bound), sleepy = queues.add("sleepy", WorkKind::bound), free = queues.add("free", WorkKind::unbound, 2);
  int done = 0;
  const auto work = [&](bool sleeps) {
    return [&engine, &cpus, &queues, &done, sleeps](Thread& worker) -> Task<> {
      co_await cpus.run(worker, CpuMode::system, 100us);
      if (sleeps) {
        WorkerSleeps bracket{queues, worker};
        co_await engine.sleep(10ms);
      }
      ++done;
    };
  };
  for (int i = 0; i < 5; ++i) queues.queue(busy, 0, work(false));
  for (int i = 0; i < 5; ++i) queues.queue(sleepy, 1, work(true));
  for (int i = 0; i < 5; ++i) queues.queue(free, 0, work(true));
  CHECK(engine.run() == RunOutcome::idle);
  CHECK(done == 15);
  CHECK(queues.uses()[busy].workers.size() == 1);
  CHECK(queues.uses()[sleepy].workers.size() == 5);
  CHECK(queues.uses()[free].workers.size() == 2);
  CHECK(queues.uses()[busy].items == 5);
  CHECK(queues.uses()[busy].cpu >= 500us);
  engine.destroy_roots();
}

TEST_CASE("worker names: what ps shows on which kernel", "[sim][xfs]") {
  const auto shown = [](const char* version, const char* queue, int core = 1, int number = 2) {
    WorkerOutputs w;
    w.name = queue;
    w.core = core;
    w.number = number;
    name_worker(w, *kernel_version(version), {.cores = 2, .device = "loop0", .major = 7, .minor = 0});
    return w.shown;
  };
  CHECK(shown("6.18", "flush", -1) == "kworker/u8:2+flush-7:0");  // as in the real list: 2 CPUs, pool 8
  CHECK(shown("6.18", "xfs-conv") == "kworker/1:2-xfs-conv/loop0");
  CHECK(shown("6.18", "xfs-log", 1, 1) == "kworker/1:1H-xfs-log/loop0");
  CHECK(shown("6.18", "xfs-cil", -1) == "kworker/u8:2-xfs-cil/loop0");
  CHECK(shown("6.1", "flush", -1) == "kworker/u4:2+flush-7:0");
  CHECK(shown("3.4", "flush") == "flush-7:0");                    // the founding mail's kind
  CHECK(shown("3.4", "xfsalloc") == "kworker/1:2");
  CHECK(shown("3.4", "xfs-conv") == "kworker/1:2");
  CHECK(shown("3.10", "flush", -1) == "kworker/u4:2");
  CHECK(shown("2.6.32", "xfs-data") == "xfsdatad/1");
  CHECK(shown("2.6.32", "xfsbufd") == "xfsbufd/loop0");
  CHECK(shown("6.18", "xfsaild") == "xfsaild/loop0");
  CHECK(shown("6.18", "nonsense").empty());
}
