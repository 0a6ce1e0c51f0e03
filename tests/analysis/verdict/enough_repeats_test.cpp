#include "analysis/verdict/enough_repeats.hpp"

#include <catch2/catch.hpp>
#include <iostream>

#include "tests/analysis/statistics/trials.hpp"

using namespace spillway;
using namespace spillway::analysis;
using namespace spillway::analysis::test;

namespace {
void add(std::vector<Record>& records, double untars_end_s) {
  Record record;
  record.untars_end_s = untars_end_s;
  record.complete = true;
  records.push_back(record);
}
}  // namespace

TEST_CASE("adaptive repeats: stop when known to 2 %, asked after every repeat, and the interval still covers", "[analysis][verdict]") {
  const std::uint64_t seed = 3000;
  std::size_t used = 0;
  constexpr std::size_t kTrials = 2'000;
  const double covered = share_of(kTrials, seed, [&](Random& random) {
    std::vector<Record> records;
    while (true) {
      add(records, 18 * (1 + 0.03 * random.normal()));
      const auto state = enough_repeats(records, {.most = 200});
      if (!state->enough) continue;
      used += records.size();
      return state->interval->contains(18);
    }
  });
  std::cout << "adaptive repeats at 3 % noise: " << static_cast<double>(used) / kTrials << " on average, covers " << covered << " (seed " << seed << ")\n";
  CHECK(covered >= 0.94);
}

TEST_CASE("adaptive repeats: nothing is said during the pilot, and steady repeats stop after it", "[analysis][verdict]") {
  std::vector<Record> records;
  for (int i = 0; i < 4; ++i) {
    add(records, 18 + 0.01 * i);
    const auto state = enough_repeats(records, {});
    REQUIRE(state);
    CHECK_FALSE(state->enough);
    CHECK(state->needed == 0);
  }
  add(records, 18.02);
  CHECK(enough_repeats(records, {})->enough);
  add(records, 0);
  CHECK_FALSE(enough_repeats(records, {}));
  CHECK_FALSE(enough_repeats(records, {.metric = "untar[1].elapsed_s"}));
}
