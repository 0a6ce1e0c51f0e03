#include "workload/experiment/keys.hpp"
#include "workload/experiment/parse.hpp"
#include "workload/experiment/quantity.hpp"
#include "workload/experiment/relations.hpp"
#include "workload/experiment/sweep.hpp"

#include <catch2/catch.hpp>
#include <set>

using namespace spillway;

namespace {

/// Every section, and a value for nearly every key that differs from its default.
const char* const kFull = R"(
title = "Everything"
name = "full"
question = "Does it survive?"
seed = 7
repeats = 3
order = "blocks"
[archive]
seed = 9
files = 5000
bytes = "3.4GB"
sizes = "histogram"
sigma = 1.2
min = "1KiB"
max = "1GiB"
histogram = [["4KiB", 10], ["1MiB", 0.5]]
files_per_directory = 2500
[replay]
untars = 6
at_once = 2
engine = "uring"
writers = 4
direct = "auto"
drop_behind = true
existing = "overwrite"
flushers = "contexts:4:ag"
before = ["remove", "skeleton"]
after = ["fsync_each", "sync"]
verify = true
cache = "cold"
[[job]]
name = "dd"
rw = "randrw"
bs = "4KiB"
size = "1GiB"
filesize = "1MiB"
numjobs = 10
nrfiles = 1024
iodepth = 32
ioengine = "libaio"
direct = true
fsync = 8
end_fsync = true
runtime = "1.5s"
rate = "10Mbit/s"
compute = "20us"
anonymous = "2GB"
file = "shared"
start = "2s"
rwmixread = 70
own_directory = true
[[job]]
name = "later"
size = "1MiB"
after = "dd"
[pipeline]
sources = 48
in_flight = 2
request = "32KiB"
rw = "write"
think = "3us"
requests = 1000
link_rate = "10Gbit/s"
bytes_on_link_per_byte = 1.5
scheduler_slice = "15ms"
durable_rate = "600MB/s"
link_latency = "55us"
variation = 0.25

[[pipeline.host]]
name = "client"
cpus = 12
scheduler = "cfs"
[[pipeline.stage]]
name = "fuse"
threads = 2
cpu_per_request = "12us"
cpu_ns_per_byte = 0.25
lock = "table"
lock_hold = "700ns"
pieces = 4
[[pipeline.stage]]
name = "net"
link = true
[[pipeline.stage]]
name = "disk"
device = true
blocking = true
[memory]
ram = "64GiB"
dirty_bytes = "1GB"
dirty_background_ratio = 5
dirty_expire = "30s"
dirty_writeback = "0s"
cgroup_limit = "64MiB"
[filesystem]
type = "xfs"
size = "20GB"
su = "64KiB"
sw = 12
agcount = 8
log_size = "64MiB"
external_log = true
rmapbt = true
reflink = false
finobt = true
inode_size = "1KiB"
mount_options = ["nodiratime", "allocsize=128k"]
filled = 0.5
[device]
model = "raid6"
disks = 14
member = "hdd"
chunk = "128KiB"
rate = "100MB/s"
read_rate = "120MB/s"
iops = 200
queue = "unlimited"
nr_requests = 256
write_cache = "512MiB"
volatile_cache = false
rpm = 15000
average_seek = "3.5ms"
capacity = "600GB"
stripe_cache = "16MiB"
[target]
kind = "modeled"
path = "/var/tmp"
cold = false
[box]
profile = "founding-mail"
cpus = 16
numa_nodes = 2
hz = 1000
kernel = "3.2"
completion_share = 0.25
write_bandwidth = "100MB/s"
dirty_ratelimit = "90MB/s"
dirtyable = "60GB"
foreign_dirty = "1MB"
[box.costs]
copy_us_per_page = 0.65
[box.kernel_constants]
max_pause_ms = 100
[knobs]
"/sys/block/{dev}/queue/nr_requests" = 64
"vm.swappiness" = "10"
[[sweep]]
key = "replay.at_once"
values = [1, 2]
[[sweep]]
keys = ["memory.dirty_bytes", "job[dd].bs"]
rows = [["500MB", "4KiB"], ["2GB", "8KiB"]]
[[expect]]
metric = "untar[6].elapsed_s"
op = "value"
value = 101.64
tolerance = "20%"
of = { "replay.at_once" = 1 }
box = "simulated"
source = "the founding mail"
inputs = "assumed: RAM"
[[expect]]
metric = "total.durable_s"
op = "ordered"
order = ["2000MB", "500MB"]
over = "memory.dirty_bytes"
[[expect]]
metric = "total.durable_s"
op = "unchanged"
margin = "2.5%"
of = { replay.at_once = 1 }
versus = { replay.at_once = 2 }
[[expect]]
metric = "bottleneck"
op = "bottleneck"
value = "throttled"
)";

ExperimentFile parsed(const std::string& text, const Overrides& overrides = {}) {
  auto result = parse_experiment(text, "dir/quick.toml", overrides);
  if (!result) FAIL(result.error().what);
  return *std::move(result);
}

}  // namespace

TEST_CASE("experiment: an empty file is the defaults", "[workload][experiment]") {
  const ExperimentFile file = parsed("");
  REQUIRE(file.cases.size() == 1);
  const Experiment& e = file.cases[0].experiment;
  CHECK(e.name == "quick");
  CHECK(e.folder == "dir");
  CHECK(e.has_replay);
  CHECK(e.replay.untars == ReplaySpec{}.untars);
  CHECK(e.archive.bytes == ArchiveSpec{}.bytes);
  CHECK_FALSE(e.memory.dirty_bytes);
  CHECK(file.cases[0].folder == "case");
  CHECK(file.cases[0].keys.empty());
  CHECK(file.warnings.empty());
}

TEST_CASE("experiment: every section is read", "[workload][experiment]") {
  const ExperimentFile file = parsed(kFull);
  REQUIRE(file.cases.size() == 4);
  const Experiment& e = file.cases[0].experiment;
  CHECK(e.title == "Everything");
  CHECK(e.seed == 7);
  CHECK(e.archive.bytes == Bytes{3'400'000'000});
  CHECK(e.archive.histogram.size() == 2);
  CHECK(e.archive.histogram[1].second == 0.5);
  CHECK(e.replay.at_once == 1);
  CHECK(e.replay.direct == "auto");
  CHECK(e.replay.before == std::vector<std::string>{"remove", "skeleton"});
  REQUIRE(e.jobs.size() == 2);
  CHECK(e.jobs[0].rate == BytesPerSec{1'250'000});
  CHECK(e.jobs[0].runtime == std::chrono::milliseconds{1500});
  CHECK(e.jobs[0].bs == Bytes{4096});
  CHECK(e.jobs[1].after == "dd");
  REQUIRE(e.pipeline);
  CHECK(e.pipeline->link_rate == BytesPerSec{1'250'000'000});
  REQUIRE(e.pipeline->stages.size() == 3);
  CHECK(e.pipeline->hosts.at(0).cpus == 12);
  CHECK(e.pipeline->stages[0].lock_hold == std::chrono::nanoseconds{700});
  CHECK(e.pipeline->stages[0].pieces == 4);
  CHECK(e.memory.dirty_bytes == Bytes{500'000'000});
  CHECK(e.memory.dirty_writeback == Duration{0});
  CHECK(e.filesystem.reflink == false);
  CHECK(e.filesystem.mount_options.size() == 2);
  CHECK(e.device.average_seek == std::chrono::microseconds{3500});
  CHECK(e.box.kernel == "3.2");
  REQUIRE(e.box.costs.size() == 1);
  CHECK(e.box.costs[0] == std::pair<std::string, double>{"copy_us_per_page", 0.65});
  CHECK(e.box.kernel_constants == std::vector<std::pair<std::string, double>>{{"max_pause_ms", 100}});
  REQUIRE(e.knobs.size() == 2);
  CHECK(e.knobs[0] == std::pair<std::string, std::string>{"/sys/block/{dev}/queue/nr_requests", "64"});
  REQUIRE(e.expectations.size() == 4);
  CHECK(e.expectations[0].value == 101.64);
  CHECK(e.expectations[0].tolerance == 0.2);
  CHECK(e.expectations[0].box == ExpectBox::simulated);
  CHECK(e.expectations[0].of == CaseSelector{{"replay.at_once", "1"}});
  CHECK(e.expectations[1].order == std::vector<std::string>{"2GB", "500MB"});  // normalised
  CHECK(e.expectations[2].versus == CaseSelector{{"replay.at_once", "2"}});    // from an unquoted dotted key
  CHECK(e.expectations[2].margin == 0.025);
  CHECK(e.expectations[3].text == "throttled");
  CHECK(file.base.sweeps.size() == 2);
}

TEST_CASE("experiment: [[job]] or [pipeline] alone means no untars", "[workload][experiment]") {
  CHECK_FALSE(parsed("[[job]]\nname = \"a\"\nsize = \"1MiB\"\n").cases[0].experiment.has_replay);
  CHECK(parsed("[replay]\n[[job]]\nname = \"a\"\nsize = \"1MiB\"\n").cases[0].experiment.has_replay);
}

TEST_CASE("experiment: effective -> case -> effective is identical", "[workload][experiment]") {
  for (const std::string& text : {std::string{kFull}, std::string{}, std::string{"[[job]]\nname = \"a\"\nsize = \"1MiB\"\n"},
                                  std::string{"[archive]\npath = \"a.tar.xz\"\ndecompress = \"each\"\n"}}) {
    for (const Case& item : parsed(text).cases) {
      const auto again = case_from_effective(item.effective);
      if (!again) FAIL(again.error().what);
      CHECK(again->effective.dump() == item.effective.dump());
      CHECK(again->experiment.name == item.experiment.name);
      // and through text, as in a record
      const auto reread = nlohmann::ordered_json::parse(item.effective.dump());
      CHECK(case_from_effective(reread)->effective.dump() == item.effective.dump());
    }
  }
}

TEST_CASE("experiment: the effective experiment has every key of the table", "[workload][experiment]") {
  const auto effective = parsed(kFull).cases[0].effective;
  for (const KeyInfo& info : all_keys()) {
    if (info.section == "[[sweep]]" || info.section == "[[expect]]" || info.key.ends_with(".NAME")) continue;
    CAPTURE(info.key);
    const nlohmann::ordered_json* at = &effective;
    std::string rest = info.key;
    while (!rest.empty()) {
      const std::size_t dot = rest.find('.');
      std::string segment = rest.substr(0, dot);
      rest = dot == std::string::npos ? "" : rest.substr(dot + 1);
      const bool list = segment.ends_with("[]");
      if (list) segment.resize(segment.size() - 2);
      REQUIRE(at->contains(segment));
      at = &(*at)[segment];
      if (list) at = &(*at)[0];
    }
  }
}

TEST_CASE("experiment: a value of the full file reaches the effective experiment for every key", "[workload][experiment]") {
  // No key may be bound to another's member: the full file's values differ from the defaults.
  const auto full = parsed(kFull).cases[0].effective;
  const auto defaults = parsed("[replay]\n[[job]]\nname=\"\u00e4\"\nsize=\"2MB\"\n[[job]]\nname=\"b\"\nsize=\"2MB\"\n[pipeline]\n[[pipeline.stage]]\nname=\"x\"\n").cases[0].effective;
  const std::set<std::string> same_allowed = {"/replay/at_once", "/archive/path", "/archive/decompress", "/archive/sha256", "/pipeline/rw", "/pipeline/runtime", "/filesystem/type", "/device/member", "/job/0/after", "/job/0/continues", "/memory/dirty_ratio", "/memory/dirty_background_bytes"};
  for (const char* section : {"archive", "replay", "pipeline", "memory", "filesystem", "device", "target", "box"}) {
    for (const auto& [key, value] : full[section].items()) {
      const std::string path = std::string{"/"} + section + "/" + key;
      if (same_allowed.contains(path)) continue;
      CAPTURE(path);
      CHECK(value != defaults[section][key]);
    }
  }
  for (const auto& [key, value] : full["job"][0].items()) {
    CAPTURE(key);
    if (!same_allowed.contains("/job/0/" + key)) CHECK(value != defaults["job"][0][key]);
  }
}

TEST_CASE("experiment: sweeps multiply, the first one slowest; zipped rows stay together", "[workload][experiment]") {
  const ExperimentFile file = parsed(kFull);
  REQUIRE(file.cases.size() == 4);
  std::vector<std::string> folders;
  for (const Case& item : file.cases) folders.push_back(item.folder);
  CHECK(folders == std::vector<std::string>{"at_once=1,dirty_bytes=500MB,bs=4KiB", "at_once=1,dirty_bytes=2GB,bs=8KiB",
                                            "at_once=2,dirty_bytes=500MB,bs=4KiB", "at_once=2,dirty_bytes=2GB,bs=8KiB"});
  CHECK(file.cases[3].experiment.replay.at_once == 2);
  CHECK(file.cases[3].experiment.memory.dirty_bytes == Bytes{2'000'000'000});
  CHECK(file.cases[3].experiment.jobs[0].bs == Bytes{8192});
  CHECK(file.cases[3].experiment.jobs[1].bs == Bytes{kMiB});
  CHECK(file.cases[3].keys == CaseKeys{{"replay.at_once", "2"}, {"memory.dirty_bytes", "2GB"}, {"job[dd].bs", "8KiB"}});
  CHECK(file.cases[3].experiment.sweeps.empty());
}

TEST_CASE("experiment: --set changes the file, --sweep adds or replaces a sweep", "[workload][experiment]") {
  const std::string text = "[memory]\ndirty_bytes = \"1GB\"\n[replay]\nuntars = 4\n[[sweep]]\nkey = \"replay.at_once\"\nvalues = [1, 2, 4]\n";
  SECTION("plain values need no quotes") {
    const auto file = parsed(text, {.set = {"archive.bytes=100MB", "replay.engine=posix", "replay.direct=auto", "replay.before=remove,skeleton",
                                            "box.kernel=6.1", "knobs.vm.swappiness=5", "box.costs.copy_us_per_page=0.5", "box.kernel_constants.ratelimit_step=64", "title=a = b"}, .sweep = {}});
    const Experiment& e = file.cases[0].experiment;
    CHECK(e.archive.bytes == Bytes{100'000'000});
    CHECK(e.replay.engine == "posix");
    CHECK(e.replay.direct == "auto");
    CHECK(e.replay.before == std::vector<std::string>{"remove", "skeleton"});
    CHECK(e.box.kernel == "6.1");
    CHECK(e.knobs == std::vector<std::pair<std::string, std::string>>{{"vm.swappiness", "5"}});
    CHECK(e.box.costs == std::vector<std::pair<std::string, double>>{{"copy_us_per_page", 0.5}});
    CHECK(e.box.kernel_constants == std::vector<std::pair<std::string, double>>{{"ratelimit_step", 64}});
    CHECK(e.title == "a = b");
    CHECK(file.cases.size() == 3);
  }
  SECTION("one form of the limit replaces the other, as in the kernel") {
    const auto file = parsed(text, {.set = {"memory.dirty_ratio=20"}, .sweep = {}});
    CHECK(file.cases[0].experiment.memory.dirty_ratio == 20);
    CHECK_FALSE(file.cases[0].experiment.memory.dirty_bytes);
  }
  SECTION("unset takes a key out") {
    CHECK_FALSE(parsed(text, {.set = {"memory.dirty_bytes=unset"}, .sweep = {}}).cases[0].experiment.memory.dirty_bytes);
  }
  SECTION("a real archive replaces a made one") {
    const auto file = parsed("[archive]\nfiles = 10\nbytes = \"1MB\"\n", {.set = {"archive.path=a.tar"}, .sweep = {}});
    CHECK(file.cases[0].experiment.archive.path == "a.tar");
  }
  SECTION("--set pins a swept key and the case keeps its name") {
    const auto file = parsed(text, {.set = {"replay.at_once=2"}, .sweep = {}});
    REQUIRE(file.cases.size() == 1);
    CHECK(file.cases[0].folder == "at_once=2");
    CHECK(file.cases[0].experiment.replay.at_once == 2);
  }
  SECTION("--sweep replaces the values of a swept key and adds a new one") {
    const auto file = parsed(text, {.set = {}, .sweep = {"replay.at_once=1,4", "memory.dirty_bytes=250MB,unset"}});
    REQUIRE(file.cases.size() == 4);
    CHECK(file.cases[1].folder == "at_once=1,dirty_bytes=unset");
    CHECK_FALSE(file.cases[1].experiment.memory.dirty_bytes);
    CHECK(file.cases[2].experiment.replay.at_once == 4);
  }
  SECTION("a swept ratio replaces the bytes of the file") {
    const auto file = parsed(text, {.set = {}, .sweep = {"memory.dirty_ratio=10,20"}});
    CHECK(file.cases.at(0).experiment.memory.dirty_ratio == 10);
    CHECK_FALSE(file.cases.at(0).experiment.memory.dirty_bytes);
  }
  SECTION("lists in a sweep use brackets or +") {
    const auto file = parsed(text, {.set = {}, .sweep = {"replay.before=[],[\"remove\"],remove+skeleton"}});
    REQUIRE(file.cases.size() == 9);
    CHECK(file.cases[0].experiment.replay.before.empty());
    CHECK(file.cases[2].experiment.replay.before == std::vector<std::string>{"remove", "skeleton"});
    CHECK(file.cases[2].folder == "at_once=1,before=remove+skeleton");
  }
}

TEST_CASE("experiment: a background limit that the kernel would halve is a warning", "[workload][experiment]") {
  const auto file = parsed("[memory]\ndirty_bytes = \"500MB\"\ndirty_background_bytes = \"500MB\"\n");
  REQUIRE(file.warnings.size() == 1);
  CHECK(file.warnings[0] == "quick.toml, line 3: memory.dirty_background_bytes = 500MB is not below memory.dirty_bytes = 500MB: the kernel will use half the limit, 250MB");
  CHECK(parsed("[memory]\ndirty_bytes = \"500MB\"\ndirty_background_bytes = \"499MB\"\n").warnings.empty());
}

TEST_CASE("experiment: what no box can run yet is not refused here", "[workload][experiment]") {
  CHECK(parse_experiment("[replay]\nflushers = \"contexts:12:ag\"\n[filesystem]\ntype = \"btrfs\"\n[device]\nmodel = \"raid10\"\ndisks = 8\n[target]\nkind = \"loop\"\n", "x.toml"));
}

TEST_CASE("experiment: folder names are short, safe and different", "[workload][experiment]") {
  CHECK(case_folder({{"memory.dirty_bytes", "1GB"}}) == "dirty_bytes=1GB");
  CHECK(case_folder({{"archive.seed", "1"}, {"seed", "2"}}) == "archive.seed=1,seed=2");
  CHECK(case_folder({{"job[a].size", "1MB"}, {"job[b].size", "2MB"}}).find("~") != std::string::npos);
  const CaseKeys slashes = {{"archive.path", "/tmp/a b.tar"}}, others = {{"archive.path", "-tmp-a_b.tar"}};
  CHECK(case_folder(slashes) != case_folder(others));
  CHECK(case_folder(slashes).find('/') == std::string::npos);
  CaseKeys many;
  for (int i = 0; i < 10; ++i) many.emplace_back("device.some_long_key_" + std::to_string(i), "1234567890");
  const std::string folder = case_folder(many);
  CHECK(folder.size() <= 80);
  many.back().second = "1234567891";
  CHECK(case_folder(many) != folder);
  CHECK(case_folder({{"knobs./sys/block/{dev}/queue/nr_requests", "64"}}) == "nr_requests=64");
}

TEST_CASE("quantity: what is printed reads back exactly", "[workload][experiment][quantity]") {
  CHECK(size_text(Bytes{3'400'000'000}) == "3.4GB");
  CHECK(size_text(Bytes{64 * kKiB}) == "64KiB");
  CHECK(size_text(Bytes{40 * kMiB}) == "40MiB");
  CHECK(size_text(Bytes{41943041}) == "41943041B");
  CHECK(size_text(Bytes{0}) == "0B");
  CHECK(rate_text(BytesPerSec{40'000'000}) == "40MB/s");
  CHECK(time_text(Duration{1'500'000'000}) == "1.5s");
  CHECK(time_text(std::chrono::seconds{90}) == "90s");
  CHECK(time_text(std::chrono::hours{2}) == "2h");
  CHECK(percent_text(0.2) == "20%");
  CHECK(percent_text(0.025) == "2.5%");
  CHECK(read_size("1.5KiB").value() == Bytes{1536});
  CHECK(read_size("  7 MB ").value() == Bytes{7'000'000});
  CHECK(read_rate("10Gbit/s").value() == BytesPerSec{1'250'000'000});
  std::uint64_t x = 12345;
  for (int i = 0; i < 20'000; ++i) {
    x = x * 6364136223846793005ULL + 1442695040888963407ULL;
    const auto n = static_cast<std::int64_t>(x >> (1 + i % 62));
    if (read_size(size_text(Bytes{n})).value() != Bytes{n}) FAIL("size " << n << " prints as " << size_text(Bytes{n}));
    if (read_time(time_text(Duration{n})).value() != Duration{n}) FAIL("time " << n);
    if (read_rate(rate_text(BytesPerSec{n})).value() != BytesPerSec{n}) FAIL("rate " << n);
  }
}

TEST_CASE("flushers: the syntax", "[workload][experiment]") {
  CHECK(parse_flushers("kernel")->kind == Flushers::Kind::kernel);
  CHECK(parse_flushers("user:4")->count == 4);
  CHECK(parse_flushers("contexts:12:ag")->binding == Flushers::Binding::ag);
  CHECK(parse_flushers("per_writer")->kind == Flushers::Kind::per_writer);
  for (const char* wrong : {"", "user", "user:", "user:x", "user:4:hash", "contexts:4:foo", "contexts:4:ag:1", "kernel:1", "cgroup:5000"}) {
    CAPTURE(wrong);
    CHECK_FALSE(parse_flushers(wrong));
  }
}

TEST_CASE("keys: the table documents every key once", "[workload][experiment]") {
  std::set<std::string> seen;
  for (const KeyInfo& info : all_keys()) {
    CHECK(seen.insert(info.key).second);
    CHECK_FALSE(info.meaning.empty());
    CHECK_FALSE(info.kind.empty());
  }
  CHECK(find_key("memory.dirty_bytes")->kind == "size");
  CHECK(find_key("job[dd].size"));
  CHECK(find_key("pipeline.stage[2].threads"));
  CHECK_THAT(keys_text(), Catch::Contains("dirty_bytes") && Catch::Contains("[[pipeline.stage]]"));
  CHECK_THAT(keys_markdown(), Catch::Contains("| `dirty_bytes` | size |") && Catch::Contains("`untar[K\\|first\\|last\\|all].elapsed_s`"));
  CHECK(normalised_text("memory.dirty_bytes", "1000MB").value() == "1GB");
}
