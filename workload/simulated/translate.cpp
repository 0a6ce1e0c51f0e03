#include "workload/simulated/translate.hpp"

#include "workload/device/device_model.hpp"
#include "workload/experiment/quantity.hpp"
#include "workload/experiment/relations.hpp"
#include "workload/record/notes.hpp"
#include "workload/simulated/unmodelled.hpp"
#include "workload/simulated/translate_jobs.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/core.h>
#include <map>

namespace spillway::simulated {

namespace {

std::unexpected<Error> unsupported(std::string sentence) { return fail(ErrorKind::unsupported, "the simulated box " + sentence); }

bool has(const std::vector<std::string>& list, std::string_view word) { return std::find(list.begin(), list.end(), word) != list.end(); }

/// The completion counters: the kernel's own where they were read, else what a share or a cold device says of them.
void set_completions(sim::StateBefore& before, const BoxState& state, Translation& out) {
  // The kernel's own counters, read before the run: nothing to assume.
  if (state.global_completions_pages && state.device_completions_pages) {
    // The kernel's two counters are each exact only to their per-CPU batches.
    before.global_completions = std::max(*state.global_completions_pages, *state.device_completions_pages);
    before.device_completions = *state.device_completions_pages;
    before.next_halving = state.completion_phase_s ? Duration{static_cast<std::int64_t>(std::clamp(3.0 - *state.completion_phase_s, 0.001, 3.1) * 1e9)} : Duration{-1};
    return;
  }

  // A new device has completed nothing.
  const std::optional<double> share = state.completion_share || !state.cold ? state.completion_share : std::optional{0.0};
  if (share) {
    // The kernel halves both counters every 3 s. A device that has written steadily at its estimated bandwidth holds
    // between 3 s (just halved) and 6 s of it; 4.5 s is taken. Where it wrote nothing, others did: the same count.
    // A new device's estimate is a constant and says nothing of that: what others wrote lately is unknown, and 25,000 pages
    // (the middle of 28 real runs, 2,600 to 106,000) is taken.
    const bool nothing_known = state.cold && *share == 0;
    const std::int64_t total = nothing_known ? kColdCompletions : std::max<std::int64_t>(1000, before.avg_write_bandwidth.value() / 4096 * 9 / 2);
    if (nothing_known) out.unknown_state.emplace_back(kUnknownCompletions);
    before.global_completions = total;
    before.device_completions = static_cast<std::int64_t>(*share * static_cast<double>(total));
    before.next_halving = std::chrono::milliseconds{1500};
    if (state.completion_phase_s) {
      const double left = std::clamp(3.0 - *state.completion_phase_s, 0.001, 3.0);
      before.next_halving = Duration{static_cast<std::int64_t>(left * 1e9)};
    } else if (!nothing_known) {
      out.unknown_state.emplace_back("phase of the completion counters' halving");
    }
    if (!nothing_known) out.notes.push_back("the completion counters before the run are taken as 4.5 s of the device's estimated bandwidth; only their ratio is known");
  } else {
    out.unknown_state.emplace_back("completion share");
  }
}

/// The state before the run, from [box] or from a record; what neither says is named.
void set_state(sim::StateBefore& before, const BoxState& state, const Experiment& e, Translation& out) {
  if (state.write_bandwidth_pages_per_s) before.write_bandwidth = before.avg_write_bandwidth = BytesPerSec{*state.write_bandwidth_pages_per_s * 4096};
  if (state.avg_write_bandwidth_pages_per_s) before.avg_write_bandwidth = BytesPerSec{*state.avg_write_bandwidth_pages_per_s * 4096};
  if (state.dirty_ratelimit_pages_per_s) before.dirty_ratelimit = before.balanced_dirty_ratelimit = BytesPerSec{*state.dirty_ratelimit_pages_per_s * 4096};
  if (state.balanced_dirty_ratelimit_pages_per_s) before.balanced_dirty_ratelimit = BytesPerSec{*state.balanced_dirty_ratelimit_pages_per_s * 4096};
  if (state.bandwidth_stamp_age_s) before.bandwidth_stamp_age = Duration{static_cast<std::int64_t>(*state.bandwidth_stamp_age_s * 1e9)};
  if (state.foreign_completions_pages_per_s) before.foreign_completions_per_s = *state.foreign_completions_pages_per_s;
  if (state.uptime_s) before.tick_phase = Duration{std::llround(std::fmod(*state.uptime_s, 1.0 / out.inputs.hz) * 1e9) % (1'000'000'000 / out.inputs.hz)};
  if (state.throttle_slice_age_s == 0.0) out.inputs.device.slice_begun = true;
  if (state.foreign_cpus) before.foreign_cpus = *state.foreign_cpus;
  if (state.dirty_limit_pages) before.dirty_limit = Bytes{*state.dirty_limit_pages * 4096};
  if (state.foreign_dirty_pages) before.foreign_dirty = Bytes{*state.foreign_dirty_pages * 4096};
  if (state.dirtyable_pages) out.inputs.memory.dirtyable = Bytes{*state.dirtyable_pages * 4096};

  set_completions(before, state, out);
  const bool by_ratio = !e.memory.dirty_bytes || (!e.memory.dirty_background_bytes);
  if (!state.dirtyable_pages && by_ratio) out.unknown_state.emplace_back("dirtyable memory");
}

/// The vm.* settings that were in force in a record's run (environment.vm, texts as sysctl prints them).
std::optional<std::int64_t> vm_setting(const Record& like, const char* name) {
  const auto& environment = like.box.environment;
  if (!environment.is_object() || !environment.contains("vm") || !environment["vm"].is_object() || !environment["vm"].contains(name)) return std::nullopt;
  const auto& value = environment["vm"][name];
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (!value.is_string()) return std::nullopt;
  const std::string text = value.get<std::string>();
  std::int64_t n = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), n).ec != std::errc{}) return std::nullopt;
  return n;
}

/// Of the two forms of a limit the one that is not 0 is in force.
void take_settings(const Record& like, Profile& p) {
  if (const auto n = vm_setting(like, "dirty_bytes"); n && *n > 0) p.dirty.dirty_bytes = Bytes{*n};
  if (const auto n = vm_setting(like, "dirty_background_bytes"); n && *n > 0) p.dirty.background_bytes = Bytes{*n};
  if (const auto n = vm_setting(like, "dirty_ratio"); n && *n > 0) p.dirty.dirty_ratio = static_cast<int>(*n);
  if (const auto n = vm_setting(like, "dirty_background_ratio"); n && *n > 0) p.dirty.background_ratio = static_cast<int>(*n);
  if (const auto n = vm_setting(like, "dirty_expire_centisecs")) p.dirty_expire = std::chrono::milliseconds{*n * 10};
  if (const auto n = vm_setting(like, "dirty_writeback_centisecs")) p.dirty_writeback = std::chrono::milliseconds{*n * 10};
}

/// A device model under the block layer. The host's side of it: requests of the kernel's default size; tags and wbt in
/// front of a disk or a controller's array. An array without a controller's cache is the kernel's own (md, dm): no tags and
/// no wbt of its own, but each member's queue.
Status set_device_model(const DeviceSpecText& d, Bytes size, sim::BoxInputs& in) {
  SPILLWAY_ASSIGN(auto spec, device_spec_of(d, size));
  in.device.kind = sim::DeviceInputs::Kind::model;
  in.device.model = std::move(spec);
  in.device.max_request = Bytes{in.kernel.max_sectors_kib * kKiB};
  in.device.wbt = in.kernel.writeback_throttling;
  if (d.disks > 1 && d.write_cache.value() == 0) {
    in.device.wbt = false;
    in.device.queue_depth = d.nr_requests * d.disks;
  }
  return {};
}

/// Who writes back. A cgroup with a memory limit is a context of its own, and one is enough for it.
Status set_flushers(const Experiment& e, sim::FlusherInputs& out, std::vector<std::string>& notes) {
  const auto parsed = parse_flushers(e.replay.flushers);
  if (!parsed) return fail(ErrorKind::bad_input, fmt::format("replay.flushers = \"{}\" {}", e.replay.flushers, parsed.error()));
  using Own = sim::FlusherInputs::Kind;
  switch (parsed->kind) {
    case Flushers::Kind::kernel: out.kind = e.memory.cgroup_limit ? Own::cgroup : Own::kernel; break;
    case Flushers::Kind::user: out.kind = Own::user; break;
    case Flushers::Kind::cgroup: out.kind = Own::cgroup; break;
    case Flushers::Kind::contexts: out.kind = Own::contexts; break;
    case Flushers::Kind::per_writer: out.kind = Own::per_writer; break;
  }
  out.count = parsed->count;
  out.affinity = parsed->binding == Flushers::Binding::ag ? sim::FlusherInputs::Affinity::allocation_group : sim::FlusherInputs::Affinity::inode;
  if (e.memory.cgroup_limit) {
    out.cgroup_limit = *e.memory.cgroup_limit;
    notes.emplace_back("memory.cgroup_limit bounds what the cgroup may have dirty; that its page cache is reclaimed at the limit is not modelled");
  }
  if (out.kind == Own::contexts) notes.emplace_back("no kernel up to 6.19 has several flush contexts for a device: this is the parallel-writeback series of October 2025");
  return {};
}

}  // namespace

Status can_simulate(const Experiment& e) {
  if (e.pipeline) {
    if (e.has_replay || !e.jobs.empty()) return unsupported("runs a [pipeline] alone: take [replay] and [[job]] out of the experiment");
    return {};
  }
  if (!e.has_replay && e.jobs.empty()) return unsupported("has nothing to do: the experiment has no [replay] and no [[job]]");
  for (const JobSpec& job : e.jobs) SPILLWAY_TRY(can_simulate_job(job));
  if (e.filesystem.type != "xfs") return unsupported(fmt::format("knows XFS only, not {}", e.filesystem.type));
  if (e.memory.cgroup_limit && e.replay.flushers != "kernel" && !e.replay.flushers.starts_with("cgroup:"))
    return unsupported(fmt::format("has cgroups with flushers = \"cgroup:N\" only, not together with \"{}\"; leave memory.cgroup_limit out", e.replay.flushers));
  if (e.replay.direct == "auto") return unsupported("does not know replay.direct = \"auto\" yet; true and false are modelled");
  if (e.replay.drop_behind) return unsupported("does not know replay.drop_behind yet");
  if (has(e.replay.after, "syncfs_each")) return unsupported("does not know replay.after = [\"syncfs_each\"] yet; sync, fsync_each and none are modelled");
  return {};
}

std::shared_ptr<const sim::FileCatalogue> file_catalogue(const Catalogue& catalogue) {
  auto out = std::make_shared<sim::FileCatalogue>();
  std::map<std::string, std::int32_t> directories;
  const auto index_of = [&directories](const std::string& path) {
    const auto next = static_cast<std::int32_t>(directories.size());
    return directories.emplace(path, next).first->second;
  };
  for (const CatalogueEntry& e : catalogue.entries) {
    if (e.type == EntryType::directory) index_of(e.path);
    if (e.type != EntryType::file) continue;
    const std::size_t slash = e.path.rfind('/');
    out->files.push_back({e.stored, index_of(slash == std::string::npos ? "" : e.path.substr(0, slash))});
  }
  out->directories = std::max<std::int32_t>(1, static_cast<std::int32_t>(directories.size()));
  return out;
}

Result<Translation> translate(const Case& item, std::shared_ptr<const sim::FileCatalogue> catalogue, const std::optional<Record>& like, std::uint64_t seed) {
  const Experiment& e = item.experiment;
  SPILLWAY_TRY(can_simulate(e));
  Translation out;
  SPILLWAY_ASSIGN(out.profile, load_profile(e.box.profile, e.folder));
  Profile& p = out.profile;
  const auto given = [&p](const char* section, const char* key, auto value, const char* source) { p.described[section][key] = {{"value", value}, {"mark", "assumed"}, {"source", source}}; };
  const auto measured = [&p](const char* section, const char* key, auto value) { p.described[section][key] = {{"value", value}, {"mark", "measured"}, {"source", "the record it is like"}}; };
  if (like) {
    if (!like->box.kernel.empty()) p.kernel = like->box.kernel, measured("box", "kernel", p.kernel);
    if (like->box.hz > 0) p.hz = like->box.hz, measured("box", "hz", p.hz);
    if (like->box.cpus > 0) p.cpu.cores = like->box.cpus, measured("box", "cpus", p.cpu.cores);
    if (like->box.numa_nodes > 0) p.cpu.numa_nodes = like->box.numa_nodes, measured("box", "numa_nodes", p.cpu.numa_nodes);
    if (like->box.ram_bytes > 0) p.ram = Bytes{like->box.ram_bytes}, measured("memory", "ram", size_text(p.ram));
    take_settings(*like, p);
  }
  const char* const said = "the experiment, [box] or [memory]";
  if (e.box.kernel) p.kernel = *e.box.kernel, given("box", "kernel", p.kernel, said);
  if (e.box.hz) p.hz = *e.box.hz, given("box", "hz", p.hz, said);
  if (e.box.cpus) p.cpu.cores = *e.box.cpus, given("box", "cpus", p.cpu.cores, said);
  if (e.box.numa_nodes) p.cpu.numa_nodes = *e.box.numa_nodes, given("box", "numa_nodes", p.cpu.numa_nodes, said);
  if (e.memory.ram) p.ram = *e.memory.ram, given("memory", "ram", size_text(p.ram), said);
  for (const auto& [name, value] : e.box.costs) SPILLWAY_TRY(set_cost(p, name, value));

  sim::BoxInputs& in = out.inputs;
  in.seed = seed;
  in.trace_throttling = true;
  auto version = sim::kernel_version(p.kernel);
  if (!version) return fail(ErrorKind::bad_input, fmt::format("box.kernel: {}", version.error().what));
  in.kernel = *version;
  for (const auto& [name, value] : e.box.kernel_constants) {
    if (const auto set = sim::set_kernel_constant(in.kernel.constants, name, value); !set) return fail(ErrorKind::bad_input, fmt::format("box.kernel_constants: {}", set.error().what));
    p.described["kernel_constants"][name] = {{"value", value}, {"mark", "assumed"}, {"source", said}};
  }
  in.hz = p.hz;
  in.cpu = p.cpu;
  in.cpu.context_switch = p.costs.context_switch;
  in.costs = p.costs;

  // Memory: as in the kernel, writing one form of a limit clears the other.
  in.memory.ram = p.ram;
  in.memory.dirty = p.dirty;
  if (e.memory.dirty_ratio) in.memory.dirty.dirty_ratio = *e.memory.dirty_ratio, in.memory.dirty.dirty_bytes = Bytes{0};
  if (e.memory.dirty_bytes) in.memory.dirty.dirty_bytes = *e.memory.dirty_bytes;
  if (e.memory.dirty_background_ratio) in.memory.dirty.background_ratio = *e.memory.dirty_background_ratio, in.memory.dirty.background_bytes = Bytes{0};
  if (e.memory.dirty_background_bytes) in.memory.dirty.background_bytes = *e.memory.dirty_background_bytes;
  in.memory.dirty_expire = e.memory.dirty_expire.value_or(p.dirty_expire);
  in.memory.writeback_interval = e.memory.dirty_writeback.value_or(p.dirty_writeback);

  // The state before the run: a record's, over it what [box] says.
  BoxState state = like ? like->state_before : BoxState{};
  if (!like) state.cold = e.target.cold;
  if (e.box.completion_share) {
    state.completion_share = e.box.completion_share;
    state.device_completions_pages = state.global_completions_pages = std::nullopt;
  }
  if (e.box.write_bandwidth) state.write_bandwidth_pages_per_s = state.avg_write_bandwidth_pages_per_s = e.box.write_bandwidth->value() / 4096;
  if (e.box.dirty_ratelimit) state.dirty_ratelimit_pages_per_s = state.balanced_dirty_ratelimit_pages_per_s = e.box.dirty_ratelimit->value() / 4096;
  if (e.box.dirtyable) state.dirtyable_pages = e.box.dirtyable->value() / 4096;
  if (e.box.foreign_dirty) state.foreign_dirty_pages = e.box.foreign_dirty->value() / 4096;
  set_state(in.before, state, e, out);

  const int untars = e.has_replay ? e.replay.untars : 0;
  SPILLWAY_ASSIGN(in.jobs, job_inputs(e, out.notes));
  SPILLWAY_ASSIGN(in.filesystem, filesystem_inputs(e.filesystem, catalogue->bytes() * untars + job_files_bytes(e), &out.notes));
  name_device(e, in.device);
  SPILLWAY_TRY(set_flushers(e, in.flushers, out.notes));

  const DeviceSpecText& d = e.device;
  in.device.queue_depth = d.nr_requests;
  in.device.volatile_cache = d.volatile_cache;
  if (p.device_base_rate && p.device_base_rate->value() > 0) in.device.base_rate = *p.device_base_rate;
  if (p.device_latency) in.device.latency = *p.device_latency;
  if (p.device_flush_time) in.device.flush_time = *p.device_flush_time;
  if (d.read_rate.value() > 0) in.device.read_rate = d.read_rate;
  in.device.write_iops = d.iops;
  if (is_fixed_rate_ssd(d)) {
    in.device.kind = sim::DeviceInputs::Kind::fixed;
    in.device.write_rate = d.rate;
    out.device_text = fmt::format("an SSD that reads {} and writes {}", rate_text(d.read_rate), rate_text(d.rate));
  } else if (d.model != "limit" || d.write_cache.value() > 0) {
    SPILLWAY_TRY(set_device_model(d, in.filesystem.size, in));
    out.device_text = device_sentence(d);
  } else if (d.rate.value() > 0) {
    in.device.kind = d.queue == "unlimited" ? sim::DeviceInputs::Kind::throttled : sim::DeviceInputs::Kind::stacked;
    in.device.write_rate = d.rate;
    out.device_text = fmt::format("a limit of {}{}", rate_text(d.rate), d.queue == "unlimited" ? " in front of an unlimited queue" : fmt::format(" behind a queue of {}", d.nr_requests));
  } else {
    in.device.kind = sim::DeviceInputs::Kind::fixed;
    in.device.write_rate = in.device.base_rate;
    if (d.read_rate.value() <= 0) in.device.read_rate = in.device.base_rate;
    out.device_text = fmt::format("no limit: {} (assumed)", rate_text(in.device.base_rate));
    if (!p.device_base_rate) out.notes.push_back(fmt::format("device.rate is not given: the disk itself is taken as {}", rate_text(in.device.base_rate)));
  }

  sim::ReplayInputs& r = in.replay;
  r.catalogue = std::move(catalogue);
  r.untars = untars;
  r.at_once = e.replay.at_once;
  r.gap = p.costs.between_untars;
  r.engine.name = e.replay.engine;
  r.engine.writers = e.replay.writers;
  r.engine.direct = e.replay.direct == "true";
  r.engine.fsync_each = has(e.replay.after, "fsync_each");
  // cited: GNU tar writes records of 20 blocks. assumed: 64 KiB for libarchive's block, whole files up to 1 MiB for ours.
  if (e.replay.engine == "tar") {
    r.engine.user_per_page = p.tar_user_per_page;
    r.engine.system_per_page = p.tar_system_per_page;
  } else {
    r.engine.write_size = e.replay.engine == "bsdtar" || e.replay.engine == "libarchive" ? Bytes{64 * kKiB} : Bytes{kMiB};
  }
  if (e.replay.engine == "uring") out.notes.push_back("engine uring is simulated as posix: the cost of rings is not modelled");
  // On one core the order of wake-ups is the timer wheel's, and known.
  if (r.untars > 1 && r.at_once > 1 && in.cpu.cores > 1) {
    in.wake_jitter = kWakeJitter;
    out.unknown_state.emplace_back(kUnknownOrder);
  }
  if (r.engine.writers > 1) in.wake_jitter = kWakeJitter;
  if (untars == 0) {  // what jobs write at a time decides the size of folios and bios
    r.engine.write_size = Bytes{4096};
    for (const sim::JobInputs& job : in.jobs) r.engine.write_size = std::max(r.engine.write_size, job.bs);
  }
  if (untars > 0 && e.replay.cache == "cold") {
    r.archive_cold = true;
    out.notes.push_back(fmt::format("the archive is read from a disk of its own at {} (assumed)", rate_text(r.archive_rate)));
  }
  if (!all_fit_full_xfs(in.jobs) || r.archive_cold) {
    in.filesystem.model = sim::FilesystemInputs::Model::thin;
    out.notes.push_back("with jobs that read, unlink or write directly, or a cold archive, the file system is the thin one: contiguous files, no allocation groups");
  }
  r.remove_before = has(e.replay.before, "remove");
  r.skeleton_before = has(e.replay.before, "skeleton");
  r.sync_after = has(e.replay.after, "sync");
  for (const auto& [name, text] : e.knobs) {
    int value = 0;
    const bool number = std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc{};
    if (name == "/sys/block/{dev}/queue/nr_requests" && number && value > 0) {
      in.device.queue_depth = value;
    } else if (name == "/sys/block/{dev}/queue/read_ahead_kb" && number && value >= 4) {
      in.device.read_ahead = Bytes{value * kKiB};
    } else if (name == "/sys/block/{dev}/queue/max_sectors_kb" && number && value >= 4) {
      in.device.max_request = Bytes{value * kKiB};
    } else {
      out.notes.push_back(no_effect_note(name));
    }
  }
  for (const std::string& setting : unmodelled(e)) out.notes.push_back(no_effect_note(setting));
  return out;
}

}  // namespace spillway::simulated
