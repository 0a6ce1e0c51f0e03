#include "sim/xfs/worker_names.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>

namespace spillway::sim::xfs {

namespace {

using enum Confidence;

constexpr std::string_view kFlush = "the flusher: writes dirty pages, allocates their blocks";
constexpr std::string_view kConversion = "completion: unwritten extents become written, the size on disk moves";
constexpr std::string_view kData = "completion of appending writes: the size on disk moves";
constexpr std::string_view kCil = "writes checkpoints into the log";
constexpr std::string_view kLog = "log writes that are done: their items enter the AIL";
constexpr std::string_view kBuf = "metadata writes that are done: the log's tail moves";
constexpr std::string_view kSync = "every 30 s: forces the log, has metadata written back";
constexpr std::string_view kGc = "second half of removals: frees blocks and inodes";
constexpr std::string_view kAlloc = "allocations on a stack of their own";
constexpr std::string_view kAil = "writes metadata back so that the log has space";
constexpr std::string_view kBufd = "writes delayed metadata buffers";
constexpr std::string_view kLoop = "the loop device's reads and writes of its file";
constexpr std::string_view kKblockd = "hands queued requests to the driver";
constexpr std::string_view kThrotld = "lets throttled requests go";

// Plain kworkers have no description before 4.18, unbound ones are called u:N before 3.10.
constexpr std::array kNames{
    WorkerName{"flush", 2, 32, "flush-{majmin}", kFlush, verified},
    WorkerName{"flush", 3, 10, "kworker/u{pool}:{id}", kFlush, verified},
    WorkerName{"flush", 4, 18, "kworker/u{pool}:{id}+flush-{majmin}", kFlush, verified},
    WorkerName{"xfs-conv", 2, 32, "xfsconvertd/{cpu}", kConversion, recollection},
    WorkerName{"xfs-conv", 2, 36, "kworker/{cpu}:{id}", kConversion, recollection},
    WorkerName{"xfs-conv", 4, 18, "kworker/{cpu}:{id}-xfs-conv/{dev}", kConversion, verified},
    WorkerName{"xfs-data", 2, 32, "xfsdatad/{cpu}", kData, recollection},
    WorkerName{"xfs-data", 2, 36, "kworker/{cpu}:{id}", kData, recollection},
    WorkerName{"xfs-data", 4, 18, "kworker/{cpu}:{id}-xfs-data/{dev}", kData, recollection},
    WorkerName{"xfs-cil", 2, 32, "", kCil, recollection},
    WorkerName{"xfs-cil", 3, 5, "kworker/{cpu}:{id}", kCil, recollection},
    WorkerName{"xfs-cil", 4, 18, "kworker/{cpu}:{id}-xfs-cil/{dev}", kCil, recollection},
    WorkerName{"xfs-cil", 5, 14, "kworker/u{pool}:{id}-xfs-cil/{dev}", kCil, verified},
    WorkerName{"xfs-log", 2, 32, "xfslogd/{cpu}", kLog, recollection},
    WorkerName{"xfs-log", 2, 36, "kworker/{cpu}:{id}", kLog, recollection},
    WorkerName{"xfs-log", 3, 10, "kworker/{cpu}:{id}H", kLog, recollection},
    WorkerName{"xfs-log", 4, 18, "kworker/{cpu}:{id}H-xfs-log/{dev}", kLog, verified},
    WorkerName{"xfs-buf", 2, 32, "xfslogd/{cpu}", kBuf, recollection},
    WorkerName{"xfs-buf", 2, 36, "kworker/{cpu}:{id}", kBuf, recollection},
    WorkerName{"xfs-buf", 4, 18, "kworker/{cpu}:{id}-xfs-buf/{dev}", kBuf, verified},
    WorkerName{"xfs-sync", 2, 32, "xfssyncd/{dev}", kSync, recollection},
    WorkerName{"xfs-sync", 3, 0, "kworker/{cpu}:{id}", kSync, recollection},
    WorkerName{"xfs-sync", 4, 18, "kworker/{cpu}:{id}-xfs-sync/{dev}", kSync, verified},
    WorkerName{"xfs-inodegc", 5, 14, "kworker/{cpu}:{id}-xfs-inodegc/{dev}", kGc, verified},
    WorkerName{"xfsalloc", 3, 4, "kworker/{cpu}:{id}", kAlloc, recollection},
    WorkerName{"xfsalloc", 4, 18, "kworker/{cpu}:{id}-xfsalloc", kAlloc, verified},
    WorkerName{"xfsaild", 2, 32, "xfsaild/{dev}", kAil, verified},
    WorkerName{"xfsbufd", 2, 32, "xfsbufd/{dev}", kBufd, recollection},
    WorkerName{"xfsbufd", 3, 5, "", kBufd, recollection},
    WorkerName{"loop", 2, 32, "{dev}", kLoop, recollection},
    WorkerName{"loop", 5, 14, "kworker/u{pool}:{id}-{dev}", kLoop, verified},
    WorkerName{"kblockd", 2, 32, "kblockd/{cpu}", kKblockd, recollection},
    WorkerName{"kblockd", 2, 36, "kworker/{cpu}:{id}", kKblockd, recollection},
    WorkerName{"kblockd", 3, 10, "kworker/{cpu}:{id}H", kKblockd, recollection},
    WorkerName{"kblockd", 4, 18, "kworker/{cpu}:{id}H-kblockd", kKblockd, verified},
    WorkerName{"kthrotld", 2, 37, "kworker/{cpu}:{id}", kThrotld, recollection},
    WorkerName{"kthrotld", 4, 18, "kworker/{cpu}:{id}-kthrotld", kThrotld, verified},
};

bool not_newer(const WorkerName& row, int major, int minor) {
  return row.since_major < major || (row.since_major == major && row.since_minor <= minor);
}

struct Version {
  int major = 0, minor = 0;
};
/// "6.18", "2.6.32" (2, 32).
Version version_of(const KernelVersion& kernel) {
  std::string_view text = kernel.name;
  if (text.starts_with("2.6.")) text.remove_prefix(2);  // "6.32": the minor is what counts
  const bool old = kernel.name.starts_with("2.6.");
  Version v;
  const auto dot = text.find('.');
  std::from_chars(text.data(), text.data() + dot, v.major);
  std::from_chars(text.data() + dot + 1, text.data() + text.size(), v.minor);
  if (old) v.major = 2;
  return v;
}

std::string filled(std::string_view pattern, const WorkerOutputs& w, Version kernel, const WorkerNameContext& c) {
  // Pools are numbered as they are made: two of each core, four since 6.9 (bottom halves), then the unbound ones.
  const bool bottom_halves = kernel.major > 6 || (kernel.major == 6 && kernel.minor >= 9);
  std::string out{pattern};
  const auto put = [&out](std::string_view key, const std::string& value) {
    if (const auto at = out.find(key); at != std::string::npos) out.replace(at, key.size(), value);
  };
  put("{cpu}", fmt::format("{}", w.core < 0 ? 0 : w.core));
  put("{id}", fmt::format("{}", w.number));
  const bool numbered = kernel.major > 3 || (kernel.major == 3 && kernel.minor >= 10);
  put("{pool}", numbered ? fmt::format("{}", c.cores * (bottom_halves ? 4 : 2)) : std::string{});
  put("{dev}", c.device);
  put("{majmin}", fmt::format("{}:{}", c.major, c.minor));
  return out;
}

}  // namespace

std::span<const WorkerName> worker_names() { return kNames; }

const WorkerName* worker_name(std::string_view queue, int major, int minor) {
  const WorkerName* found = nullptr;
  for (const WorkerName& row : kNames)
    if (row.queue == queue && not_newer(row, major, minor)) found = &row;
  return found;
}

void name_worker(WorkerOutputs& worker, const KernelVersion& kernel, const WorkerNameContext& context) {
  const Version v = version_of(kernel);
  const WorkerName* row = worker_name(worker.name, v.major, v.minor);
  worker.shown = row ? filled(row->shown, worker, v, context) : std::string{};
}

std::string_view worker_job(std::string_view queue) {
  for (const WorkerName& row : kNames)
    if (row.queue == queue) return row.job;
  return {};
}

}  // namespace spillway::sim::xfs
