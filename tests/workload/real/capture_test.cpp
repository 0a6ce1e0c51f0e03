/// Boxes described by pasted files. The folders under data/captures were written by hand in the formats of the programs
/// that they are named after, so every expected value can be read off them.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/support/temp_dir.hpp"
#include "workload/experiment/parse.hpp"
#include "workload/real/capture/box_facts.hpp"
#include "workload/real/capture/profile_text.hpp"
#include "workload/simulated/box.hpp"
#include "workload/simulated/profile.hpp"

namespace spillway::real {
namespace {

BoxFacts pasted(const std::string& name) {
  const auto texts = read_pasted_texts(std::filesystem::path{SPILLWAY_TEST_DATA} / "captures" / name);
  if (!texts) FAIL(texts.error().what);
  return facts_of(*texts);
}

bool mentions(const std::vector<std::string>& sentences, std::string_view words) {
  return std::ranges::any_of(sentences, [&](const std::string& sentence) { return sentence.contains(words); });
}

/// The facts as files, the experiment read back from them.
ExperimentFile written(const BoxFacts& facts, const std::filesystem::path& folder) {
  std::ofstream{folder / "profile.toml"} << profile_text(facts, "box");
  std::ofstream{folder / "experiment.toml"} << experiment_text(facts, "box", "profile.toml");
  auto file = load_experiment((folder / "experiment.toml").string(), {});
  if (!file) FAIL(file.error().what);
  return *std::move(file);
}

}  // namespace

TEST_CASE("capture: pasted files of a server with an md array say what they say", "[real][capture]") {
  const BoxFacts facts = pasted("raid-server");
  CHECK(facts.kernel == "5.10.0");
  CHECK(facts.cpus == 16);
  CHECK(facts.numa_nodes == 2);
  CHECK(facts.ram_bytes == 65'869'148LL * 1024);
  CHECK(facts.vm.at("dirty_bytes") == 4'000'000'000);
  CHECK(facts.vm.at("dirty_background_ratio") == 5);
  CHECK(facts.mount_source == "/dev/md0");  // the XFS, not the root
  CHECK(facts.mount_point == "/srv");
  REQUIRE(facts.xfs);
  CHECK(facts.xfs->agcount == 32);
  CHECK(facts.xfs->stripe_unit_bytes == 128 * 4096);
  CHECK(facts.xfs->stripe_width_bytes == 1280 * 4096);
  CHECK(facts.xfs->log_bytes == 521728LL * 4096);
  CHECK(facts.xfs->features.at("reflink"));
  CHECK_FALSE(facts.xfs->features.at("rmapbt"));
  CHECK_FALSE(facts.xfs->external_log);
  REQUIRE(facts.array);
  CHECK(facts.array->level == "raid6");
  CHECK(facts.array->disks == 12);
  CHECK(facts.array->chunk_bytes == 512 * 1024);
  REQUIRE(facts.stack.size() == 4);
  CHECK(facts.stack[0].scheduler == "mq-deadline");
  CHECK(facts.stack[0].requests == 256);
  CHECK(facts.stack[1].name == "md0");
  CHECK(facts.stack[1].scheduler.empty());  // an empty cell moves nothing to its left
  CHECK(facts.stack[1].requests == 128);
  CHECK(facts.stack[1].optimal_io_bytes == 5'242'880);
  CHECK(facts.tuned_profile == "throughput-performance");
  // HZ and the queue were not pasted, and that is said with what follows from it.
  CHECK(mentions(facts.missing, "config is missing"));
  CHECK(mentions(facts.missing, "queue is missing"));
  CHECK_FALSE(mentions(facts.missing, "xfs_info"));
}

TEST_CASE("capture: what is missing is named, what is not used too", "[real][capture]") {
  const BoxFacts facts = pasted("sparse");
  CHECK(facts.mount_point == "/data");
  CHECK_FALSE(facts.kernel);
  for (const char* name : {"uname", "config", "lscpu", "sysctl", "xfs_info", "lsblk", "queue"}) {
    CAPTURE(name);
    CHECK(mentions(facts.missing, fmt::format("{} is missing (from `", name)));
  }
  CHECK(mentions(facts.missing, "notes.txt: not used"));
  const test::TempDir folder{"capture"};
  CHECK_FALSE(read_pasted_texts(folder.path));
  CHECK_FALSE(read_pasted_texts(folder.path / "nowhere"));
}

TEST_CASE("capture: the profile is one that the simulated box takes, and the experiment runs on it", "[real][capture]") {
  const test::TempDir folder{"capture"};
  for (const char* name : {"raid-server", "sparse"}) {
    CAPTURE(name);
    const BoxFacts facts = pasted(name);
    const auto profile = simulated::parse_profile(profile_text(facts, name), name);
    if (!profile) FAIL(profile.error().what);
    CHECK(profile->ram.value() == facts.ram_bytes);
    if (facts.vm.contains("dirty_bytes")) {
      CHECK(profile->dirty.dirty_bytes.value() == 4'000'000'000);
      CHECK(profile->dirty.background_ratio == 5);
      CHECK(profile->cpu.cores == 16);
    }
    const ExperimentFile file = written(facts, folder.path);
    REQUIRE(file.cases.size() == 1);
    const Experiment& experiment = file.cases[0].experiment;
    if (facts.xfs) {
      CHECK(experiment.filesystem.su == Bytes{512 * 1024});
      CHECK(experiment.filesystem.sw == 10);
      CHECK(experiment.filesystem.agcount == 32);
    }
    CHECK(simulated::make_simulated_box({})->check(file.cases[0]));
  }
}

TEST_CASE("capture: lsblk's tree, its JSON and a list with sizes are read alike", "[real][capture]") {
  const auto table = parse_lsblk("NAME        MAJ:MIN RM   SIZE RO TYPE  MOUNTPOINTS\nnvme0n1     259:0    0 953.9G  0 disk  \n├─nvme0n1p1 259:1    0   512M  0 part  /boot\n└─nvme0n1p2 259:2    0 953.4G  0 part  /\n");
  REQUIRE(table.size() == 3);
  CHECK(table[1].name == "nvme0n1p1");
  CHECK(table[1].type == "part");
  CHECK(table[1].bytes == 512LL << 20);
  const auto json = parse_lsblk(R"({"blockdevices": [{"name":"md0","type":"raid6","size":1000,"rota":true,"sched":null,"rq-size":128,
    "children":[{"name":"sda","type":"disk","size":500,"rota":true,"sched":"bfq","rq-size":64}]}]})");
  REQUIRE(json.size() == 2);
  CHECK(json[0].type == "raid6");
  CHECK(json[0].rotational == true);
  CHECK(json[1].scheduler == "bfq");
  CHECK(json[1].bytes == 500);
  CHECK(parse_lsblk("").empty());
}

TEST_CASE("capture: a queue's settings are read below a path that has colons, and a choice is the word in brackets", "[real][capture]") {
  BoxTexts texts;
  texts.by_name["queue"] = "/sys/devices/pci0000:00/0000:00:05.0/block/sda/queue/nr_requests:256\n/sys/block/sda/queue/scheduler:none [mq-deadline] bfq\n";
  texts.by_name["mount"] = "/dev/sda1 on / type ext4 (rw,relatime)\n";
  const BoxFacts facts = facts_of(texts);
  CHECK(facts.queue.at("nr_requests") == "256");
  CHECK(facts.queue.at("scheduler") == "mq-deadline");
  CHECK(mentions(facts.missing, "the file system is ext4"));
}

TEST_CASE("capture: this box is described without a right to change it", "[real][capture]") {
  const BoxFacts facts = facts_of(read_box_texts(""));
  CHECK(facts.kernel);
  REQUIRE(facts.hz);
  const bool usual = facts.hz == 100 || facts.hz == 250 || facts.hz == 300 || facts.hz == 1000;
  CHECK(usual);
  CHECK(facts.cpus.value_or(0) > 0);
  CHECK(facts.ram_bytes.value_or(0) > 0);
  CHECK(simulated::parse_profile(profile_text(facts, "here"), "here"));
}

}  // namespace spillway::real
