#include <catch2/catch.hpp>

#include "sim/cpu/cpu_set.hpp"
#include "sim/cpu/jiffies.hpp"
#include "sim/cpu/tick_sleeps.hpp"

using namespace spillway;
using namespace spillway::sim;
using namespace std::chrono_literals;

namespace {

Task<> burns(CpuSet& cpus, Thread& thread, Duration each, int times) {
  for (int i = 0; i < times; ++i) co_await cpus.run(thread, i % 2 ? CpuMode::user : CpuMode::system, each);
}

Task<> wakes_and_burns(Engine& engine, CpuSet& cpus, Thread& thread, Duration sleep, Duration burn) {
  {
    Blocked blocked{engine, thread.account.unknown};
    co_await engine.sleep(sleep);
  }
  co_await cpus.run(thread, CpuMode::user, burn);
}

Task<> copies(CpuSet& cpus, Thread& thread) { co_await cpus.copy(thread, CpuMode::system, 1ms, Bytes{10 * kMB}); }

}  // namespace

TEST_CASE("cpu: two threads on two cores run side by side and wait for nothing", "[sim][cpu]") {
  Engine engine;
  CpuSet cpus{engine, {.cores = 2, .context_switch = 0us}};
  Thread& a = cpus.new_thread("a");
  Thread& b = cpus.new_thread("b");
  engine.spawn(burns(cpus, a, 100us, 10));
  engine.spawn(burns(cpus, b, 100us, 10));
  engine.run();
  CHECK(engine.now() == SimTime{1ms});
  CHECK(a.account.user == 500us);
  CHECK(a.account.system == 500us);
  CHECK(b.account.runqueue == 0us);
}

TEST_CASE("cpu: three threads on one core share it in slices, and every nanosecond is accounted for", "[sim][cpu]") {
  Engine engine;
  CpuSet cpus{engine, {.cores = 1, .slice = 1ms, .context_switch = 10us}};
  std::vector<Thread*> threads;
  for (const char* name : {"a", "b", "c"}) threads.push_back(&cpus.new_thread(name));
  for (Thread* t : threads) engine.spawn(burns(cpus, *t, 250us, 40));
  engine.run();
  Duration work{};
  for (const Thread* t : threads) work += t->account.cpu();
  CHECK(work == engine.now().time_since_epoch());  // the core was never idle
  CHECK(work > 30ms);
  CHECK(work < 30400us);                           // about one switch of 10 us for each of 30 slices
  Duration latest{};
  for (const Thread* t : threads) {
    CHECK(t->account.total() <= engine.now().time_since_epoch());
    CHECK(t->account.runqueue > 15ms);
    latest = std::max(latest, t->account.total());
  }
  CHECK(latest == engine.now().time_since_epoch());
}

TEST_CASE("cpu: a thread that wakes does not wait for the whole slice of a hog", "[sim][cpu]") {
  Engine engine;
  CpuSet cpus{engine, {.cores = 1, .slice = 10ms, .wakeup_granularity = 1ms, .context_switch = 0us}};
  Thread& hog = cpus.new_thread("hog");
  Thread& sleeper = cpus.new_thread("sleeper");
  engine.spawn(burns(cpus, hog, 500us, 100));
  engine.spawn(wakes_and_burns(engine, cpus, sleeper, 5100us, 100us));
  engine.run();
  CHECK(sleeper.account.runqueue == 400us);  // to the end of the hog's present request
  CHECK(sleeper.account.unknown == 5100us);
}

TEST_CASE("cpu: copies that together exceed the memory's bandwidth slow each other down", "[sim][cpu]") {
  Engine engine;
  CpuSet cpus{engine, {.cores = 4, .context_switch = 0us, .memory_bandwidth = BytesPerSec{10 * kGB}}};
  Thread& alone = cpus.new_thread("alone");
  engine.spawn(copies(cpus, alone));
  engine.run();
  CHECK(alone.account.system == 1ms);  // 10 MB in 1 ms is just what the memory gives
  Thread& second = cpus.new_thread("second", 1);
  Thread& third = cpus.new_thread("third", 2);
  engine.spawn(copies(cpus, second));
  engine.spawn(copies(cpus, third));
  engine.run();
  CHECK(second.account.system == 1ms);
  CHECK(third.account.system == 2ms);  // it started beside another copier
}

TEST_CASE("jiffies: a sleep ends on the tick after its last, and long timeouts are rounded up to their wheel level",
          "[sim][cpu]") {
  const TickClock clock{250, 1ms};
  const Jiffies start = clock.jiffies(SimTime{});
  CHECK(clock.jiffies(SimTime{2999us}) == start);
  CHECK(clock.jiffies(SimTime{3ms}) == start + 1);
  CHECK(clock.time_of(start + 1) == SimTime{3ms});
  // Two ticks asked for in the middle of tick 0 end when tick 3 comes: 2 ticks and what is left of the present one.
  CHECK(clock.timeout_ends(SimTime{1ms}, 2) == SimTime{11ms});
  CHECK(clock.fires_at_tick(100, 100 + 62) == 163);
  CHECK(clock.fires_at_tick(100, 100 + 63) == 168);     // level 1: multiples of 8
  CHECK(clock.fires_at_tick(100, 100 + 750) == 896);    // level 2: multiples of 64
  CHECK(TickClock(250, 0ms, false).fires_at_tick(100, 150) == 150);
}

namespace {

Task<> sleeps_from(Engine& engine, TickSleeps& sleeps, Duration start, Jiffies ticks, std::string name, std::string& order) {
  co_await engine.sleep(start);
  co_await sleeps.sleep(ticks);
  order += name;
}

std::string order_of_waking(bool rounding_wheel) {
  Engine engine;
  const TickClock clock{250, Duration{0}, rounding_wheel};
  TickSleeps sleeps{engine, clock};
  std::string order;
  // Ticks are 4 ms. a, b and c all end at tick 12; d one tick earlier; e, of the wheel's second level, at tick 80 with f.
  engine.spawn(sleeps_from(engine, sleeps, 1ms, 11, "a", order));
  engine.spawn(sleeps_from(engine, sleeps, 5ms, 10, "b", order));
  engine.spawn(sleeps_from(engine, sleeps, 9ms, 9, "c", order));
  engine.spawn(sleeps_from(engine, sleeps, 1ms, 10, "d", order));
  engine.spawn(sleeps_from(engine, sleeps, 1ms, 72, "e", order));
  engine.spawn(sleeps_from(engine, sleeps, 281ms, 9, "f", order));
  engine.run();
  return order;
}

}  // namespace

TEST_CASE("tick sleeps: who fell asleep last wakes first at a tick, long sleeps before short ones", "[sim][cpu]") {
  CHECK(order_of_waking(true) == "dcbaef");
  // Before 4.8: first come, first served; e ends by itself at its own tick 72, before f.
  CHECK(order_of_waking(false) == "dabcef");
}
