#include "analysis/report/effective_toml.hpp"

#include <catch2/catch.hpp>

#include <filesystem>

#include "analysis/report/narrow_toml.hpp"
#include "workload/experiment/parse.hpp"

using namespace spillway;
using namespace spillway::analysis;

namespace {

/// The first case's effective experiment, its keys apart that speak of the whole file.
nlohmann::ordered_json of_one_case(const ExperimentFile& file) {
  nlohmann::ordered_json effective = file.cases.front().effective;
  effective.erase("expect");
  return effective;
}

}  // namespace

TEST_CASE("report: an effective experiment, written out and narrowed, is the same experiment", "[analysis][report]") {
  std::size_t files = 0;
  const std::filesystem::path root = std::filesystem::path{SPILLWAY_SOURCE_DIR} / "experiments";
  for (const auto& entry : std::filesystem::recursive_directory_iterator{root}) {
    if (entry.path().extension() != ".toml") continue;
    CAPTURE(entry.path().string());
    const auto file = load_experiment(entry.path());
    if (!file) FAIL(file.error().what);
    const auto narrow = narrow_toml(effective_toml(of_one_case(*file)));
    if (!narrow) FAIL(narrow.error().what);
    CAPTURE(*narrow);
    const auto again = parse_experiment(*narrow, entry.path());
    if (!again) FAIL(again.error().what);
    REQUIRE(again->cases.size() == 1);
    CHECK(of_one_case(*again) == of_one_case(*file));
    ++files;
  }
  CHECK(files > 0);
}
