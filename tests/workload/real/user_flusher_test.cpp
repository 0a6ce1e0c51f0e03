#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temp_dir.hpp"
#include "workload/real/provision/preflight.hpp"
#include "workload/real/replay/user_flusher.hpp"

namespace spillway::real {

TEST_CASE("user flushers: the policy's number, and nothing else", "[real][flusher]") {
  CHECK(user_flushers("user:4") == 4);
  for (const char* policy : {"kernel", "user:", "user:0", "user:-1", "user:4x", "cgroup:4"}) {
    CAPTURE(policy);
    CHECK_FALSE(user_flushers(policy));
  }
}

TEST_CASE("user flushers: together they ask for every file once, each for its own directories", "[real][flusher]") {
  const test::TempDir folder{"flusher"};
  std::int64_t bytes = 0;
  for (int d = 0; d < 12; ++d) {
    const auto directory = folder.path / fmt::format("t{}", d % 3) / fmt::format("d{}", d);
    std::filesystem::create_directories(directory);
    for (int f = 0; f < 5; ++f) {
      std::ofstream{directory / fmt::format("f{}", f)} << std::string(static_cast<std::size_t>(100 + f), 'x');
      bytes += 100 + f;
    }
  }
  const std::vector<std::string> folders{folder.path / "t0", folder.path / "t1", folder.path / "t2"};
  constexpr int kCount = 3;
  std::vector<UserFlusher> helpers;
  for (int i = 0; i < kCount; ++i) helpers.emplace_back(folders, i, kCount);
  UserFlusher::Pass sum;
  for (auto& helper : helpers) {
    const auto pass = helper.pass();
    sum.files += pass.files;
    sum.bytes += pass.bytes;
  }
  CHECK(sum.files == 60);
  CHECK(sum.bytes == bytes);
  // Nothing new: nothing is asked for.
  for (auto& helper : helpers) CHECK(helper.pass().files == 0);
  // A file that has grown is asked for again, by one of them.
  std::ofstream{folder.path / "t1" / "d1" / "f0", std::ios::app} << "more";
  sum = {};
  for (auto& helper : helpers) {
    const auto pass = helper.pass();
    sum.files += pass.files;
    sum.bytes += pass.bytes;
  }
  CHECK(sum.files == 1);
  CHECK(sum.bytes == 4);
}

TEST_CASE("user flushers: a directory that rests is not read again", "[real][flusher]") {
  const test::TempDir folder{"flusher"};
  std::ofstream{folder.path / "f"} << "x";
  // As if it had been written a minute ago.
  std::filesystem::last_write_time(folder.path, std::filesystem::file_time_type::clock::now() - std::chrono::minutes{1});
  UserFlusher helper{{folder.path}, 0, 1};
  CHECK(helper.pass().directories == 1);
  CHECK(helper.pass().directories == 0);
  std::ofstream{folder.path / "g"} << "x";
  CHECK(helper.pass().files == 1);
}

TEST_CASE("user flushers: what this box cannot do is refused with a sentence", "[real][flusher]") {
  Experiment experiment;
  experiment.target.kind = "mount";
  experiment.replay.flushers = "user:2";
  CHECK(check_experiment(experiment));
  for (const char* policy : {"cgroup:2", "contexts:4:ag", "per_writer"}) {
    CAPTURE(policy);
    experiment.replay.flushers = policy;
    const auto status = check_experiment(experiment);
    REQUIRE_FALSE(status);
    CHECK(status.error().kind == ErrorKind::unsupported);
    CHECK(status.error().what.contains(policy));
  }
}

}  // namespace spillway::real
