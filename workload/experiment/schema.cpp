#include "workload/experiment/schema.hpp"

namespace spillway::schema {

namespace {

constexpr std::int64_t kMillion = 1'000'000;
const std::string kUnitRight = "is the unit right?";

/// Marks keys that describe a made archive, or a real one.
Binding<ArchiveSpec> made(Binding<ArchiveSpec> binding) {
  binding.pointless = [](const ArchiveSpec& a) {
    return a.path.empty() ? std::string{} : std::string{"describes a made archive, but archive.path names a real one; leave one of them out"};
  };
  return binding;
}
Binding<ArchiveSpec> real_only(Binding<ArchiveSpec> binding) {
  binding.pointless = [](const ArchiveSpec& a) {
    return a.path.empty() ? std::string{"is for a real archive, but there is no archive.path"} : std::string{};
  };
  return binding;
}

/// true and false as TOML has them, and "auto".
Binding<ReplaySpec> direct_key() {
  Binding<ReplaySpec> binding = key("direct", &ReplaySpec::direct, "O_DIRECT writes (posix, uring): false, true or \"auto\"");
  binding.kind = "true, false or \"auto\"";
  binding.read = [](const TomlValue& value, ReplaySpec& replay) -> Problem {
    if (value.is(TomlValue::Kind::truth)) {
      replay.direct = value.truth ? "true" : "false";
    } else if (value.is(TomlValue::Kind::text) && value.text == "auto") {
      replay.direct = "auto";
    } else {
      return fmt::format("should be true, false or \"auto\", found {}", shown(value));
    }
    return std::nullopt;
  };
  binding.write = [](const ReplaySpec& replay) {
    return replay.direct == "auto" ? Json("auto") : Json(replay.direct == "true");
  };
  return binding;
}

}  // namespace

const Section<Experiment>& root_section() {
  using E = Experiment;
  static const Section<E> section = {
      key("title", &E::title, "what it shows, in one line"),
      key("name", &E::name, "name of the output folder; the file's stem when left out"),
      key("question", &E::question, "what the experiment asks, for the report"),
      key("seed", &E::seed, "of the run: block order and the simulated box's random streams; printed first", from(0)),
      key("repeats", &E::repeats, "how often each case is run", between(1, 10'000)),
      key("order", &E::order, "cases one after the other, or in randomised blocks of one repeat each", one_of({"written", "blocks"})),
  };
  return section;
}

const Section<ArchiveSpec>& archive_section() {
  using A = ArchiveSpec;
  static const Section<A> section = {
      key("path", &A::path, "a real archive, relative to the experiment file; empty: one is made from the keys below"),
      real_only(key("decompress", &A::decompress, "a compressed archive: unpack it once and do not time that, or each time", one_of({"once", "each"}))),
      real_only(key("sha256", &A::sha256, "expected hash of the real archive (64 hex digits); empty: not checked")),
      made(key("seed", &A::seed, "of names, sizes and data; same seed, same bytes on every machine", from(0))),
      made(key("files", &A::files, "number of files", between(1, 100 * kMillion))),
      made(key("bytes", &A::bytes, "sum of the file sizes, met exactly", between(0, 100 * kTB))),
      made(key("sizes", &A::sizes, "distribution of the file sizes", one_of({"fixed", "lognormal", "histogram"}))),
      made(key("sigma", &A::sigma, "lognormal: standard deviation of ln(size)", real_between(0, 5))),
      made(key("min", &A::min, "lognormal: smallest file", from(0))),
      made(key("max", &A::max, "lognormal: largest file", from(1))),
      made(key("histogram", &A::histogram, "histogram: sizes with their weights, scaled together so that `bytes` is met")),
      made(key("files_per_directory", &A::files_per_directory, "files in each directory", from(1))),
  };
  return section;
}

const Section<ReplaySpec>& replay_section() {
  using R = ReplaySpec;
  static const Section<R> section = {
      key("untars", &R::untars, "how many, each into its own directory and by its own process; 0: jobs only", between(0, 100'000)),
      key("at_once", &R::at_once, "how many of them run together", between(1, 100'000)),
      key("engine", &R::engine, "what extracts", one_of({"tar", "bsdtar", "libarchive", "posix", "uring"})),
      key("writers", &R::writers, "writer threads inside one untar (posix, uring)", between(1, 1024)),
      direct_key(),
      key("drop_behind", &R::drop_behind, "write each file out and drop its pages at once (posix, uring)"),
      key("existing", &R::existing, "what an untar does with files that are there", one_of({"unlink", "overwrite"})),
      key("flushers", &R::flushers, "who writes back: kernel, user:N, cgroup:N, contexts:N:hash, contexts:N:ag, per_writer"),
      key("before", &R::before, "timed phases before the untars", one_of({"remove", "skeleton"})),
      key("after", &R::after, "timed phases after (or within) the untars", one_of({"sync", "fsync_each", "syncfs_each", "none"})),
      key("verify", &R::verify, "compare tree and archive afterwards (real); not timed", {}, Boxes::real),
      key("cache", &R::cache, "the archive before each repeat: read once (hot) or dropped from memory (cold)", one_of({"hot", "cold"})),
  };
  return section;
}

const Section<JobSpec>& job_section() {
  using J = JobSpec;
  static const Section<J> section = {
      key("name", &J::name, "its name, unique"),
      key("rw", &J::rw, "what it does", one_of({"read", "write", "randread", "randwrite", "randrw", "create", "unlink", "compute", "probe"})),
      key("bs", &J::bs, "block size of one operation", between(512, kGiB, kUnitRight)),
      key("size", &J::size, "data of each of its numjobs", from(0)),
      key("filesize", &J::filesize, "size of each file; 0B: size / nrfiles", from(0)),
      key("numjobs", &J::numjobs, "identical jobs at once", between(1, 100'000)),
      key("nrfiles", &J::nrfiles, "files of each", between(1, 100 * kMillion)),
      key("iodepth", &J::iodepth, "operations in flight (libaio, io_uring)", between(1, 65'536)),
      key("ioengine", &J::ioengine, "how it submits", one_of({"sync", "psync", "vsync", "pvsync2", "libaio", "io_uring", "mmap"})),
      key("direct", &J::direct, "O_DIRECT"),
      key("fsync", &J::fsync, "fsync after every N writes; 0: never", between(0, 1'000'000'000)),
      key("end_fsync", &J::end_fsync, "fsync at its end, counted in its time"),
      key("runtime", &J::runtime, "stop after; 0s: when the data is done", from(0)),
      key("rate", &J::rate, "upper limit of each job; 0B/s: none", from(0)),
      key("compute", &J::compute, "CPU time of each job (rw = \"compute\"), or after a read", from(0)),
      key("anonymous", &J::anonymous, "anonymous memory filled while it runs", from(0)),
      key("file", &J::file, "name of the file, so that jobs can share one; empty: its own"),
      key("own_directory", &J::own_directory, "each of its numjobs in a directory of its own (else all files in one)", {}, Boxes::simulated),
      key("after", &J::after, "name of the job whose end starts it"),
      key("continues", &J::continues, "name of the job whose processes go on with this one, their memory kept", {}, Boxes::simulated),
      key("start", &J::start, "start offset", from(0)),
      key("rwmixread", &J::rwmixread, "randrw: reads in percent", between(0, 100)),
  };
  return section;
}

const Section<PipelineSpec>& pipeline_section() {
  using P = PipelineSpec;
  static const Section<P> section = {
      key("sources", &P::sources, "tasks that issue requests", between(1, 100'000)),
      key("in_flight", &P::in_flight, "requests in flight of each source", between(1, 100'000)),
      key("request", &P::request, "size of a request", from(1)),
      key("rw", &P::rw, "what the device does with it", one_of({"read", "write", "randread", "randwrite"})),
      key("think", &P::think, "CPU time of a source between requests", from(0)),
      key("requests", &P::requests, "requests in all; 0: run for `runtime`", from(0)),
      key("runtime", &P::runtime, "how long, when `requests` is 0", from(0)),
      key("link_rate", &P::link_rate, "rate of the link; 0B/s: no link", from(0)),
      key("bytes_on_link_per_byte", &P::bytes_on_link_per_byte, "bytes sent for each byte of a request (1.5 for 4+2)", real_between(0, 100)),
      key("link_latency", &P::link_latency, "time that a request spends on the link besides its bytes", from(0)),
      key("scheduler_slice", &P::scheduler_slice, "scheduler slice or wake-up granularity of every host that gives none; 0s: the kernel's", from(0)),
      key("durable_rate", &P::durable_rate, "rate at which close and fsync make it durable; 0B/s: when accepted", from(0)),
      key("variation", &P::variation, "CPU times vary uniformly by this share of their mean", real_between(0, 0.99)),
  };
  return section;
}

const Section<HostSpec>& host_section() {
  using H = HostSpec;
  static const Section<H> section = {
      key("name", &H::name, "its name, unique"),
      key("cpus", &H::cpus, "its CPUs", between(1, 4096)),
      key("scheduler", &H::scheduler, "cfs (before 6.6) or eevdf", one_of({"cfs", "eevdf"})),
      key("slice", &H::slice, "EEVDF slice or CFS wake-up granularity; 0s: the kernel's default", from(0)),
  };
  return section;
}

const Section<StageSpec>& stage_section() {
  using S = StageSpec;
  static const Section<S> section = {
      key("name", &S::name, "its name, unique"),
      key("host", &S::host, "the [[pipeline.host]] on which it runs; empty: the first"),
      key("threads", &S::threads, "threads that serve it; 0: inline in the caller", between(0, 100'000)),
      key("cpu_per_request", &S::cpu_per_request, "CPU time for a request", from(0)),
      key("cpu_ns_per_byte", &S::cpu_ns_per_byte, "CPU time for each byte, in ns", real_between(0, 1e6)),
      key("lock", &S::lock, "name of the lock taken while serving; empty: none"),
      key("lock_hold", &S::lock_hold, "CPU time under the lock for a request", from(0)),
      key("lock_spin", &S::lock_spin, "how long a waiter spins before it sleeps", from(0)),
      key("pieces", &S::pieces, "wake-ups for each request (a long message comes in packets)", between(1, 100'000)),
      key("piece_gap", &S::piece_gap, "time between pieces", from(0)),
      key("device", &S::device, "this stage issues the request to the device"),
      key("blocking", &S::blocking, "with device: its thread sleeps until the device is done"),
      key("link", &S::link, "this stage sends over the link"),
      key("requests_per_thread", &S::requests_per_thread, "one more thread for each so many waiting requests; 0: all serve", between(0, 1'000'000)),
  };
  return section;
}

const Section<MemorySpec>& memory_section() {
  using M = MemorySpec;
  // The kernel refuses vm.dirty_bytes below two pages; sizes under a megabyte are nearly always a forgotten letter.
  const Rule limit = between(kMB, 100 * kTB, kUnitRight);
  static const Section<M> section = {
      key("ram", &M::ram, "RAM of the simulated box; a real box with less refuses", between(64 * kMiB, 100 * kTB, kUnitRight)),
      key("dirty_ratio", &M::dirty_ratio, "vm.dirty_ratio, percent of dirtyable memory", between(1, 100)),
      key("dirty_background_ratio", &M::dirty_background_ratio, "vm.dirty_background_ratio, percent", between(0, 100)),
      key("dirty_bytes", &M::dirty_bytes, "vm.dirty_bytes; excludes dirty_ratio", limit),
      key("dirty_background_bytes", &M::dirty_background_bytes, "vm.dirty_background_bytes; excludes dirty_background_ratio", limit),
      key("dirty_expire", &M::dirty_expire, "age at which dirty data is written (vm.dirty_expire_centisecs)", between(10 * kMillion, 86'400'000 * kMillion)),
      key("dirty_writeback", &M::dirty_writeback, "interval of the periodic flusher (vm.dirty_writeback_centisecs); 0s: off", between(0, 86'400'000 * kMillion)),
      key("cgroup_limit", &M::cgroup_limit, "memory.max of the untars' cgroup", between(kMiB, 100 * kTB, kUnitRight)),
  };
  return section;
}

const Section<FilesystemSpec>& filesystem_section() {
  using F = FilesystemSpec;
  static const Section<F> section = {
      key("type", &F::type, "file system", one_of({"xfs", "ext4", "btrfs", "f2fs", "tmpfs"})),
      key("size", &F::size, "of the image; 0B: 1.6 times the data, at least 1GiB", from(0)),
      key("su", &F::su, "stripe unit (mkfs.xfs -d su=)", between(4096, kGiB, kUnitRight)),
      key("sw", &F::sw, "stripe width in data disks (mkfs.xfs -d sw=)", between(1, 1024)),
      key("agcount", &F::agcount, "allocation groups", between(1, kMillion)),
      key("log_size", &F::log_size, "size of the log (mkfs.xfs -l size=)", between(2 * kMB, 2 * kGiB, kUnitRight)),
      key("external_log", &F::external_log, "log on a device of its own"),
      key("rmapbt", &F::rmapbt, "reverse mapping tree"),
      key("reflink", &F::reflink, "shared extents"),
      key("finobt", &F::finobt, "free inode tree"),
      key("inode_size", &F::inode_size, "inode size: 256B, 512B, 1KiB or 2KiB", between(256, 2048)),
      key("mount_options", &F::mount_options, "as for mount -o, one text each"),
      key("filled", &F::filled, "share of the file system that is aged and full, 0 to 1", real_between(0, 0.99), Boxes::simulated),
  };
  return section;
}

const Section<DeviceSpecText>& device_section() {
  using D = DeviceSpecText;
  const std::vector<std::string> members = {"limit", "ssd", "sata_ssd", "nvme", "hdd"};
  std::vector<std::string> models = members;
  models.insert(models.end(), {"raid0", "raid5", "raid6", "raid10", "jbod"});
  const Rule rate{.choices = {}, .at_least = 0, .at_most = 10 * kTB, .real_at_least = {}, .real_at_most = {}, .why = kUnitRight};
  static const Section<D> section = {
      key("model", &D::model, "what the disk is; `limit` is nothing but a rate and IOPS limit", one_of(models)),
      key("disks", &D::disks, "disks of an array", between(1, 1024)),
      key("member", &D::member, "model of each disk of an array", one_of(members)),
      key("chunk", &D::chunk, "chunk (stripe unit) of an array", between(4096, kGiB, kUnitRight)),
      key("rate", &D::rate, "write limit, or the disk's sequential write rate; 0B/s: none, or the model's own", rate),
      key("read_rate", &D::read_rate, "the same for reads", rate),
      key("iops", &D::iops, "write IOPS limit; 0: none", between(0, 100 * kMillion)),
      key("queue", &D::queue, "bounded (tags, as a disk has) or unlimited (the limit in front of the queue)", one_of({"bounded", "unlimited"})),
      key("nr_requests", &D::nr_requests, "requests in the device's queue", between(1, 65'536)),
      key("write_cache", &D::write_cache, "battery-backed cache of the controller; 0B: none", from(0)),
      key("volatile_cache", &D::volatile_cache, "the disks have a volatile write cache, so that flushes cost"),
      key("rpm", &D::rpm, "revolutions a minute (hdd)", between(1000, 20'000)),
      key("average_seek", &D::average_seek, "average seek (hdd)", between(0, 1000 * kMillion)),
      key("capacity", &D::capacity, "of each disk; 0B: the model's own", from(0)),
      key("stripe_cache", &D::stripe_cache, "stripe cache of a software RAID 5 or 6; 0B: its default", from(0)),
  };
  return section;
}

const Section<TargetSpec>& target_section() {
  using T = TargetSpec;
  static const Section<T> section = {
      key("kind", &T::kind, "how `run` realises the device: sparse image on loops, modeled disk, a directory, a block device", one_of({"loop", "modeled", "mount", "device"}), Boxes::real),
      key("path", &T::path, "mount: the directory; device: the block device; loop: folder of the image", {}, Boxes::real),
      key("cold", &T::cold, "a new device number, so that the device's writeback state is cold", {}, Boxes::real),
  };
  return section;
}

const Section<BoxSpec>& box_section() {
  using B = BoxSpec;
  static const Section<B> section = {
      key("profile", &B::profile, "a profile file, or the name of a built-in profile; empty: generic", {}, Boxes::simulated),
      key("cpus", &B::cpus, "cores", between(1, 4096), Boxes::simulated),
      key("numa_nodes", &B::numa_nodes, "NUMA nodes", between(1, 64), Boxes::simulated),
      key("hz", &B::hz, "kernel timer frequency: 100, 250, 300 or 1000", between(100, 1000), Boxes::simulated),
      key("kernel", &B::kernel, "kernel version whose rules are modelled, for example \"6.1\"", {}, Boxes::simulated),
      key("costs", &B::costs, "costs of the profile by name, for example copy_us_per_page = 0.65", {}, Boxes::simulated),
      key("kernel_constants", &B::kernel_constants, "constants that a patch changed: max_pause_ms (200), ratelimit_step (8), min_writeback_pages (1024)", {}, Boxes::simulated),
      key("completion_share", &B::completion_share, "state before the run: the device's share of recent completions, 0 to 1", real_between(0, 1), Boxes::simulated),
      key("write_bandwidth", &B::write_bandwidth, "state before the run: the kernel's bandwidth estimate", from(1), Boxes::simulated),
      key("dirty_ratelimit", &B::dirty_ratelimit, "state before the run: the kernel's dirty rate limit", from(1), Boxes::simulated),
      key("dirtyable", &B::dirtyable, "state before the run: dirtyable memory", between(kMB, 100 * kTB, kUnitRight), Boxes::simulated),
      key("foreign_dirty", &B::foreign_dirty, "state before the run: dirty data of other devices", from(0), Boxes::simulated),
  };
  return section;
}

const std::vector<PlainKey>& sweep_keys() {
  static const std::vector<PlainKey> keys = {
      {"key", "text", "", "one key to vary, for example \"memory.dirty_bytes\""},
      {"values", "list", "", "its values"},
      {"keys", "list of texts", "", "instead: several keys that vary together"},
      {"rows", "list of lists", "", "with `keys`: one row a case, one value a key"},
  };
  return keys;
}

const std::vector<PlainKey>& expect_keys() {
  static const std::vector<PlainKey> keys = {
      {"metric", "metric", "", "what is judged, for example \"untar[8].elapsed_s\""},
      {"op", "choice", "value", "value, at_most, at_least, up, down, unchanged, ordered, knee_at, bottleneck"},
      {"value", "number or text", "", "in the metric's unit; a ratio with `versus`; bottleneck: the account's key"},
      {"tolerance", "percent or number", "", "for value and knee_at: \"20%\" of the value, or a number in the metric's unit"},
      {"margin", "percent", "", "for unchanged: how far apart still counts as the same"},
      {"order", "list", "", "for ordered: values of the key `over`, from the smallest metric upwards"},
      {"over", "text", "", "for ordered: the swept key"},
      {"of", "table", "", "which case, by its swept keys; empty: each"},
      {"versus", "table", "", "makes it the ratio of the case `of` to this case"},
      {"box", "choice", "any", "in which box it is judged: any, simulated, real"},
      {"guess", "number or text", "", "what a guesser without a model says, scored by the same tolerance: a number, or \"up\", \"down\", \"unchanged\""},
      {"source", "text", "", "where the number was published"},
      {"inputs", "text", "", "which inputs are given, fitted, assumed"},
  };
  return keys;
}

}  // namespace spillway::schema
