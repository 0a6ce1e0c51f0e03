#pragma once
/// A box without a kernel: its record follows from the case and the seed by arithmetic that a test can redo.

#include "workload/box.hpp"

#include <cmath>
#include <fmt/core.h>
#include <fstream>

namespace spillway::test {

/// Case number N of the fake experiment, with one swept key.
inline Case fake_case(std::size_t index) {
  Case item;
  item.experiment.name = "fake";
  item.experiment.title = "A fake experiment";
  item.keys = {{"memory.dirty_bytes", fmt::format("{}MB", index + 1)}};
  item.folder = fmt::format("memory.dirty_bytes={}MB", index + 1);
  item.effective = {{"title", "A fake experiment"}, {"memory", {{"dirty_bytes", (index + 1) * 1'000'000}}}};
  return item;
}

inline std::vector<Case> fake_cases(std::size_t count) {
  std::vector<Case> cases;
  for (std::size_t i = 0; i < count; ++i) cases.push_back(fake_case(i));
  return cases;
}

class FakeBox : public Box {
 public:
  [[nodiscard]] std::string name() const override { return "simulated"; }
  Status check(const Case& item) override { return on_check ? on_check(item) : Status{}; }
  Result<std::vector<std::string>> plan(const Case&) override { return std::vector<std::string>{"nothing"}; }

  Result<Record> run(const Case& item, const RepeatContext& context) override {
    runs.push_back(fmt::format("{} r{}", item.folder, context.repeat));
    if (!context.dir.empty()) std::ofstream(context.dir / "timeline.csv") << "half a timeli";
    if (on_run) SPILLWAY_TRY(on_run(item, context));
    Record record;
    record.box.kind = "simulated";
    for (int untar = 1; untar <= 3; ++untar) {
      UntarResult result;
      result.number = untar;
      result.start_s = untar - 1;
      result.elapsed_s = 1 + std::fmod(static_cast<double>(context.seed % 1'000'003) * untar / 7, 1.0);
      result.user_s = 0.25;
      result.bytes = 10'000'000;
      result.account.user_s = 0.25;
      result.account.throttled_s = result.elapsed_s - 0.25;
      record.untars.push_back(result);
      record.untars_end_s += result.elapsed_s;
    }
    record.durable_s = record.untars_end_s + static_cast<double>(item.effective["memory"]["dirty_bytes"].get<std::int64_t>()) / 40e6;
    if (!context.dir.empty()) std::ofstream(context.dir / "timeline.csv") << "t_s\n0\n";
    return record;
  }

  std::function<Status(const Case&)> on_check;
  std::function<Status(const Case&, const RepeatContext&)> on_run;
  std::vector<std::string> runs;
};

}  // namespace spillway::test
