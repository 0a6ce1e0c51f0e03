/// spillway conform: traces of a real kernel through the simulated controller, and what a wrong trace does.

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>

#include "workload/conform/conform.hpp"
#include "workload/record/file_io.hpp"

using namespace spillway;
using namespace spillway::conform;

namespace {

std::string stored(const char* name) {
  const auto text = read_file(std::string{SPILLWAY_TEST_DATA} + "/" + name);
  REQUIRE(text);
  return *text;
}

TraceTable table(const std::string& text, const char* name) {
  auto parsed = TraceTable::parse(text, name);
  REQUIRE(parsed);
  return *std::move(parsed);
}

const Check& find(const Conformance& result, const std::string& name) {
  const auto it = std::find_if(result.checks.begin(), result.checks.end(), [&](const Check& c) { return c.name == name; });
  REQUIRE(it != result.checks.end());
  return *it;
}

/// Replaces the cell of `column` in the row-th line of data.
std::string with_cell(const std::string& text, int row, int column, const std::string& value) {
  std::size_t at = 0;
  for (int line = 0; line < row + 2; ++line) at = text.find('\n', at) + 1;  // the comment and the header come first
  for (int c = 0; c < column; ++c) at = text.find(',', at) + 1;
  return text.substr(0, at) + value + text.substr(std::min(text.find(',', at), text.find('\n', at)));
}

constexpr int kPauseColumn = 12;

/// Three updates worked out by hand. task 10,000, avg 20,000, dirty rate 19,999 | 1 = 19,999: balanced 10,000. Then task
/// 12,801, avg 10,000, dirty rate 25,000 | 1: 5,120 and, above the setpoint, the step of controller_test's whole update.
const std::string kUpdates =
    "t_mono_s,pid,write_bw,avg_write_bw,dirty_rate,dirty_ratelimit,task_ratelimit,balanced_dirty_ratelimit\n"
    "10.000000,7,20000,20000,19999,25600,10000,10000\n"
    "10.204000,7,10000,10000,25000,24800,12801,5120\n";

}  // namespace

TEST_CASE("conform: every pause, rate and ratio of a real 6.18 kernel's trace is the controller's", "[conform]") {
  const TraceTable decisions = table(stored("real_6.18_bdp.csv"), "bdp.csv");
  const auto result = conform::conform(&decisions, nullptr, 0, 99);
  REQUIRE(result);
  WARN(conformance_text(*result));
  CHECK(result->hz == 250);  // from the trace's own comment
  CHECK(result->decisions == 528);
  CHECK(find(*result, "pauses and periods").exact == 528);
  CHECK(find(*result, "task rates").exact == 528);
  CHECK(find(*result, "position ratios").exact * 100 >= 528 * 95);
  CHECK(result->met());
}

TEST_CASE("conform: with both traces of a run, ratios, balanced rates and steps are all the kernel's", "[conform]") {
  const TraceTable decisions = table(stored("run_6.18/bdp.csv"), "bdp.csv"), updates = table(stored("run_6.18/ratelimit.csv"), "ratelimit.csv");
  const auto result = conform::conform(&decisions, &updates, 0, 100);
  REQUIRE(result);
  INFO(conformance_text(*result));
  CHECK(result->decisions == 443);
  CHECK(result->updates == 14);
  for (const Check& check : result->checks) {
    CAPTURE(check.name);
    CHECK(check.checked >= 13);
    // A pass below freerun sets another poll size and leaves no event: one of 400 here.
    CHECK(check.exact >= check.checked - (check.name == "next poll sizes" ? 1 : 0));
  }
  CHECK(result->first() == nullptr);
}

TEST_CASE("conform: a pause that is one tick off is named with its line", "[conform]") {
  const std::string text = stored("real_6.18_bdp.csv");
  // The 100th decision slept or not: 196 ms is what nobody decided there.
  const TraceTable wrong = table(with_cell(text, 100, kPauseColumn, "196"), "bdp.csv");
  const auto result = conform::conform(&wrong, nullptr, 0, 100);
  REQUIRE(result);
  CHECK_FALSE(result->met());
  CHECK(find(*result, "pauses and periods").exact == 527);
  const Check& pauses = find(*result, "pauses and periods");
  REQUIRE(pauses.diverged.size() == 1);
  CHECK(pauses.diverged.front().line == 103);  // 1-based, after comment and header
  CHECK(pauses.diverged.front().what.find("49 ticks") != std::string::npos);  // 196 ms at HZ 250
  CHECK(conformance_text(*result).find("missed") != std::string::npos);
  // One of 528 is within 99 %.
  const auto lenient = conform::conform(&wrong, nullptr, 0, 99);
  REQUIRE(lenient);
  CHECK(lenient->met());
}

TEST_CASE("conform: balanced rates and steps worked out by hand, and one that is wrong", "[conform]") {
  const TraceTable right = table(kUpdates, "ratelimit.csv");
  auto result = conform::conform(nullptr, &right, 0, 99);
  REQUIRE(result);
  CHECK(find(*result, "balanced rates").exact == 2);
  const Check& steps = find(*result, "steps of the rate limit");
  CHECK(steps.checked == 1);  // before the first line the state is not known
  // Above the setpoint x = max(10,000, 5,120, 12,801), a gap of 12,799: 25,600 / 25,599 = 1 shifts it once, an eighth of
  // 6,399 rounded up is 800.
  CHECK(steps.exact == 1);
  CHECK(result->met());

  std::string text = kUpdates;
  text.replace(text.find("5120"), 4, "5121");
  const TraceTable wrong = table(text, "ratelimit.csv");
  result = conform::conform(nullptr, &wrong, 0, 99);
  REQUIRE(result);
  CHECK_FALSE(result->met());
  REQUIRE(result->first() != nullptr);
  CHECK(result->first()->line == 3);
  CHECK(result->first()->what.find("5121") != std::string::npos);
}

TEST_CASE("conform: bad traces get a sentence with file, line and column", "[conform]") {
  const auto sentence = [](const std::string& text) {
    const auto parsed = TraceTable::parse(text, "bdp.csv");
    REQUIRE_FALSE(parsed);
    return parsed.error().what;
  };
  CHECK(sentence("").find("no header") != std::string::npos);
  CHECK(sentence("t_mono_s,pid\n1.5,x\n").find("line 2, column pid") != std::string::npos);
  CHECK(sentence("t_mono_s,pid\n1.5\n").find("line 2") != std::string::npos);
  CHECK(sentence("t_mono_s,pid\n1.5,1,2\n").find("line 2") != std::string::npos);
  CHECK(sentence("t_mono_s,pid\nabc,1\n").find("no time") != std::string::npos);
  const TraceTable other = table("t_mono_s,pid\n1.5,1\n", "x.csv");
  const auto missing = conform::conform(&other, nullptr, 250, 99);
  REQUIRE_FALSE(missing);
  CHECK(missing.error().what.find("limit is missing") != std::string::npos);
  // Without HZ a pause in milliseconds says nothing.
  std::string text = stored("real_6.18_bdp.csv");
  text.erase(0, text.find('\n') + 1);
  const TraceTable silent = table(text, "bdp.csv");
  const auto no_hz = conform::conform(&silent, nullptr, 0, 99);
  REQUIRE_FALSE(no_hz);
  CHECK(no_hz.error().what.find("--hz") != std::string::npos);
  // Nothing checked is not met.
  const TraceTable empty = table(text.substr(0, text.find('\n') + 1), "bdp.csv");
  const auto nothing = conform::conform(&empty, nullptr, 250, 99);
  REQUIRE(nothing);
  CHECK_FALSE(nothing->met());
}
