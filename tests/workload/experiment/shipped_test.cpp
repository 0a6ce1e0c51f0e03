/// The experiment files that come with the program, and the documentation made from the table of keys.

#include "workload/experiment/keys.hpp"
#include "workload/experiment/parse.hpp"
#include "workload/record/file_io.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <set>

namespace fs = std::filesystem;
using namespace spillway;

TEST_CASE("experiments: every shipped file loads without a warning and survives its effective form", "[workload][experiment]") {
  int seen = 0;
  for (const auto& item : fs::recursive_directory_iterator{fs::path{SPILLWAY_SOURCE_DIR} / "experiments"}) {
    if (item.path().extension() != ".toml") continue;
    ++seen;
    CAPTURE(item.path().string());
    const auto file = load_experiment(item.path());
    if (!file) FAIL(file.error().what);
    CHECK(file->warnings.empty());
    CHECK_FALSE(file->base.title.empty());
    for (const Case& one : file->cases) {
      const auto again = case_from_effective(one.effective);
      if (!again) FAIL(again.error().what);
      CHECK(again->effective.dump() == one.effective.dump());
    }
    for (const Expectation& expectation : file->base.expectations) CHECK_FALSE(expectation.source.empty());
  }
  CHECK(seen >= 1);
}

TEST_CASE("experiments: the advice library has at least 15 pieces, each a comparison over two devices and two working sets", "[workload][experiment]") {
  int pieces = 0;
  for (const auto& item : fs::directory_iterator{fs::path{SPILLWAY_SOURCE_DIR} / "experiments" / "advice"}) {
    if (item.path().extension() != ".toml") continue;
    ++pieces;
    CAPTURE(item.path().string());
    const auto file = load_experiment(item.path());
    if (!file) FAIL(file.error().what);
    CHECK(file->base.title.starts_with("Advice: "));
    CHECK_FALSE(file->base.question.empty());
    REQUIRE_FALSE(file->base.expectations.empty());
    for (const Expectation& expectation : file->base.expectations) CHECK((expectation.versus || expectation.op == ExpectOp::ordered));
    std::set<std::string> devices, loads;
    for (const Case& one : file->cases) {
      const Experiment& e = one.experiment;
      devices.insert(e.device.model + std::to_string(e.device.rate.value()) + std::to_string(e.device.iops));
      loads.insert(std::to_string(e.archive.bytes.value()) + (e.pipeline ? std::to_string(e.pipeline->hosts.front().cpus) : ""));
    }
    CHECK(devices.size() >= 2);
    CHECK(loads.size() >= 2);
  }
  CHECK(pieces >= 15);
}

TEST_CASE("experiments: the founding mail's file holds the mail's figures", "[workload][experiment]") {
  const auto file = load_experiment(fs::path{SPILLWAY_SOURCE_DIR} / "experiments" / "xfs-untar.toml");
  REQUIRE(file);
  const Experiment& e = file->cases.at(0).experiment;
  CHECK(e.archive.bytes * e.replay.untars == Bytes{27'200'000'000});  // 8 x 3.4 GB
  double first = 0, second = 0;
  for (const Expectation& x : e.expectations) {
    if (!x.metric.ends_with("elapsed_s") || !x.metric.starts_with("untar")) continue;
    (x.source.ends_with("first series") ? first : second) += *x.value;
  }
  // The fact sheet's sums: 243.3 s and 172.5 s. (The rounded entries of the second series add up to 172.71.)
  CHECK(first == Approx(243.3).margin(0.1));
  CHECK(second == Approx(172.6).margin(0.2));
}

TEST_CASE("experiments: README.md has the table of keys as it is", "[workload][experiment]") {
  const fs::path readme = fs::path{SPILLWAY_SOURCE_DIR} / "experiments" / "README.md";
  const std::string begin = "<!-- keys: made by `spillway keys --markdown` -->\n", end = "<!-- end of keys -->\n";
  std::string text = read_file(readme).value();
  const std::size_t from = text.find(begin), to = text.find(end);
  REQUIRE(from != std::string::npos);
  REQUIRE(to != std::string::npos);
  if (std::getenv("SPILLWAY_UPDATE_GOLDEN") != nullptr) {
    text.replace(from + begin.size(), to - from - begin.size(), keys_markdown());
    REQUIRE(write_file_atomically(readme, text));
    return;
  }
  INFO("SPILLWAY_UPDATE_GOLDEN=1 writes the table anew");
  CHECK(text.substr(from + begin.size(), to - from - begin.size()) == keys_markdown());
}
