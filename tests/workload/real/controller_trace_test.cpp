/// The simulated controller fed with a real kernel's own inputs, decision by decision.

#include <catch2/catch.hpp>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "sim/memory/pause.hpp"
#include "sim/memory/position_ratio.hpp"

namespace spillway::real {
namespace {

using Row = std::map<std::string, double>;

std::vector<Row> decisions() {
  std::ifstream file{std::string{SPILLWAY_TEST_DATA} + "/real_6.18_bdp.csv"};
  std::vector<std::string> names;
  std::vector<Row> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream cells{line};
    std::vector<std::string> words;
    for (std::string word; std::getline(cells, word, ',');) words.push_back(word);
    if (names.empty()) {
      names = words;
      continue;
    }
    Row row;
    for (std::size_t i = 0; i < words.size() && i < names.size(); ++i) row[names[i]] = std::stod(words[i]);
    rows.push_back(std::move(row));
  }
  return rows;
}

sim::KernelWord word(const Row& row, const char* name) { return static_cast<sim::KernelWord>(row.at(name)); }

constexpr int kHz = 250;
constexpr std::int64_t kMsPerTick = 1000 / kHz;

}  // namespace

TEST_CASE("controller: fed a real kernel's inputs it gives that kernel's pauses, exact to the jiffy", "[real][controller]") {
  const auto rows = decisions();
  REQUIRE(rows.size() == 528);
  int pauses = 0, rates = 0, ratios = 0, slept = 0;
  for (const auto& row : rows) {
    REQUIRE(row.at("exact") == 1);
    constexpr std::int64_t kNow = 1'000'000;
    sim::TaskDirtyState task;
    task.nr_dirtied = word(row, "dirtied");
    task.nr_dirtied_pause = word(row, "dirtied");
    task.dirty_paused_when = kNow - static_cast<std::int64_t>(row.at("think_ms")) / kMsPerTick;
    sim::ThrottleInputs in;
    in.now = kNow;
    in.hz = kHz;
    in.pages_dirtied = word(row, "dirtied");
    in.pos_ratio = static_cast<std::int64_t>(row.at("pos_ratio"));
    in.dirty_ratelimit = word(row, "dirty_ratelimit");
    in.avg_write_bandwidth = word(row, "avg_write_bw");
    in.wb_dirty = word(row, "wb_dirty");
    const auto decision = sim::decide_pause(task, in, 32);
    // The kernel traces min(pause, 0) for a pause too short to be slept.
    const std::int64_t traced = decision.sleeps ? decision.pause : std::min<std::int64_t>(decision.pause, 0);
    CAPTURE(row.at("t_mono_s"), decision.pause, row.at("pause_ms"), decision.period, row.at("period_ms"));
    pauses += traced * kMsPerTick == static_cast<std::int64_t>(row.at("pause_ms")) &&
              decision.period * kMsPerTick == static_cast<std::int64_t>(row.at("period_ms"));
    rates += decision.task_ratelimit == word(row, "task_ratelimit");
    slept += row.at("pause_ms") > 0;
    sim::PositionInputs position;
    position.thresh = word(row, "thresh");
    position.background = word(row, "bg_thresh");
    position.dirty_limit = word(row, "limit");
    position.dirty = word(row, "dirty");
    position.wb_thresh = word(row, "wb_thresh");
    position.wb_background = word(row, "wb_thresh") * word(row, "bg_thresh") / word(row, "thresh");
    position.wb_dirty = word(row, "wb_dirty");
    position.avg_write_bandwidth = word(row, "avg_write_bw");
    ratios += sim::position_ratio(position) == static_cast<std::int64_t>(row.at("pos_ratio"));
  }
  WARN(pauses << " of " << rows.size() << " pauses and periods, " << rates << " task rates, " << ratios << " position ratios are exact; " << slept << " slept");
  const auto all = static_cast<int>(rows.size());
  CHECK(pauses * 100 >= all * 99);
  CHECK(rates * 100 >= all * 99);
  // The ratio is computed before the pass's own bandwidth update and the estimate is read after it: where a pass updates,
  // the two do not belong together.
  CHECK(ratios * 100 >= all * 95);
  // The check could not fail if nobody slept.
  CHECK(slept > 100);
}

}  // namespace spillway::real
