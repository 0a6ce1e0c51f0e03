#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <vector>

#include "sim/engine/engine.hpp"

using namespace spillway;
using namespace spillway::sim;
using namespace std::chrono_literals;

namespace {

Task<> say(Engine& engine, std::string& log, char letter, Duration after, Phase phase) {
  co_await engine.sleep(after, phase);
  log += letter;
}

Task<int> doubled(Engine& engine, int x) {
  co_await engine.sleep(1us);
  co_return 2 * x;
}

Task<> adds(Engine& engine, int& sum) {
  for (int i = 0; i < 3; ++i) sum += co_await doubled(engine, i);
}

Task<> holds(Engine& engine, Mutex& mutex, std::string& log, char letter) {
  co_await mutex.lock();
  log += letter;
  co_await engine.sleep(1ms);
  log += letter;
  mutex.unlock();
}

Task<> takes(Semaphore& tokens, std::int64_t count, std::string& log, char letter) {
  co_await tokens.acquire(count);
  log += letter;
}

}  // namespace

TEST_CASE("engine: events of one instant come in the order of their phases, then of their scheduling", "[sim][engine]") {
  Engine engine;
  std::string log;
  engine.spawn(say(engine, log, 'd', 5us, Phase::task));
  engine.spawn(say(engine, log, 'e', 5us, Phase::task));
  engine.spawn(say(engine, log, 'f', 5us, Phase::sample));
  engine.spawn(say(engine, log, 'c', 5us, Phase::flusher));
  engine.spawn(say(engine, log, 'b', 5us, Phase::device_done));
  engine.spawn(say(engine, log, 'a', 4us, Phase::sample));
  CHECK(engine.run() == RunOutcome::idle);
  CHECK(log == "abcdef");
  CHECK(engine.now() == SimTime{5us});
  CHECK(engine.events() == 12);  // six starts and six awakenings
}

TEST_CASE("engine: shuffled ties are a permutation within a phase, the same one for the same seed", "[sim][engine]") {
  const auto order = [](std::uint64_t seed) {
    Engine engine{{.seed = seed, .shuffle_ties = true}};
    std::string log;
    engine.spawn(say(engine, log, '1', 5us, Phase::device_done));
    for (char c = 'a'; c <= 'p'; ++c) engine.spawn(say(engine, log, c, 5us, Phase::task));
    engine.run();
    return log;
  };
  const std::string one = order(1);
  CHECK(one.size() == 17);
  CHECK(one.front() == '1');
  CHECK(one == order(1));
  CHECK(one != order(2));
  CHECK(one != "1abcdefghijklmnop");
  std::string sorted = one;
  std::sort(sorted.begin(), sorted.end());
  CHECK(sorted == "1abcdefghijklmnop");
}

TEST_CASE("engine: a task waits for its child and gets its value", "[sim][engine]") {
  Engine engine;
  int sum = 0;
  engine.spawn(adds(engine, sum));
  engine.run();
  CHECK(sum == 6);
  CHECK(engine.now() == SimTime{3us});
}

TEST_CASE("engine: a mutex is granted in the order of asking", "[sim][engine]") {
  Engine engine;
  Mutex mutex{engine};
  std::string log;
  for (const char c : {'a', 'b', 'c'}) engine.spawn(holds(engine, mutex, log, c));
  engine.run();
  CHECK(log == "aabbcc");
  CHECK(engine.now() == SimTime{3ms});
}

TEST_CASE("engine: a large request at the head of a semaphore is not overtaken by a small one", "[sim][engine]") {
  Engine engine;
  Semaphore tokens{engine, 1};
  std::string log;
  engine.spawn(takes(tokens, 2, log, 'L'));
  engine.spawn(takes(tokens, 1, log, 's'));
  engine.run();
  CHECK(log.empty());
  tokens.release(1);
  engine.run();
  CHECK(log == "L");
  tokens.release(1);
  engine.run();
  CHECK(log == "Ls");
}

TEST_CASE("engine: a timer that is moved or cancelled fires once or not at all", "[sim][engine]") {
  Engine engine;
  int fired = 0;
  Timer timer{engine, Phase::timer, [&] { ++fired; }};
  timer.arm(SimTime{1ms});
  timer.arm(SimTime{2ms});
  engine.run();
  CHECK(fired == 1);
  CHECK(engine.now() == SimTime{2ms});
  timer.arm(engine.now() + 1ms);
  timer.cancel();
  engine.run();
  CHECK(fired == 1);
}

TEST_CASE("engine: the watchdog stops a run that only burns time", "[sim][engine]") {
  Engine engine{{.stalled_after = 1s}};
  std::function<void()> again;
  Timer timer{engine, Phase::timer, [&] { again(); }};
  again = [&] { timer.arm(engine.now() + 100ms); };
  again();
  CHECK(engine.run() == RunOutcome::stalled);
  CHECK(engine.now() <= SimTime{1100ms});
}
