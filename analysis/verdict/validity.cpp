#include "analysis/verdict/validity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "workload/record/metric.hpp"
#include "workload/record/notes.hpp"

namespace spillway::analysis {
namespace {

constexpr std::array<ValidityRule, 19> kRules{{
    {Topic::log, "real:loop", 0, "metadata and log writes pass the loop's limit unthrottled, so the log costs nothing there",
     "measured: the real box's fact sheet, throttle section"},
    {Topic::metadata, "real:loop", 0, "metadata passes the loop's limit unthrottled, so metadata costs nothing there",
     "measured: the real box's fact sheet, throttle section"},
    {Topic::layout, "real:loop", 0, "a bandwidth limit has no seeks, so it makes no difference where data lies",
     "measured: with and without stripe alignment the untars take the same time, with five times the I/Os"},
    {Topic::device, "real:mount", 0, "a mounted directory has the disk it has, and [device] is not imitated", "design"},
    {Topic::geometry, "real:mount", 0, "a mounted file system keeps the geometry it was made with", "design"},
    {Topic::device, "real:device", 0, "the disk is what it is, and [device] is not imitated", "design"},
    {Topic::cpu, "real:modeled", 3, "the modeled disk's own threads need about 1 s of CPU per GB and the untars share the cores with them",
     "measured: the FUSE disk model on two cores"},
    {Topic::locks, "real", 4, "so few cores say nothing about contention", "design"},
    {Topic::locks, "kernel", 4, "so few cores say nothing about contention", "design"},
    {Topic::cpu, "kernel", 0, "in virtual time computing takes no time", "measured: time-travel=inf-cpu charges no CPU"},
    {Topic::scheduler, "kernel", 0, "in virtual time computing takes no time, so nobody waits for a core", "as above"},
    {Topic::cpu, "vm", 0, "emulation makes the CPU 10 to 20 times slower against the disk than on a machine",
     "measured: untar of 80 MB under emulation"},
    {Topic::locks, "vm", 0, "emulation makes the CPU 10 to 20 times slower against the disk than on a machine", "as above"},
    {Topic::scheduler, "vm", 0, "emulation makes the CPU 10 to 20 times slower, and the host's scheduler mixes in", "as above"},
    {Topic::log, "real:mount", 0, "a mounted file system keeps its log, and what its disk does with it is not known", "design"},
    {Topic::layout, "simulated", 0, "a limit of bytes or I/Os a second has no seeks, so it makes no difference where data lies: give [device] a disk or an array",
     "sim/block: simple_block_device", "limit"},
    {Topic::layout, "kernel", 0, "a limit of bytes or I/Os a second has no seeks, so it makes no difference where data lies: give [device] a disk or an array",
     "workload/kernel: virtual_disk", "limit"},
    {Topic::layout, "vm", 0, "the emulator's disk is limited in bytes and I/Os a second and has no seeks", "QEMU throttling options"},
    {Topic::scheduler, "simulated", 0, "untars there share cores by a plain round of slices; only a [pipeline] has the kernel's scheduler", "sim/cpu/README.md"},
}};

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> heads) {
  return std::ranges::any_of(heads, [&](std::string_view head) { return text.starts_with(head); });
}

bool has_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

void add(std::vector<Topic>& topics, Topic topic) {
  if (std::ranges::find(topics, topic) == topics.end()) topics.push_back(topic);
}

void add_of_metric(std::vector<Topic>& topics, std::string_view metric) {
  const auto name = parse_metric(metric);
  if (!name) return;
  const std::string& group = name->group;
  const std::string& field = name->field;
  if (group == "log" || field == "log_s") add(topics, Topic::log);
  if (group == "stage" || group == "kworker" || starts_with_any(field, {"cpu_", "user_s", "system_s"})) add(topics, Topic::cpu);
  if (field == "lock_s" || starts_with_any(field, {"lock_"})) add(topics, Topic::locks);
  if (field == "runqueue_s" || starts_with_any(field, {"wakeup_"})) add(topics, Topic::scheduler);
  if (group == "device" && (field == "seeks" || field == "rmw_reads" || field == "efficiency_pct")) add(topics, Topic::layout);
}

void add_of_key(std::vector<Topic>& topics, std::string_view key, std::string_view value) {
  if (key == "filesystem.mount_options") {
    if (has_any(value, {"logbsize", "logbufs", "logdev", "wsync"})) add(topics, Topic::log);
    if (has_any(value, {"allocsize", "swalloc", "sunit", "swidth", "largeio", "inode64", "inode32", "filestreams"})) add(topics, Topic::layout);
    return;
  }
  if (starts_with_any(key, {"filesystem.log", "filesystem.external_log"})) add(topics, Topic::log);
  if (starts_with_any(key, {"filesystem.inode_size", "filesystem.finobt", "filesystem.rmapbt", "filesystem.reflink"})) add(topics, Topic::metadata);
  if (starts_with_any(key, {"filesystem.su", "filesystem.sw", "filesystem.agcount", "filesystem.filled", "device.chunk", "device.disks",
                            "device.member", "device.rpm", "device.average_seek", "device.stripe_cache"})) {
    add(topics, Topic::layout);
  }
  if (starts_with_any(key, {"filesystem."})) add(topics, Topic::geometry);
  if (starts_with_any(key, {"device."})) add(topics, Topic::device);
  if (starts_with_any(key, {"replay.writers", "pipeline.stage"})) add(topics, Topic::locks);
  if (has_any(key, {"sched_", "scheduler_slice", "slice_ns"})) add(topics, Topic::scheduler);
}

/// device.model of the effective experiment; "limit" where it is not said.
std::string device_model(const Record& record) {
  const auto device = record.experiment.find("device");
  if (device == record.experiment.end() || !device->is_object()) return "limit";
  return device->value("model", std::string{"limit"});
}

bool applies_to(const ValidityRule& rule, const Record& record) {
  const std::string label = box_label(record);
  if (label != rule.box && record.box.kind != rule.box) return false;
  if (rule.topic == Topic::scheduler && !record.stages.empty()) return false;
  if (!rule.device_model.empty() && rule.device_model != device_model(record)) return false;
  return rule.fewer_cpus_than == 0 || record.box.cpus < rule.fewer_cpus_than;
}

}  // namespace

std::string_view topic_name(Topic topic) {
  switch (topic) {
    case Topic::cpu: return "CPU";
    case Topic::log: return "the log";
    case Topic::metadata: return "metadata";
    case Topic::layout: return "layout and seeks";
    case Topic::locks: return "locks and threads";
    case Topic::scheduler: return "the scheduler";
    case Topic::device: return "the device";
    case Topic::geometry: return "the file system's geometry";
  }
  return "";
}

std::span<const ValidityRule> validity_rules() { return kRules; }

std::vector<Topic> topics_of(const Expectation& expectation, const std::vector<std::pair<std::string, std::string>>& compared) {
  std::vector<Topic> topics;
  add_of_metric(topics, expectation.metric);
  // How many extents a file has is decided by the file system alone, wherever they lie, and how many I/Os become of them by
  // what lies side by side: neither needs a device with seeks.
  const bool extents = expectation.metric.starts_with("files.") || expectation.metric == "device.ios";
  for (const auto& [key, value] : compared) add_of_key(topics, key, value);
  if (extents) std::erase(topics, Topic::layout);
  return topics;
}

std::optional<std::string> why_not_valid(const std::vector<Topic>& topics, const Record& record) {
  for (const ValidityRule& rule : kRules) {
    if (std::ranges::find(topics, rule.topic) == topics.end() || !applies_to(rule, record)) continue;
    const std::string cores = rule.fewer_cpus_than > 0 ? fmt::format(" ({} cores)", record.box.cpus) : "";
    return fmt::format("a claim about {} is not decidable on {}{}: {}", topic_name(rule.topic), box_label(record), cores, rule.reason);
  }
  return std::nullopt;
}

std::optional<std::string> why_not_modelled(const std::vector<std::pair<std::string, std::string>>& compared, const Record& record) {
  for (const auto& [key, values] : compared) {
    // A list of mount options differs in some of its words only; a key or a knob is named as such.
    std::vector<std::string> settings{key};
    if (key.starts_with("knobs.")) settings.push_back(key.substr(6));
    std::string word;
    for (const char c : values + " ") {
      if (c == ' ' || c == ',' || c == '[' || c == ']' || c == '"') {
        if (!word.empty()) settings.push_back(word);
        word.clear();
      } else {
        word += c;
      }
    }
    for (const std::string& setting : settings) {
      for (const std::string& note : record.notes) {
        if (says_no_effect(note, setting)) return fmt::format("not decidable on {}: {}", box_label(record), note);
      }
    }
  }
  return std::nullopt;
}

}  // namespace spillway::analysis
