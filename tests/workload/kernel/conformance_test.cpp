#include "sim/memory/pause.hpp"

#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

using namespace spillway::sim;

// The first 900 balance_dirty_pages decisions of the standard run on Debian's 6.1 in virtual time, HZ = 250: a tick is
// 4 ms, a page 4 kB.
TEST_CASE("kernel conformance: every pause of a 6.1 kernel in virtual time follows from its own inputs, to the tick", "[workload][kernel]") {
  constexpr std::int64_t kTickMs = 4, kKilobytesPerPage = 4;
  std::ifstream file(std::string{SPILLWAY_TEST_DATA} + "/virtual_6.1_bdp.csv");
  REQUIRE(file.good());
  std::string line;
  std::getline(file, line);
  REQUIRE(line == "t_ms,task_ratelimit_kBps,dirtied_pg,paused_ms,pause_ms,think_ms,period_ms");
  int rows = 0, exact = 0, carried = 0;
  while (std::getline(file, line)) {
    std::stringstream cells(line);
    std::vector<double> v;
    for (std::string cell; std::getline(cells, cell, ',');) v.push_back(std::stod(cell));
    REQUIRE(v.size() == 7);
    const auto in_ticks = [&v](std::size_t i) { return static_cast<std::int64_t>(v[i]) / kTickMs; };
    const std::int64_t think = in_ticks(5);
    const TaskDirtyState task{.nr_dirtied = 0, .nr_dirtied_pause = 1'000'000, .dirty_paused_when = 100'000 - think};
    const auto decision = decide_pause(task,
                                       {.now = 100'000, .hz = 250, .pages_dirtied = static_cast<KernelWord>(v[2]), .pos_ratio = 1024,
                                        .dirty_ratelimit = static_cast<KernelWord>(v[1]) / kKilobytesPerPage, .avg_write_bandwidth = 25600, .wb_dirty = 1'000'000},
                                       32);
    CAPTURE(line);
    ++rows;
    CHECK(decision.period == in_ticks(6));
    const std::int64_t due = decision.period - think;
    if (in_ticks(4) == due) ++exact;
    else {
      // Too short to sleep: the trace says 0, the time is carried over.
      CHECK(in_ticks(4) == 0);
      CHECK(due > 0);
      CHECK(due < decision.min_pause);
      ++carried;
    }
  }
  CHECK(rows == 900);
  CHECK(exact + carried == rows);
  CHECK(exact > 850);
}
