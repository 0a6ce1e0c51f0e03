#include "workload/experiment/parse.hpp"
#include "workload/simulated/translate.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace spillway;
using namespace spillway::simulated;

namespace {

Case case_of(const std::string& text) {
  auto file = parse_experiment(text, "t.toml");
  if (!file) FAIL(file.error().what);
  return file->cases.at(0);
}

std::shared_ptr<const sim::FileCatalogue> some_files() {
  auto files = std::make_shared<sim::FileCatalogue>();
  files->files.push_back({Bytes{1'000'000}, 0});
  return files;
}

Translation translated(const std::string& text, const std::optional<Record>& like = std::nullopt) {
  auto t = translate(case_of(text), some_files(), like, 1);
  if (!t) FAIL(t.error().what);
  return *std::move(t);
}

}  // namespace

TEST_CASE("translate: the catalogue's directories and files", "[workload][simulated]") {
  Catalogue catalogue;
  const auto add = [&](const char* path, EntryType type, std::int64_t size, std::int64_t stored) {
    CatalogueEntry e;
    e.path = path;
    e.type = type;
    e.size = Bytes{size};
    e.stored = Bytes{stored};
    catalogue.entries.push_back(e);
  };
  add("top", EntryType::directory, 0, 0);
  add("top/a", EntryType::file, 10, 10);
  add("top/empty", EntryType::directory, 0, 0);
  add("new/b", EntryType::file, 1000, 400);  // its directory is not listed; sparse
  add("top/link", EntryType::symlink, 0, 0);
  add("c", EntryType::file, 5, 5);
  const auto files = file_catalogue(catalogue);
  CHECK(files->directories == 4);
  REQUIRE(files->files.size() == 3);
  CHECK(files->files[0].directory == 0);
  CHECK(files->files[1].directory == 2);
  CHECK(files->files[1].size == Bytes{400});
  CHECK(files->files[2].directory == 3);
  CHECK(files->bytes() == Bytes{415});
}

TEST_CASE("translate: each form of the dirty limits clears the other", "[workload][simulated]") {
  const auto bytes = translated("[memory]\ndirty_bytes = \"1GB\"\ndirty_background_bytes = \"500MB\"\n").inputs.memory.dirty;
  CHECK(bytes.dirty_bytes == Bytes{kGB});
  CHECK(bytes.background_bytes == Bytes{500 * kMB});
  const auto ratio = translated("[memory]\ndirty_ratio = 40\ndirty_background_ratio = 5\n").inputs.memory.dirty;
  CHECK(ratio.dirty_bytes == Bytes{0});
  CHECK(ratio.dirty_ratio == 40);
  CHECK(ratio.background_ratio == 5);
  const auto profile = translated("").inputs.memory.dirty;
  CHECK(profile.dirty_ratio == 20);
}

TEST_CASE("translate: geometry and mount options, as the founding mail has them", "[workload][simulated]") {
  const auto fs = translated("[filesystem]\nsize = \"20GiB\"\nagcount = 8\nlog_size = \"128MiB\"\nmount_options = [\"nodiratime\", \"swalloc\", \"largeio\", \"inode64\", \"allocsize=128k\", \"logbsize=256k\", \"sunit=128\", \"swidth=1536\"]\n").inputs.filesystem;
  CHECK(fs.allocation_groups == 8);
  CHECK(fs.log_size == Bytes{128 * kMiB});
  CHECK(fs.swalloc);
  CHECK(fs.largeio);
  CHECK(fs.allocsize == Bytes{128 * kKiB});
  CHECK(fs.log_buffer == Bytes{256 * kKiB});
  CHECK(fs.stripe_unit == Bytes{64 * kKiB});
  CHECK(fs.stripe_width == Bytes{768 * kKiB});
  const auto mkfs = translated("[filesystem]\nsu = \"64KiB\"\nsw = 12\n").inputs.filesystem;
  CHECK(mkfs.stripe_width == Bytes{768 * kKiB});
  CHECK_FALSE(mkfs.swalloc);
}

TEST_CASE("translate: what mkfs chooses where [filesystem] says nothing", "[workload][simulated]") {
  const auto plain = translated("[filesystem]\nsize = \"4TiB\"\n").inputs.filesystem;
  CHECK(plain.model == sim::FilesystemInputs::Model::full);
  CHECK(plain.allocation_groups == 0);  // mkfs's: decided by sim/xfs/geometry.hpp
  CHECK(plain.log_size == Bytes{2 * kGiB - 4096});  // 4 TiB / 2048 is the most
  CHECK(plain.log_buffer == Bytes{32 * kKiB});
  // The log has the data's stripe unit, and buffers no smaller.
  const auto striped = translated("[filesystem]\nsize = \"20GiB\"\nsu = \"64KiB\"\nsw = 12\n").inputs.filesystem;
  CHECK(striped.log_buffer == Bytes{64 * kKiB});
  const auto all = translated("[filesystem]\nsize = \"20GiB\"\nexternal_log = true\ninode_size = \"1KiB\"\nrmapbt = true\nreflink = false\nfilled = 0.5\nmount_options = [\"inode32\", \"logbufs=4\"]\n");
  CHECK(all.inputs.filesystem.external_log);
  CHECK(all.inputs.filesystem.inode_size == Bytes{1024});
  CHECK(all.inputs.filesystem.rmapbt);
  CHECK_FALSE(all.inputs.filesystem.reflink);
  CHECK(all.inputs.filesystem.filled == 0.5);
  CHECK_FALSE(all.inputs.filesystem.inode64);
  CHECK(all.inputs.filesystem.log_buffers == 4);
  // 20 GiB of 1 KiB inodes are far below 2^32.
  CHECK(std::any_of(all.notes.begin(), all.notes.end(), [](const std::string& n) { return n.starts_with("inode32 changes nothing"); }));
}

TEST_CASE("translate: file systems that the model does not have are refused with a sentence", "[workload][simulated]") {
  const auto refused = [](const std::string& keys) {
    FilesystemSpec spec = case_of("[filesystem]\n" + keys).experiment.filesystem;
    const auto in = filesystem_inputs(spec, Bytes{kGB});
    REQUIRE_FALSE(in);
    return in.error().what;
  };
  CHECK(refused("mount_options = [\"usrquota\"]\n") == "the simulated box has no file system that has quotas: take \"usrquota\" out of filesystem.mount_options");
  CHECK(refused("mount_options = [\"no-such-thing\"]\n").starts_with("the simulated box does not know the mount option \"no-such-thing\""));
  CHECK(refused("mount_options = [\"sunit=128\"]\n").find("go together") != std::string::npos);
  CHECK(refused("size = \"20GiB\"\nsu = \"64KiB\"\nsw = 12\nmount_options = [\"logbsize=32k\"]\n").find("smaller than the log's stripe unit") != std::string::npos);
  CHECK(refused("size = \"1GiB\"\nagcount = 64\nlog_size = \"64MiB\"\n").find("does not fit into an allocation group") != std::string::npos);
}

TEST_CASE("translate: a limit behind a bounded or in front of an unlimited queue, or none", "[workload][simulated]") {
  using Kind = sim::DeviceInputs::Kind;
  CHECK(translated("[device]\nrate = \"40MB/s\"\n").inputs.device.kind == Kind::stacked);
  CHECK(translated("[device]\nrate = \"40MB/s\"\n").inputs.device.write_rate == BytesPerSec{40 * kMB});
  CHECK(translated("[device]\nrate = \"40MB/s\"\nqueue = \"unlimited\"\n").inputs.device.kind == Kind::throttled);
  const auto none = translated("");
  CHECK(none.inputs.device.kind == Kind::fixed);
  REQUIRE(none.notes.size() == 1);
  CHECK(none.notes[0] == "device.rate is not given: the disk itself is taken as 1.9GB/s");
  CHECK(translated("[device]\nrate = \"40MB/s\"\n[knobs]\n\"/sys/block/{dev}/queue/nr_requests\" = 8\n").inputs.device.queue_depth == 8);
}

TEST_CASE("translate: [device] is the model under the block layer, with the queue that such a device has", "[workload][simulated]") {
  using Kind = sim::DeviceInputs::Kind;
  using sim::device::Model;
  const auto disk = translated("[device]\nmodel = \"hdd\"\n").inputs.device;
  CHECK(disk.kind == Kind::model);
  CHECK(disk.model->model == Model::hdd);
  CHECK(disk.queue_depth == 128);
  CHECK(disk.wbt);
  // The kernel's own RAID has the queues of its members and no wbt; behind a controller's cache it is one disk.
  const std::string array = "[device]\nmodel = \"raid6\"\ndisks = 14\nchunk = \"64KiB\"\n";
  const auto md = translated(array).inputs.device;
  CHECK(md.queue_depth == 14 * 128);
  CHECK_FALSE(md.wbt);
  const auto controller = translated(array + "write_cache = \"512MiB\"\n").inputs.device;
  CHECK(controller.model->model == Model::write_cache);
  CHECK(controller.queue_depth == 128);
  CHECK(controller.wbt);
  // blk-wbt came with 4.10, larger requests with 6.13.
  const auto old = translated(array + "write_cache = \"512MiB\"\n[box]\nkernel = \"3.2\"\n").inputs.device;
  CHECK_FALSE(old.wbt);
  CHECK(old.max_request == Bytes{512 * kKiB});
  CHECK(translated("[device]\nmodel = \"nvme\"\n[box]\nkernel = \"6.18\"\n").inputs.device.max_request == Bytes{4 * kMiB});
  const Status none = can_simulate(case_of("[device]\nwrite_cache = \"1GiB\"\n").experiment);
  CHECK(none);
  const auto cached = translate(case_of("[device]\nwrite_cache = \"1GiB\"\n"), some_files(), std::nullopt, 1);
  CHECK_FALSE(cached);  // a cache in front of a limit without a rate
}

TEST_CASE("translate: the state before the run, from [box] or from a record, is all that a record gives", "[workload][simulated]") {
  const std::string text = "[memory]\ndirty_bytes = \"1GB\"\ndirty_background_bytes = \"500MB\"\n";
  // A new device has no completions of its own; those of others before it are not known.
  CHECK(translated(text).unknown_state == std::vector<std::string>{"completions of other devices"});
  CHECK(translated(text).inputs.before.device_completions == 0);
  CHECK(translated(text).inputs.before.global_completions == 25'000);
  CHECK(translated(text + "[target]\ncold = false\n").unknown_state == std::vector<std::string>{"completion share"});
  CHECK(translated("").unknown_state == std::vector<std::string>{"completions of other devices", "dirtyable memory"});

  const auto told = translated(text + "[box]\ncompletion_share = 0.25\nwrite_bandwidth = \"40960kB/s\"\nforeign_dirty = \"4096kB\"\n").inputs.before;
  CHECK(told.avg_write_bandwidth == BytesPerSec{40'960'000});
  CHECK(told.foreign_dirty == Bytes{4'096'000});
  CHECK(static_cast<double>(told.device_completions) / static_cast<double>(told.global_completions) == Approx(0.25).margin(1e-3));

  Record like;
  like.box = {.kind = "real", .name = "", .kernel = "6.1.0-57-amd64", .hz = 250, .cpus = 3, .numa_nodes = 1, .ram_bytes = 8 * kGiB, .device = "", .target = "loop", .profile = {}, .environment = {}};
  like.state_before.dirty_ratelimit_pages_per_s = 10'000;
  like.state_before.completion_share = 1.0;
  like.state_before.completion_phase_s = 1.0;
  like.untars.resize(8);
  like.untars[7].elapsed_s = 1234;  // must not matter
  const auto t = translated(text, like);
  CHECK(t.inputs.cpu.cores == 3);
  CHECK(t.inputs.memory.ram == Bytes{8 * kGiB});
  CHECK(t.inputs.before.dirty_ratelimit == BytesPerSec{40'960'000});
  CHECK(t.inputs.before.next_halving == std::chrono::seconds{2});
  CHECK(t.profile.described["box"]["cpus"]["mark"] == "measured");
  CHECK(t.unknown_state.empty());

  // Settings that the experiment leaves "as the box has them" are the record's.
  like.box.environment["vm"] = {{"dirty_bytes", "0"}, {"dirty_ratio", "35"}, {"dirty_background_bytes", "123000000"}, {"dirty_background_ratio", "0"}, {"dirty_expire_centisecs", "1500"}};
  const auto as_there = translated("", like).inputs.memory;
  CHECK(as_there.dirty.dirty_bytes == Bytes{0});
  CHECK(as_there.dirty.dirty_ratio == 35);
  CHECK(as_there.dirty.background_bytes == Bytes{123'000'000});
  CHECK(as_there.dirty_expire == std::chrono::seconds{15});
  CHECK(translated(text, like).inputs.memory.dirty.dirty_bytes == Bytes{kGB});
}

TEST_CASE("translate: replay.flushers says who writes back", "[workload][simulated]") {
  using Kind = sim::FlusherInputs::Kind;
  using Affinity = sim::FlusherInputs::Affinity;
  const auto flushers = [](const std::string& value, const std::string& more = "") { return translated("[replay]\nflushers = \"" + value + "\"\n" + more).inputs.flushers; };
  CHECK(flushers("kernel").kind == Kind::kernel);
  CHECK(flushers("kernel").contexts() == 1);
  CHECK(flushers("user:4").kind == Kind::user);
  CHECK(flushers("user:4").contexts() == 1);  // four helpers beside the kernel's one flusher
  CHECK(flushers("user:4").count == 4);
  CHECK(flushers("contexts:12:ag").affinity == Affinity::allocation_group);
  CHECK(flushers("contexts:12:hash").affinity == Affinity::inode);
  CHECK(flushers("contexts:12:hash").contexts() == 12);
  CHECK(flushers("per_writer").kind == Kind::per_writer);
  const std::string limit = "[memory]\ncgroup_limit = \"64MiB\"\n";
  CHECK(flushers("cgroup:3", limit).cgroup_limit == Bytes{64 * kMiB});
  CHECK(flushers("cgroup:3", limit).contexts() == 3);
  // A limit alone: the untars are in one cgroup, which has a flusher of its own.
  CHECK(flushers("kernel", limit).kind == Kind::cgroup);
  CHECK(flushers("kernel", limit).contexts() == 1);
}

TEST_CASE("translate: what the simulated box cannot do is said with exit 77, never guessed", "[workload][simulated]") {
  const auto [text, sentence] = GENERATE(table<std::string, std::string>({
      {"[[job]]\nname = \"a\"\nsize = \"1MiB\"\nioengine = \"mmap\"\n", "the simulated box does not model writes through a mapping; take ioengine psync (job \"a\")"},
      {"[filesystem]\ntype = \"ext4\"\n", "the simulated box knows XFS only, not ext4"},
      {"[replay]\nengine = \"posix\"\ndrop_behind = true\n", "the simulated box does not know replay.drop_behind yet"},
      {"[replay]\nflushers = \"user:2\"\n[memory]\ncgroup_limit = \"64MiB\"\n", "the simulated box has cgroups with flushers = \"cgroup:N\" only, not together with \"user:2\"; leave memory.cgroup_limit out"},
  }));
  CAPTURE(text);
  const Status status = can_simulate(case_of(text).experiment);
  REQUIRE_FALSE(status);
  CHECK(status.error().what == sentence);
  CHECK(status.error().kind == ErrorKind::unsupported);
}
