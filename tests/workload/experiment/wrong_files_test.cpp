/// Wrong experiment files, each with the sentence that its author gets. The sentences are part of what people see, so
/// they are compared whole.

#include "workload/experiment/parse.hpp"

#include <catch2/catch.hpp>

using namespace spillway;

namespace {

struct Wrong {
  const char* text;
  const char* sentence;
};

// clang-format off
const Wrong kWrong[] = {
  // -- TOML itself, and units without quotes
  {"[archive]\nbytes = 3.4GB\n", "w.toml, line 2: 3.4GB is a number with a unit: quote it, \"3.4GB\""},
  {"[device]\nrate = 40 MB/s\n", "w.toml, line 2: 40 MB/s is a number with a unit: quote it, \"40 MB/s\""},
  {"[memory]\ndirty_expire = 30s # seconds\n", "w.toml, line 2: 30s is a number with a unit: quote it, \"30s\""},
  {"[[sweep]]\nkey = \"memory.dirty_bytes\"\nvalues = [250MB, 500MB]\n", "w.toml, line 3: 250MB is a number with a unit: quote it, \"250MB\""},
  {"[[expect]]\nmetric = \"untar[8].elapsed_s\"\ntolerance = 20%\n", "w.toml, line 3: 20% is a number with a unit: quote it, \"20%\""},
  // -- units
  {"[archive]\nbytes = 300\n", "w.toml, line 2: archive.bytes = 300 has no unit: write a size in quotes, for example \"64KiB\""},
  {"[archive]\nbytes = \"300\"\n", "w.toml, line 2: archive.bytes = \"300\" has no unit; sizes take B, kB, KiB, MB, MiB, GB, GiB, TB, TiB"},
  {"[archive]\nbytes = \"3.4gb\"\n", "w.toml, line 2: archive.bytes = \"3.4gb\" has the unknown unit \"gb\"; sizes take B, kB, KiB, MB, MiB, GB, GiB, TB, TiB (MB = 10^6, MiB = 2^20)"},
  {"[archive]\nbytes = \"lots\"\n", "w.toml, line 2: archive.bytes = \"lots\" does not begin with a number; a size such as \"64KiB\" was expected"},
  {"[archive]\nbytes = \"-1GB\"\n", "w.toml, line 2: archive.bytes = \"-1GB\" is negative; a size such as \"64KiB\" was expected"},
  {"[archive]\nbytes = \"40MB/s\"\n", "w.toml, line 2: archive.bytes = \"40MB/s\" is a rate; a size such as \"64KiB\" was expected"},
  {"[archive]\nbytes = \"99999999999TB\"\n", "w.toml, line 2: archive.bytes = \"99999999999TB\" is too large"},
  {"[device]\nrate = \"40MB\"\n", "w.toml, line 2: device.rate = \"40MB\" is not a rate; rates end in \"/s\", for example \"40MB/s\""},
  {"[device]\nrate = \"40B/s\"\n", "w.toml, line 2: device.rate = 40B/s is less than 10kB/s: is the unit right?"},
  {"[memory]\ndirty_expire = 30\n", "w.toml, line 2: memory.dirty_expire = 30 has no unit: write a time in quotes, for example \"30s\""},
  {"[memory]\ndirty_expire = \"30sec\"\n", "w.toml, line 2: memory.dirty_expire = \"30sec\" has the unknown unit \"sec\"; times take ns, us, ms, s, min, h"},
  {"[memory]\ndirty_bytes = \"5B\"\n", "w.toml, line 2: memory.dirty_bytes = 5B is less than 1MB: is the unit right?"},
  {"[memory]\nram = \"16MB\"\n", "w.toml, line 2: memory.ram = 16MB is less than 64MiB: is the unit right?"},
  // -- unknown keys
  {"[replay]\nuntar = 8\n", "w.toml, line 2: there is no key \"replay.untar\"; the nearest is \"replay.untars\""},
  {"[memory]\n\ndirty_byte = \"1GB\"\n", "w.toml, line 3: there is no key \"memory.dirty_byte\"; the nearest is \"memory.dirty_bytes\""},
  {"[replay]\ndirty_ratio = 10\n", "w.toml, line 2: there is no key \"replay.dirty_ratio\"; the nearest is \"memory.dirty_ratio\""},
  {"untars = 8\n", "w.toml, line 1: there is no key \"untars\"; the nearest is \"replay.untars\""},
  {"[archiv]\nbytes = \"1GB\"\n", "w.toml, line 1: there is no table [archiv]; the nearest is \"archive\""},
  {"[campaign]\nrepeats = 3\n", "w.toml, line 1: there is no table [campaign]; `spillway keys` lists what there is"},
  {"title = \"a\n[replay]\nuntars = 8\n", "w.toml, line 1: not TOML: a text has no closing quote before the end of its line"},
  {"[replay]\nquux_and_more_than_that = 1\n", "w.toml, line 2: there is no key \"replay.quux_and_more_than_that\"; `spillway keys` lists them"},
  {"[[job]]\nname = \"a\"\nsize = \"1MB\"\nnumjob = 2\n", "w.toml, line 4: there is no key \"job[].numjob\"; the nearest is \"job[].numjobs\""},
  {"[[expect]]\nmetrik = \"bottleneck\"\n", "w.toml, line 2: there is no key \"expect[].metrik\"; the nearest is \"expect[].metric\""},
  {"[[sweep]]\nkey = \"replay.untars\"\nvalue = [1, 2]\n", "w.toml, line 3: there is no key \"sweep[].value\"; the nearest is \"sweep[].values\""},
  // -- kinds
  {"[replay]\nuntars = \"eight\"\n", "w.toml, line 2: replay.untars should be a whole number, found \"eight\""},
  {"[replay]\nuntars = 2.5\n", "w.toml, line 2: replay.untars should be a whole number, found 2.5"},
  {"[replay]\nverify = \"yes\"\n", "w.toml, line 2: replay.verify should be true or false (without quotes), found \"yes\""},
  {"[replay]\ndirect = \"maybe\"\n", "w.toml, line 2: replay.direct should be true, false or \"auto\", found \"maybe\""},
  {"[replay]\nengine = \"posixx\"\n", "w.toml, line 2: replay.engine should be tar, bsdtar, libarchive, posix or uring, found \"posixx\"; the nearest is \"posix\""},
  {"[replay]\nbefore = \"remove\"\n", "w.toml, line 2: replay.before should be a list such as [\"a\", \"b\"], found \"remove\""},
  {"[replay]\nbefore = [\"delete\"]\n", "w.toml, line 2: replay.before should be remove or skeleton, found \"delete\""},
  {"title = 5\n", "w.toml, line 1: title should be a text in quotes, found 5"},
  {"replay = 8\n", "w.toml, line 1: replay should be a table ([replay] on a line of its own), found 8"},
  {"[[replay]]\nuntars = 8\n", "w.toml, line 1: replay is given once: write [replay], not [[replay]]"},
  {"[job]\nname = \"dd\"\n", "w.toml, line 1: job may be given several times: write [[job]], with two brackets"},
  {"[sweep]\nkey = \"replay.untars\"\n", "w.toml, line 1: sweep may be given several times: write [[sweep]], with two brackets"},
  {"[box.costs]\ncopy = \"fast\"\n", "w.toml, line 1: box.costs.copy should be a number, found \"fast\""},
  {"[archive]\nsizes = \"histogram\"\nhistogram = [[\"4KiB\", 0]]\n", "w.toml, line 3: archive.histogram has the weight 0; weights are positive"},
  // -- ranges
  {"[replay]\nuntars = 0\n", "w.toml, line 2: replay.untars = 0 leaves nothing to do without a [[job]]"},
  {"[memory]\ndirty_ratio = 120\n", "w.toml, line 2: memory.dirty_ratio = 120 is more than 100"},
  {"[filesystem]\nfilled = 1.5\n", "w.toml, line 2: filesystem.filled = 1.5 is more than 0.99"},
  {"[box]\nhz = 256\n", "w.toml, line 2: box.hz = 256 is not a timer frequency that kernels have: 100, 250, 300 or 1000"},
  {"[box]\nkernel = \"new\"\n", "w.toml, line 2: box.kernel = \"new\" is not a kernel version such as \"6.1\""},
  {"[box]\ncpus = 2\nnuma_nodes = 4\n", "w.toml, line 3: box.numa_nodes = 4 is more than box.cpus = 2"},
  // -- relations: archive
  {"[archive]\npath = \"a.tar\"\nfiles = 10\n", "w.toml, line 3: archive.files describes a made archive, but archive.path names a real one; leave one of them out"},
  {"[archive]\nsha256 = \"00\"\n", "w.toml, line 2: archive.sha256 is for a real archive, but there is no archive.path"},
  {"[archive]\npath = \"a.tar\"\nsha256 = \"00\"\n", "w.toml, line 3: archive.sha256 should be 64 hex digits (lower case), found 2 characters"},
  {"[archive]\nfiles = 10\nbytes = \"1GB\"\n", "w.toml, line 3: archive.bytes = 1GB in 10 files is 100000000 bytes a file, outside archive.min = 64B to archive.max = 8MiB"},
  {"[archive]\nmin = \"1MiB\"\nmax = \"4KiB\"\n", "w.toml, line 2: archive.min = 1MiB is more than archive.max = 4KiB"},
  {"[archive]\nsizes = \"histogram\"\n", "w.toml, line 2: archive.sizes = \"histogram\" needs archive.histogram, for example [[\"4KiB\", 10], [\"1MiB\", 1]]"},
  // -- relations: replay
  {"[replay]\nuntars = 4\nat_once = 8\n", "w.toml, line 3: replay.at_once = 8 is more than replay.untars = 4"},
  {"[replay]\ndirect = true\n", "w.toml, line 2: replay.direct = true needs replay.engine = \"posix\" or \"uring\"; tar writes through the page cache only"},
  {"[replay]\nwriters = 4\nengine = \"bsdtar\"\n", "w.toml, line 2: replay.writers = 4 needs replay.engine = \"posix\" or \"uring\"; bsdtar has one writer"},
  {"[replay]\nflushers = \"contexts:4\"\n", "w.toml, line 2: replay.flushers = \"contexts:4\" should be kernel, user:N, cgroup:N, contexts:N:hash, contexts:N:ag or per_writer"},
  {"[replay]\nflushers = \"user:0\"\n", "w.toml, line 2: replay.flushers = \"user:0\" should be kernel, user:N, cgroup:N, contexts:N:hash, contexts:N:ag or per_writer with N from 1 to 4096"},
  {"[replay]\nafter = [\"sync\", \"none\"]\n", "w.toml, line 2: replay.after has \"none\" beside other phases"},
  {"[replay]\nbefore = [\"skeleton\", \"remove\"]\n", "w.toml, line 2: replay.before removes the skeleton that it has just made; write [\"remove\", \"skeleton\"]"},
  // -- relations: jobs and pipelines
  {"[[job]]\nname = \"a\"\nrw = \"write\"\n", "w.toml, line 1: job \"a\" has neither size nor runtime, so it would not end"},
  {"[[job]]\nsize = \"1MB\"\nbs = \"4KiB\"\n", "w.toml, line 1: job[1] has no name"},
  {"[[job]]\nname = \"a\"\nsize = \"1GB\"\n[[job]]\nname = \"a\"\nsize = \"1GB\"\n", "w.toml, line 5: two jobs have the name \"a\""},
  {"[[job]]\nname = \"a\"\nsize = \"1GB\"\nafter = \"b\"\n", "w.toml, line 4: job \"a\" starts after \"b\", but there is no such job"},
  {"[[job]]\nname = \"a\"\nsize = \"1GB\"\nafter = \"b\"\n[[job]]\nname = \"b\"\nsize = \"1GB\"\nafter = \"a\"\n", "w.toml, line 4: job \"a\" waits for itself: its `after` or `continues` goes round in a circle"},
  {"[[job]]\nname = \"a\"\nsize = \"1GB\"\ncontinues = \"b\"\n", "w.toml, line 4: job \"a\" continues \"b\", but there is no such job"},
  {"[[job]]\nname = \"a\"\nsize = \"1GB\"\n[[job]]\nname = \"b\"\nsize = \"1GB\"\nafter = \"a\"\ncontinues = \"a\"\n", "w.toml, line 8: job \"b\" has both after and continues; continues starts it when that job has ended"},
  {"[[job]]\nname = \"a\"\nsize = \"4KiB\"\n", "w.toml, line 1: job \"a\": bs = 1MiB is more than size = 4KiB"},
  {"[pipeline]\nsources = 1\n", "w.toml, line 1: a pipeline needs at least one [[pipeline.stage]]"},
  {"[pipeline]\n[[pipeline.stage]]\nname = \"fuse\"\nlock_hold = \"5us\"\n", "w.toml, line 4: pipeline stage \"fuse\" has lock_hold = 5us but no lock"},
  {"[pipeline]\n[[pipeline.stage]]\nname = \"net\"\nlink = true\n", "w.toml, line 4: pipeline stage \"net\" sends over a link, but pipeline.link_rate is not given"},
  // -- relations: memory, file system, device, target, knobs
  {"[memory]\ndirty_ratio = 20\ndirty_bytes = \"1GB\"\n", "w.toml, line 2: memory.dirty_ratio and memory.dirty_bytes exclude each other, as in the kernel; leave one out"},
  {"[memory]\nram = \"1GB\"\ndirty_bytes = \"2GB\"\n", "w.toml, line 3: memory.dirty_bytes = 2GB is not below memory.ram = 1GB"},
  {"[filesystem]\nsu = \"64KiB\"\n", "w.toml, line 2: filesystem.su and filesystem.sw go together; sw is missing"},
  {"[filesystem]\nsize = \"100MB\"\n", "w.toml, line 2: filesystem.size = 100MB is too small: mkfs.xfs makes no file system below 300MiB"},
  {"[filesystem]\nmount_options = [\"noatime,largeio\"]\n", "w.toml, line 2: filesystem.mount_options has \"noatime,largeio\": give each option as a text of its own, without blanks and commas"},
  {"[device]\nmodel = \"raid5\"\ndisks = 2\n", "w.toml, line 3: device.model = \"raid5\" needs device.disks of at least 3, found 2"},
  {"[device]\ndisks = 12\n", "w.toml, line 2: device.disks = 12 needs an array: device.model = raid0, raid5, raid6, raid10 or jbod, not \"limit\""},
  {"[target]\nkind = \"device\"\n", "w.toml, line 2: target.kind = \"device\" needs target.path, the block device"},
  {"[knobs]\n\"vm.dirty_bytes\" = 5\n", "w.toml, line 1: the knob \"vm.dirty_bytes\" belongs into [memory], where both boxes see it"},
  {"[knobs]\n\"/etc/passwd\" = \"x\"\n", "w.toml, line 1: the knob \"/etc/passwd\" is neither below /sys/ or /proc/sys/ nor a sysctl name"},
  {"[knobs]\nvm.swappiness = 5\n", "w.toml, line 2: the knob \"vm\" is not one setting: a name with dots needs quotes, for example \"vm.swappiness\" = 10"},
  // -- sweeps
  {"[[sweep]]\nkey = \"memory.dirty_byte\"\nvalues = [\"1GB\"]\n", "w.toml, line 2: there is no key \"memory.dirty_byte\"; the nearest is \"memory.dirty_bytes\""},
  {"[[sweep]]\nkey = \"replay.untars\"\nvalues = [1, \"two\"]\n", "w.toml, line 3: replay.untars should be a whole number, found \"two\""},
  {"[[sweep]]\nkey = \"memory.dirty_bytes\"\nvalues = [\"1GB\", \"1000MB\"]\n", "w.toml, line 3: the sweep of memory.dirty_bytes has the value 1GB twice"},
  {"[[sweep]]\nkey = \"replay.untars\"\nvalues = []\n", "w.toml, line 3: the sweep of replay.untars has no values"},
  {"[[sweep]]\nkeys = [\"replay.untars\", \"replay.at_once\"]\nrows = [[8, 1], [8]]\n", "w.toml, line 3: sweep[1]: a row has 1 values, but there are 2 keys"},
  {"[[sweep]]\nkey = \"replay.untars\"\nvalues = [1]\n[[sweep]]\nkey = \"replay.untars\"\nvalues = [2]\n", "w.toml, line 1: \"replay.untars\" is swept twice"},
  {"[[sweep]]\nkey = \"title\"\nvalues = [\"a\"]\n", "w.toml, line 2: \"title\" belongs to the whole experiment and cannot be swept"},
  {"[replay]\nat_once = 4\n[[sweep]]\nkey = \"replay.untars\"\nvalues = [8, 2]\n", "w.toml, line 2: replay.at_once = 4 is more than replay.untars = 2 (in the case replay.untars = 2)"},
  {"[[sweep]]\nkey = \"archive.seed\"\nvalues = [1,2,3,4,5,6,7,8,9,10,11]\n[[sweep]]\nkey = \"replay.untars\"\nvalues = [1,2,3,4,5,6,7,8,9,10,11]\n[[sweep]]\nkey = \"seed\"\nvalues = [1,2,3,4,5,6,7,8,9,10,11]\n[[sweep]]\nkey = \"replay.writers\"\nvalues = [1,2,3,4,5,6,7,8,9,10]\n",
   "w.toml: the sweeps make more than 10000 cases; sweep fewer values"},
  // -- expectations
  {"[[expect]]\nmetric = \"untar[1].elapsed\"\n", "w.toml, line 2: expect[1]: metric \"untar[1].elapsed\" is not known: untar has no \"elapsed\", the nearest is \"elapsed_s\""},
  {"[[expect]]\nop = \"value\"\nvalue = 1\n", "w.toml, line 1: expect[1] has no metric"},
  {"[[expect]]\nmetric = \"untar[1].elapsed_s\"\nvalue = 5\n", "w.toml, line 1: expect[1]: op = \"value\" needs a tolerance, for example \"20%\""},
  {"[[expect]]\nmetric = \"untar[1].elapsed_s\"\nop = \"up\"\n", "w.toml, line 1: expect[1]: op = \"up\" or \"down\" needs `versus`, the case that it is held against"},
  {"[[expect]]\nmetric = \"untar[9].elapsed_s\"\nop = \"at_most\"\nvalue = 5\n", "w.toml, line 1: expect[1]: untar[9].elapsed_s is asked for, but there are only 8 untars"},
  {"[[expect]]\nmetric = \"untar[1].elapsed_s\"\nop = \"at_most\"\nvalue = 5\nof = { \"replay.at_once\" = 2 }\n", "w.toml, line 1: expect[1]: replay.at_once = 2 picks a case, but replay.at_once is not swept"},
  {"[[sweep]]\nkey = \"replay.at_once\"\nvalues = [1, 2]\n[[expect]]\nmetric = \"untar[1].elapsed_s\"\nop = \"at_most\"\nvalue = 5\nof = { \"replay.at_once\" = 4 }\n", "w.toml, line 4: expect[1]: replay.at_once = 4 picks a case, but the sweep has no such value"},
  {"[[expect]]\nmetric = \"bottleneck\"\nop = \"bottleneck\"\nvalue = \"disk\"\n", "w.toml, line 1: expect[1]: \"disk\" is not a part of the account: user, system, runqueue, throttled, device, lock, log or unknown"},
  {"[[expect]]\nmetric = \"job[dd].mb_per_s\"\nop = \"at_least\"\nvalue = 5\n", "w.toml, line 1: expect[1]: job[dd].mb_per_s names a job that is not in the file"},
  {"[[expect]]\nmetric = \"total.durable_s\"\nop = \"ordered\"\norder = [1]\nover = \"replay.at_once\"\n", "w.toml, line 1: expect[1]: op = \"ordered\" needs an order of at least two values"},
  {"[[expect]]\nmetric = \"total.durable_s\"\ntolerance = \"20\"\nvalue = 5\n", "w.toml, line 3: expect[1].tolerance = \"20\" is not a percentage; one such as \"20%\" was expected"},
  {"[[expect]]\nmetric = \"total.durable_s\"\nvalue = 5\ntolerance = \"20%\"\nguess = \"up\"\n", "w.toml, line 1: expect[1]: the guess \"up\" is a text; a number was expected, as in `value`"},
  {"[[expect]]\nmetric = \"total.durable_s\"\nop = \"up\"\nversus = {}\nguess = 2\n", "w.toml, line 1: expect[1]: a guess at a direction is one of \"up\", \"down\" and \"unchanged\""},
  // -- names
  {"name = \"../up\"\n", "w.toml, line 1: the name \"../up\" is to be a folder: letters, digits and ._-+ only, at most 80"},
};
// clang-format on

}  // namespace

TEST_CASE("experiment: a wrong file is answered with one sentence: place, what was read, what to do", "[workload][experiment]") {
  REQUIRE(std::size(kWrong) >= 45);
  for (const Wrong& wrong : kWrong) {
    CAPTURE(wrong.text);
    const auto result = parse_experiment(wrong.text, "dir/w.toml");
    CHECK_FALSE(result.has_value());
    if (result) continue;
    CHECK(result.error().what == wrong.sentence);
    CHECK(result.error().kind == ErrorKind::bad_input);
  }
}

TEST_CASE("experiment: text that is no TOML is answered with line and reason", "[workload][experiment]") {
  for (const char* text : {"[archive\n", "title = \n", "title = \"open\n", "a = 1\na = 2\n", "= 5\n", "\x00\x01\xff"}) {
    CAPTURE(text);
    const auto result = parse_experiment(text, "w.toml");
    if (std::string{text}.empty()) continue;
    REQUIRE_FALSE(result.has_value());
    CHECK_THAT(result.error().what, Catch::StartsWith("w.toml, line ") && Catch::Contains("not TOML: "));
  }
}

TEST_CASE("experiment: wrong --set and --sweep name the option", "[workload][experiment]") {
  struct Item {
    Overrides overrides;
    const char* sentence;
  };
  const Item items[] = {
      {{.set = {"replay.untars"}, .sweep = {}}, "--set replay.untars: key=value was expected, for example --set memory.dirty_bytes=1GB"},
      {{.set = {"replay.untar=3"}, .sweep = {}}, "--set replay.untar=3: there is no key \"replay.untar\"; the nearest is \"replay.untars\""},
      {{.set = {"replay.untars=three"}, .sweep = {}}, "--set replay.untars=three: replay.untars should be a whole number, found \"three\""},
      {{.set = {"memory.dirty_bytes=1"}, .sweep = {}}, "--set memory.dirty_bytes=1: memory.dirty_bytes = \"1\" has no unit; sizes take B, kB, KiB, MB, MiB, GB, GiB, TB, TiB"},
      {{.set = {"job[dd].size=1GB"}, .sweep = {}}, "--set job[dd].size=1GB: there is no job \"dd\" in the experiment"},
      {{.set = {"memory.dirty_ratio=10", "memory.dirty_bytes=1GB"}, .sweep = {}}, "--set memory.dirty_ratio=10: memory.dirty_ratio and memory.dirty_bytes exclude each other, as in the kernel; leave one out"},
      {{.set = {}, .sweep = {"replay.untars=1,1"}}, "--sweep replay.untars=1,1: the sweep of replay.untars has the value 1 twice"},
      {{.set = {}, .sweep = {"order=written"}}, "--sweep order=written: \"order\" belongs to the whole experiment and cannot be swept"},
  };
  for (const Item& item : items) {
    const auto result = parse_experiment("", "w.toml", item.overrides);
    REQUIRE_FALSE(result.has_value());
    CHECK(result.error().what == item.sentence);
  }
}

TEST_CASE("experiment: a missing file is one sentence", "[workload][experiment]") {
  const auto result = load_experiment("/nowhere/at/all.toml");
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().what == "cannot open /nowhere/at/all.toml: No such file or directory");
  CHECK(result.error().kind == ErrorKind::bad_input);
}
