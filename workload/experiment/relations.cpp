#include "workload/experiment/relations.hpp"

#include "workload/experiment/quantity.hpp"
#include "workload/record/metric.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/core.h>
#include <map>
#include <set>

namespace spillway {

namespace {

class Checker {
 public:
  Checker(const Experiment& experiment, const Places& places, std::vector<std::string>& warnings)
      : e_(experiment), places_(places), warnings_(warnings) {}

  Status all() {
    SPILLWAY_TRY(archive());
    if (e_.has_replay || e_.replay.untars == 0) SPILLWAY_TRY(replay());
    SPILLWAY_TRY(jobs());
    if (e_.pipeline) SPILLWAY_TRY(pipeline());
    SPILLWAY_TRY(memory());
    SPILLWAY_TRY(filesystem());
    SPILLWAY_TRY(device());
    SPILLWAY_TRY(target());
    SPILLWAY_TRY(box());
    SPILLWAY_TRY(knobs());
    return expectations();
  }

 private:
  std::unexpected<Error> refuse(std::string_view path, std::string sentence) const {
    return fail(ErrorKind::bad_input, fmt::format("{}: {}", places_.of(path), sentence));
  }
  void warn(std::string_view path, std::string sentence) { warnings_.push_back(fmt::format("{}: {}", places_.of(path), sentence)); }

  Status archive() {
    const ArchiveSpec& a = e_.archive;
    if (!a.path.empty()) {
      const bool hex = std::all_of(a.sha256.begin(), a.sha256.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
      if (!a.sha256.empty() && (a.sha256.size() != 64 || !hex)) {
        return refuse("archive.sha256", fmt::format("archive.sha256 should be 64 hex digits (lower case), found {} characters", a.sha256.size()));
      }
      return {};
    }
    if (a.sizes == "lognormal") {
      if (a.min > a.max) return refuse("archive.min", fmt::format("archive.min = {} is more than archive.max = {}", size_text(a.min), size_text(a.max)));
      const double mean = static_cast<double>(a.bytes.value()) / static_cast<double>(a.files);
      if (mean < static_cast<double>(a.min.value()) || mean > static_cast<double>(a.max.value())) {
        return refuse("archive.bytes", fmt::format("archive.bytes = {} in {} files is {:.0f} bytes a file, outside archive.min = {} to archive.max = {}",
                                                   size_text(a.bytes), a.files, mean, size_text(a.min), size_text(a.max)));
      }
    }
    if (a.sizes == "histogram" && a.histogram.empty()) {
      return refuse("archive.sizes", "archive.sizes = \"histogram\" needs archive.histogram, for example [[\"4KiB\", 10], [\"1MiB\", 1]]");
    }
    if (a.sizes != "histogram" && !a.histogram.empty()) {
      return refuse("archive.histogram", fmt::format("archive.histogram is given but archive.sizes = \"{}\"; set it to \"histogram\"", a.sizes));
    }
    return {};
  }

  Status replay() {
    const ReplaySpec& r = e_.replay;
    const bool own_engine = r.engine == "posix" || r.engine == "uring";
    if (r.untars == 0 && e_.jobs.empty()) return refuse("replay.untars", "replay.untars = 0 leaves nothing to do without a [[job]]");
    if (r.untars > 0 && r.at_once > r.untars) return refuse("replay.at_once", fmt::format("replay.at_once = {} is more than replay.untars = {}", r.at_once, r.untars));
    if (r.direct != "false" && !own_engine) {
      return refuse("replay.direct", fmt::format("replay.direct = {} needs replay.engine = \"posix\" or \"uring\"; {} writes through the page cache only", r.direct, r.engine));
    }
    if (r.writers > 1 && !own_engine) {
      return refuse("replay.writers", fmt::format("replay.writers = {} needs replay.engine = \"posix\" or \"uring\"; {} has one writer", r.writers, r.engine));
    }
    if (r.drop_behind && !own_engine) return refuse("replay.drop_behind", fmt::format("replay.drop_behind needs replay.engine = \"posix\" or \"uring\", not \"{}\"", r.engine));
    if (r.drop_behind && r.direct == "true") return refuse("replay.drop_behind", "replay.drop_behind has nothing to drop with replay.direct = true; leave one of them out");
    const auto flushers = parse_flushers(r.flushers);
    if (!flushers) return refuse("replay.flushers", fmt::format("replay.flushers = \"{}\" {}", r.flushers, flushers.error()));
    for (const auto* list : {&r.before, &r.after}) {
      const std::string key = list == &r.before ? "replay.before" : "replay.after";
      std::set<std::string> seen;
      for (const std::string& phase : *list) {
        if (!seen.insert(phase).second) return refuse(key, fmt::format("{} names \"{}\" twice", key, phase));
      }
      if (seen.contains("none") && seen.size() > 1) return refuse(key, "replay.after has \"none\" beside other phases");
    }
    if (std::find(r.before.begin(), r.before.end(), "skeleton") != r.before.end() && !r.before.empty() && r.before.back() == "remove") {
      return refuse("replay.before", "replay.before removes the skeleton that it has just made; write [\"remove\", \"skeleton\"]");
    }
    return {};
  }

  Status jobs() {
    std::map<std::string, std::string> after;  // whom it waits for
    std::map<std::string, int> instances;
    for (std::size_t i = 0; i < e_.jobs.size(); ++i) {
      const JobSpec& j = e_.jobs[i];
      const std::string path = fmt::format("job[{}]", i + 1);
      if (j.name.empty()) return refuse(path, fmt::format("{} has no name", path));
      if (!j.after.empty() && !j.continues.empty()) return refuse(path + ".continues", fmt::format("job \"{}\" has both after and continues; continues starts it when that job has ended", j.name));
      instances[j.name] = j.numjobs;
      if (!after.emplace(j.name, j.continues.empty() ? j.after : j.continues).second) return refuse(path + ".name", fmt::format("two jobs have the name \"{}\"", j.name));
      const bool moves_data = j.rw == "read" || j.rw == "write" || j.rw == "randread" || j.rw == "randwrite" || j.rw == "randrw";
      if (moves_data && j.size.value() == 0 && j.filesize.value() == 0 && j.runtime.count() == 0) {
        return refuse(path, fmt::format("job \"{}\" has neither size nor runtime, so it would not end", j.name));
      }
      if (moves_data && j.size.value() > 0 && j.bs > j.size) {
        return refuse(path + ".bs", fmt::format("job \"{}\": bs = {} is more than size = {}", j.name, size_text(j.bs), size_text(j.size)));
      }
      if (j.rw == "compute" && j.compute.count() == 0) return refuse(path, fmt::format("job \"{}\" computes, but its compute is 0s", j.name));
      if (j.rw == "probe" && j.runtime.count() == 0) return refuse(path, fmt::format("job \"{}\" is a probe and needs a runtime", j.name));
      if (j.direct && j.ioengine == "mmap") return refuse(path + ".direct", fmt::format("job \"{}\": direct and ioengine = \"mmap\" exclude each other", j.name));
      if (j.iodepth > 1 && j.ioengine != "libaio" && j.ioengine != "io_uring") {
        warn(path + ".iodepth", fmt::format("job \"{}\": ioengine \"{}\" has one operation in flight whatever iodepth says; use libaio or io_uring", j.name, j.ioengine));
      }
    }
    for (std::size_t i = 0; i < e_.jobs.size(); ++i) {
      const JobSpec& j = e_.jobs[i];
      const std::string path = fmt::format("job[{}].after", i + 1);
      if (!j.after.empty() && !after.contains(j.after)) return refuse(path, fmt::format("job \"{}\" starts after \"{}\", but there is no such job", j.name, j.after));
      if (!j.continues.empty() && !after.contains(j.continues)) return refuse(fmt::format("job[{}].continues", i + 1), fmt::format("job \"{}\" continues \"{}\", but there is no such job", j.name, j.continues));
      if (!j.continues.empty() && instances[j.continues] != j.numjobs) {
        return refuse(fmt::format("job[{}].continues", i + 1), fmt::format("job \"{}\" has numjobs = {} and continues \"{}\" with {}; each instance goes on in one process, so they must be equal", j.name, j.numjobs, j.continues, instances[j.continues]));
      }
      std::string at = j.name;
      for (std::size_t steps = 0; !at.empty(); ++steps, at = after[at]) {
        if (steps > e_.jobs.size()) return refuse(path, fmt::format("job \"{}\" waits for itself: its `after` or `continues` goes round in a circle", j.name));
      }
    }
    return {};
  }

  Status pipeline() {
    const PipelineSpec& p = *e_.pipeline;
    if (p.stages.empty()) return refuse("pipeline", "a pipeline needs at least one [[pipeline.stage]]");
    if (p.requests == 0 && p.runtime.count() == 0) return refuse("pipeline", "the pipeline has neither requests nor runtime, so it would not end");
    std::set<std::string> names;
    bool link = false;
    std::set<std::string> hosts;
    for (std::size_t i = 0; i < p.hosts.size(); ++i) {
      const std::string path = fmt::format("pipeline.host[{}]", i + 1);
      if (p.hosts[i].name.empty()) return refuse(path, fmt::format("{} has no name", path));
      if (!hosts.insert(p.hosts[i].name).second) return refuse(path + ".name", fmt::format("two pipeline hosts have the name \"{}\"", p.hosts[i].name));
    }
    for (std::size_t i = 0; i < p.stages.size(); ++i) {
      const StageSpec& s = p.stages[i];
      const std::string path = fmt::format("pipeline.stage[{}]", i + 1);
      if (s.name.empty()) return refuse(path, fmt::format("{} has no name", path));
      if (!names.insert(s.name).second) return refuse(path + ".name", fmt::format("two pipeline stages have the name \"{}\"", s.name));
      if (!s.host.empty() && !hosts.contains(s.host)) return refuse(path + ".host", fmt::format("pipeline stage \"{}\" runs on \"{}\", which no [[pipeline.host]] names", s.name, s.host));
      if (s.blocking && !s.device) return refuse(path + ".blocking", fmt::format("pipeline stage \"{}\" is blocking but has no device to wait for; give device = true", s.name));
      if (s.link && s.device) return refuse(path + ".link", fmt::format("pipeline stage \"{}\" has both link and device; make two stages of it", s.name));
      if (s.lock_hold.count() > 0 && s.lock.empty()) return refuse(path + ".lock_hold", fmt::format("pipeline stage \"{}\" has lock_hold = {} but no lock", s.name, time_text(s.lock_hold)));
      if (!s.lock.empty() && s.lock_hold.count() == 0) return refuse(path + ".lock", fmt::format("pipeline stage \"{}\" takes the lock \"{}\" for no time; give lock_hold", s.name, s.lock));
      if (s.link && p.link_rate.value() == 0) return refuse(path + ".link", fmt::format("pipeline stage \"{}\" sends over a link, but pipeline.link_rate is not given", s.name));
      link = link || s.link;
    }
    if (p.link_rate.value() > 0 && !link) return refuse("pipeline.link_rate", "pipeline.link_rate is given, but no stage has link = true");
    return {};
  }

  Status memory() {
    const MemorySpec& m = e_.memory;
    if (m.dirty_ratio && m.dirty_bytes) return refuse("memory.dirty_ratio", "memory.dirty_ratio and memory.dirty_bytes exclude each other, as in the kernel; leave one out");
    if (m.dirty_background_ratio && m.dirty_background_bytes) {
      return refuse("memory.dirty_background_ratio", "memory.dirty_background_ratio and memory.dirty_background_bytes exclude each other, as in the kernel; leave one out");
    }
    if (m.dirty_bytes && m.dirty_background_bytes && *m.dirty_background_bytes >= *m.dirty_bytes) {
      warn("memory.dirty_background_bytes", fmt::format("memory.dirty_background_bytes = {} is not below memory.dirty_bytes = {}: the kernel will use half the limit, {}",
                                                        size_text(*m.dirty_background_bytes), size_text(*m.dirty_bytes), size_text(*m.dirty_bytes / 2)));
    }
    if (m.dirty_ratio && m.dirty_background_ratio && *m.dirty_background_ratio >= *m.dirty_ratio) {
      warn("memory.dirty_background_ratio", fmt::format("memory.dirty_background_ratio = {} is not below memory.dirty_ratio = {}: the kernel will use half the limit",
                                                        *m.dirty_background_ratio, *m.dirty_ratio));
    }
    if (m.ram && m.dirty_bytes && *m.dirty_bytes >= *m.ram) {
      return refuse("memory.dirty_bytes", fmt::format("memory.dirty_bytes = {} is not below memory.ram = {}", size_text(*m.dirty_bytes), size_text(*m.ram)));
    }
    return {};
  }

  Status filesystem() {
    const FilesystemSpec& f = e_.filesystem;
    if (f.su.has_value() != f.sw.has_value()) {
      return refuse(f.su ? "filesystem.su" : "filesystem.sw", fmt::format("filesystem.su and filesystem.sw go together; {} is missing", f.su ? "sw" : "su"));
    }
    if (f.su && f.su->value() % 4096 != 0) return refuse("filesystem.su", fmt::format("filesystem.su = {} is not a multiple of 4KiB", size_text(*f.su)));
    if (f.inode_size && (f.inode_size->value() & (f.inode_size->value() - 1)) != 0) {
      return refuse("filesystem.inode_size", fmt::format("filesystem.inode_size = {} is not 256B, 512B, 1KiB or 2KiB", size_text(*f.inode_size)));
    }
    // cited: mkfs.xfs 6.x refuses less than 300 MB.
    if (f.type == "xfs" && f.size.value() > 0 && f.size.value() < 300 * kMiB) {
      return refuse("filesystem.size", fmt::format("filesystem.size = {} is too small: mkfs.xfs makes no file system below 300MiB", size_text(f.size)));
    }
    for (const std::string& option : f.mount_options) {
      if (option.empty() || option.find_first_of(" \t\n,") != std::string::npos) {
        return refuse("filesystem.mount_options", fmt::format("filesystem.mount_options has \"{}\": give each option as a text of its own, without blanks and commas", option));
      }
    }
    return {};
  }

  Status device() {
    const DeviceSpecText& d = e_.device;
    static const std::map<std::string, int> least = {{"raid0", 2}, {"raid5", 3}, {"raid6", 4}, {"raid10", 2}, {"jbod", 1}};
    const auto array = least.find(d.model);
    if (array == least.end() && d.disks != 1) {
      return refuse("device.disks", fmt::format("device.disks = {} needs an array: device.model = raid0, raid5, raid6, raid10 or jbod, not \"{}\"", d.disks, d.model));
    }
    if (array != least.end() && d.disks < array->second) {
      return refuse(places_has_disks() ? "device.disks" : "device.model", fmt::format("device.model = \"{}\" needs device.disks of at least {}, found {}", d.model, array->second, d.disks));
    }
    if (d.chunk.value() % 4096 != 0) return refuse("device.chunk", fmt::format("device.chunk = {} is not a multiple of 4KiB", size_text(d.chunk)));
    for (const auto& [name, rate] : {std::pair{"device.rate", d.rate}, std::pair{"device.read_rate", d.read_rate}}) {
      if (rate.value() > 0 && rate.value() < 10 * kKB) return refuse(name, fmt::format("{} = {} is less than 10kB/s: is the unit right?", name, rate_text(rate)));
    }
    return {};
  }
  [[nodiscard]] bool places_has_disks() const { return places_.of("device.disks") != places_.of("device"); }

  Status target() {
    const TargetSpec& t = e_.target;
    if ((t.kind == "mount" || t.kind == "device") && t.path.empty()) {
      return refuse("target.kind", fmt::format("target.kind = \"{}\" needs target.path, {}", t.kind, t.kind == "mount" ? "the directory" : "the block device"));
    }
    return {};
  }

  Status box() {
    const BoxSpec& b = e_.box;
    if (b.hz && *b.hz != 100 && *b.hz != 250 && *b.hz != 300 && *b.hz != 1000) {
      return refuse("box.hz", fmt::format("box.hz = {} is not a timer frequency that kernels have: 100, 250, 300 or 1000", *b.hz));
    }
    if (b.cpus && b.numa_nodes && *b.numa_nodes > *b.cpus) {
      return refuse("box.numa_nodes", fmt::format("box.numa_nodes = {} is more than box.cpus = {}", *b.numa_nodes, *b.cpus));
    }
    if (b.kernel) {
      int major = 0, minor = 0;
      const char* begin = b.kernel->data();
      const char* end = begin + b.kernel->size();
      const auto first = std::from_chars(begin, end, major);
      const bool dot = first.ec == std::errc{} && first.ptr != end && *first.ptr == '.';
      if (!dot || std::from_chars(first.ptr + 1, end, minor).ec != std::errc{}) {
        return refuse("box.kernel", fmt::format("box.kernel = \"{}\" is not a kernel version such as \"6.1\"", *b.kernel));
      }
    }
    return {};
  }

  Status knobs() {
    for (const auto& [name, text] : e_.knobs) {
      const std::string path = "knobs";
      if (name.find("..") != std::string::npos) return refuse(path, fmt::format("the knob \"{}\" has \"..\" in it", name));
      const bool sysctl = name.find('/') == std::string::npos;
      if (!sysctl && !name.starts_with("/sys/") && !name.starts_with("/proc/sys/")) {
        return refuse(path, fmt::format("the knob \"{}\" is neither below /sys/ or /proc/sys/ nor a sysctl name", name));
      }
      if (sysctl && name.find('.') == std::string::npos) return refuse(path, fmt::format("the knob \"{}\" is not a sysctl name such as \"vm.swappiness\"", name));
      if (name.starts_with("vm.dirty") || name.starts_with("/proc/sys/vm/dirty")) {
        return refuse(path, fmt::format("the knob \"{}\" belongs into [memory], where both boxes see it", name));
      }
      if (text.empty() || text.find('\n') != std::string::npos) return refuse(path, fmt::format("the knob \"{}\" should have one line of text", name));
    }
    return {};
  }

  Status expectations() {
    for (std::size_t i = 0; i < e_.expectations.size(); ++i) SPILLWAY_TRY(expectation(e_.expectations[i], fmt::format("expect[{}]", i + 1)));
    return {};
  }

  Status expectation(const Expectation& x, const std::string& path) {
    const auto say = [&](std::string sentence) { return refuse(path, fmt::format("{}: {}", path, sentence)); };
    const auto metric = parse_metric(x.metric);
    if (!metric) return say(metric.error().what);
    switch (x.op) {
      case ExpectOp::value:
        if (!x.value) return say("op = \"value\" needs a value that is a number");
        if (!x.tolerance && !x.tolerance_abs) return say("op = \"value\" needs a tolerance, for example \"20%\"");
        break;
      case ExpectOp::at_most:
      case ExpectOp::at_least:
        if (!x.value) return say("this op needs a value that is a number");
        break;
      case ExpectOp::knee_at:
        if (!x.value) return say("op = \"knee_at\" needs a value that is a number");
        break;
      case ExpectOp::up:
      case ExpectOp::down:
        if (!x.versus) return say("op = \"up\" or \"down\" needs `versus`, the case that it is held against");
        if (x.value) return say("op = \"up\" or \"down\" takes no value; use at_least or at_most for a number");
        break;
      case ExpectOp::unchanged:
        if (!x.versus) return say("op = \"unchanged\" needs `versus`, the case that it is held against");
        if (!x.margin) return say("op = \"unchanged\" needs a margin, for example \"5%\"");
        break;
      case ExpectOp::ordered:
        if (x.order.size() < 2) return say("op = \"ordered\" needs an order of at least two values");
        break;
      case ExpectOp::bottleneck: {
        const auto keys = account_keys();
        if (!x.text) return say("op = \"bottleneck\" needs a value that is a text, for example \"throttled\"");
        if (std::find(keys.begin(), keys.end(), *x.text) == keys.end()) {
          return say(fmt::format("\"{}\" is not a part of the account: user, system, runqueue, throttled, device, lock, log or unknown", *x.text));
        }
        break;
      }
    }
    if (x.guess || x.guess_text) {
      const bool direction = x.op == ExpectOp::up || x.op == ExpectOp::down || x.op == ExpectOp::unchanged;
      const bool number = x.op == ExpectOp::value || x.op == ExpectOp::at_most || x.op == ExpectOp::at_least;
      if (number && !x.guess) return say(fmt::format("the guess \"{}\" is a text; a number was expected, as in `value`", *x.guess_text));
      if (direction && !(x.guess_text == "up" || x.guess_text == "down" || x.guess_text == "unchanged"))
        return say("a guess at a direction is one of \"up\", \"down\" and \"unchanged\"");
      if (!direction && !number) return say("a guess is scored for a number or a direction only; take it out");
    }
    if (x.text && x.op != ExpectOp::bottleneck) return say(fmt::format("the value \"{}\" is a text; a number was expected", *x.text));
    if (metric->group == "job") {
      const auto n = metric->number();
      // A pipeline's throughput and latency stand in its record as the job "pipeline".
      const bool is_pipeline = e_.pipeline && metric->selector == "pipeline";
      const bool known = is_pipeline || (n ? *n <= static_cast<int>(e_.jobs.size()) : std::any_of(e_.jobs.begin(), e_.jobs.end(), [&](const JobSpec& j) { return j.name == metric->selector; }));
      if (!known) return say(fmt::format("{} names a job that is not in the file", x.metric));
    }
    if (metric->group == "stage") {
      const auto n = metric->number();
      const auto& stages = e_.pipeline ? e_.pipeline->stages : std::vector<StageSpec>{};
      const bool known = n ? *n <= static_cast<int>(stages.size()) : std::any_of(stages.begin(), stages.end(), [&](const StageSpec& s) { return s.name == metric->selector; });
      if (!known) return say(fmt::format("{} names a pipeline stage that is not in the file", x.metric));
    }
    if ((metric->group == "untar" || metric->group == "knee") && !e_.has_replay) return say(fmt::format("{} needs a [replay]", x.metric));
    return {};
  }

  const Experiment& e_;
  const Places& places_;
  std::vector<std::string>& warnings_;
};

}  // namespace

Status check_relations(const Experiment& experiment, const Places& places, std::vector<std::string>& warnings) {
  return Checker{experiment, places, warnings}.all();
}

std::expected<Flushers, std::string> parse_flushers(const std::string& text) {
  const std::string syntax = "should be kernel, user:N, cgroup:N, contexts:N:hash, contexts:N:ag or per_writer";
  Flushers out;
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ':') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  const auto count = [&]() -> bool {
    if (parts.size() < 2) return false;
    const std::string& s = parts[1];
    const auto [end, code] = std::from_chars(s.data(), s.data() + s.size(), out.count);
    return code == std::errc{} && end == s.data() + s.size() && out.count >= 1 && out.count <= 4096;
  };
  if (text == "kernel") return out;
  if (text == "per_writer") {
    out.kind = Flushers::Kind::per_writer;
    return out;
  }
  if (parts[0] == "user" || parts[0] == "cgroup" || parts[0] == "contexts") {
    out.kind = parts[0] == "user" ? Flushers::Kind::user : parts[0] == "cgroup" ? Flushers::Kind::cgroup : Flushers::Kind::contexts;
    if (!count()) return std::unexpected(fmt::format("{} with N from 1 to 4096", syntax));
    if (out.kind != Flushers::Kind::contexts && parts.size() == 2) return out;
    if (out.kind == Flushers::Kind::contexts && parts.size() == 3 && (parts[2] == "hash" || parts[2] == "ag")) {
      out.binding = parts[2] == "ag" ? Flushers::Binding::ag : Flushers::Binding::hash;
      return out;
    }
  }
  return std::unexpected(syntax);
}

}  // namespace spillway
