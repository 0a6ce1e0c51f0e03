#include "tests/support/skip.hpp"
#include "workload/experiment/parse.hpp"
#include "workload/kernel/kernel_box.hpp"
#include "workload/record/record_io.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <unistd.h>

using namespace spillway;

namespace {

namespace fs = std::filesystem;

// 160 MB through a limit of 60 MB at 20 MiB/s.
constexpr const char* kSmall = R"(title = "small"
[archive]
seed = 3
files = 200
bytes = "20MB"
[replay]
untars = 8
[memory]
dirty_bytes = "60MB"
dirty_background_bytes = "30MB"
[filesystem]
mount_options = ["inode64"]
)";
constexpr const char* kLimit = "[device]\nrate = \"20MiB/s\"\n";
constexpr const char* kArray = "[device]\nmodel = \"raid0\"\ndisks = 4\nrate = \"20MB/s\"\nvolatile_cache = false\n";

std::string read_text(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

Record run(Box& box, const Case& item, const fs::path& dir) {
  fs::create_directories(dir);
  RepeatContext context;
  context.dir = dir;
  auto record = box.run(item, context);
  if (!record) FAIL(record.error().what);
  return std::move(*record);
}

std::string comparable(Record record) {
  record.host = {};
  return to_json(record).dump();
}

// False when this box cannot (said by skip).
bool runs_and_repeats(const std::string& device) {
  const auto box = kernel::make_kernel_box("");
  const auto file = parse_experiment(std::string(kSmall) + device, "small.toml");
  if (!file) FAIL(file.error().what);
  if (const auto ready = box->check(file->cases.front()); !ready) {
    test::skip(ready.error().what);
    return false;
  }
  const auto dir = fs::temp_directory_path() / fmt::format("spillway-kernel-box-{}", getpid());
  const auto first = run(*box, file->cases.front(), dir / "1");
  const auto second = run(*box, file->cases.front(), dir / "2");
  CHECK(comparable(first) == comparable(second));
  for (const char* name : {"timeline.csv", "bdp.csv", "ratelimit.csv"}) {
    CAPTURE(name);
    CHECK(read_text(dir / "1" / name) == read_text(dir / "2" / name));
    CHECK(read_text(dir / "1" / name).size() > 200);
  }
  REQUIRE(first.untars.size() == 8);
  for (const auto& untar : first.untars) {
    CHECK(untar.exit_status == 0);
    CHECK(untar.bytes == first.untars.front().bytes);
    CHECK(untar.account.total_s() == Approx(untar.elapsed_s));
  }
  // The first is free (20 of 45 MB), the last is throttled, and pauses of its process are in the trace.
  CHECK(first.untars.front().account.throttled_s < 0.1 * first.untars.front().elapsed_s);
  CHECK(first.untars.back().account.throttled_s > 0.7 * first.untars.back().elapsed_s);
  CHECK(first.untars.back().pauses > 0);
  fs::remove_all(dir);
  return true;
}

}  // namespace

TEST_CASE("kernel box: a limited loop under a real kernel repeats to the byte, and the data takes what its rate says", "[workload][kernel][long]") {
  if (!runs_and_repeats(kLimit)) return;
  const auto box = kernel::make_kernel_box("");
  const auto file = parse_experiment(std::string(kSmall) + kLimit, "small.toml");
  const auto dir = fs::temp_directory_path() / fmt::format("spillway-kernel-rate-{}", getpid());
  const auto record = run(*box, file->cases.front(), dir);
  // 160 MB at 20 MiB/s is 7.6 s; metadata, log and the throttle's first slices add a little.
  CHECK(record.durable_s == Approx(160e6 / (20.0 * kMiB)).epsilon(0.06));
  fs::remove_all(dir);
}

TEST_CASE("kernel box: a device model of the simulator stands under a real kernel, and that repeats too", "[workload][kernel][long]") { runs_and_repeats(kArray); }
