#include "analysis/report/mail.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "analysis/account/account.hpp"
#include "analysis/knee/knee.hpp"
#include "analysis/knee/timeline_knee.hpp"
#include "analysis/metrics/metric_value.hpp"
#include "analysis/quantity.hpp"
#include "analysis/report/kernel_command_line.hpp"
#include "analysis/report/narrow_toml.hpp"
#include "analysis/report/text.hpp"
#include "analysis/report/text_plot.hpp"
#include "analysis/report/untar_table.hpp"
#include "analysis/verdict/case_selection.hpp"

namespace spillway::analysis {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kCutBegin = "-----8<----- cut here: experiment file -----8<-----";
constexpr std::string_view kCutEnd = "-----8<----- end of experiment file ----------8<-----";

/// What the XFS FAQ asks for, and the keys of a record's environment under which it may stand.
struct Asked {
  std::string_view what;
  std::array<std::string_view, 4> keys;
};
constexpr std::array<Asked, 12> kAsked{{{"kernel", {"kernel", "uname", "", ""}},
                                        {"xfsprogs", {"xfsprogs", "xfs_progs", "xfs_repair", ""}},
                                        {"CPUs", {"cpus", "cpu", "lscpu", ""}},
                                        {"meminfo", {"meminfo", "proc_meminfo", "memory", ""}},
                                        {"mounts", {"mounts", "proc_mounts", "mount", ""}},
                                        {"partitions", {"partitions", "proc_partitions", "", ""}},
                                        {"RAID layout", {"raid", "raid_layout", "mdstat", "stack"}},
                                        {"write cache", {"write_cache", "cache", "", ""}},
                                        {"disks", {"disks", "device", "queue", "block"}},
                                        {"xfs_info", {"xfs_info", "geometry", "", ""}},
                                        {"dmesg", {"dmesg", "", "", ""}},
                                        {"vm.*", {"vm", "sysctl", "sysctls", "settings"}}}};

std::string text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

/// A section of a profile: values that say whether they are cited, measured or assumed.
bool is_marked_list(const Json& value) {
  return value.is_object() && !value.empty() && value.begin()->is_object() && value.begin()->contains("value") && value.begin()->contains("mark");
}

/// "write_page 650ns (assumed), ...".
std::string marked_words(const Json& section) {
  std::string out;
  for (const auto& [key, item] : section.items()) {
    if (!item.is_object() || !item.contains("value")) continue;
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", key, text_of(item["value"]));
    if (item.contains("mark")) out += fmt::format(" ({})", text_of(item["mark"]));
  }
  return out;
}

/// "scheduler = none, nr_requests = 128, queue (depth = 3)".
std::string member_words(const Json& object) {
  std::string out;
  for (const auto& [key, value] : object.items()) {
    out += out.empty() ? "" : ", ";
    out += value.is_object() ? fmt::format("{} ({})", key, member_words(value)) : fmt::format("{} = {}", key, text_of(value));
  }
  return out;
}

/// How many values of a profile are only assumed.
std::size_t assumed_values(const Json& profile) {
  std::size_t n = 0;
  if (!profile.is_object()) return n;
  for (const auto& [name, section] : profile.items()) {
    if (!is_marked_list(section)) continue;
    for (const auto& [key, item] : section.items()) n += item.is_object() && item.contains("mark") && text_of(item["mark"]) == "assumed" ? 1 : 0;
  }
  return n;
}

/// A value of the environment under its name: one line where it fits, a block where it has lines, members one by one.
std::string entry(std::string_view name, const Json& value) {
  if (value.is_object()) {
    std::string out = fmt::format("{}:\n", name);
    for (const auto& [key, member] : value.items()) {
      if (is_marked_list(member)) {
        out += wrap(key + ": " + marked_words(member), "  ", "      ");
      } else if (member.is_object()) {
        out += wrap(key + ": " + member_words(member), "  ", "      ");
      } else if (member.is_array() && !member.empty() && member.front().is_object()) {
        for (const Json& item : member) out += wrap(key + ": " + member_words(item), "  ", "      ");
      } else {
        out += wrap(key + " = " + text_of(member), "  ", "      ");
      }
    }
    return out;
  }
  if (value.is_array() && !value.empty() && value.front().is_string()) {
    std::string out = fmt::format("{}:\n", name);
    for (const Json& member : value) out += quote_block(text_of(member));
    return out;
  }
  const std::string text = text_of(value);
  if (text.find('\n') != std::string::npos) return fmt::format("{}:\n{}", name, quote_block(text));
  return wrap(fmt::format("{}: {}", name, text), "", "    ");
}

std::string sentences(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += wrap(line, "* ", "  ");
  return out;
}

template <class Member>
std::vector<std::string> once_each(std::span<const Record* const> records, const Member& member) {
  std::vector<std::string> out;
  std::set<std::string> seen;
  for (const Record* record : records) {
    for (const std::string& line : member(*record)) {
      if (seen.insert(line).second) out.push_back(line);
    }
  }
  return out;
}

/// Settings that the run changed, from the effective experiment: they are journalled before and put back after.
std::string changed_text(const Record& record) {
  if (is_simulated(record)) return "Nothing: the box is simulated.\n";
  std::vector<std::string> lines;
  const auto memory = record.experiment.find("memory");
  if (memory != record.experiment.end() && memory->is_object()) {
    for (const auto& [key, value] : memory->items()) {
      if (!value.is_null() && key.starts_with("dirty_")) lines.push_back(fmt::format("vm.{} = {}", key, text_of(value)));
    }
  }
  const auto knobs = record.experiment.find("knobs");
  if (knobs != record.experiment.end() && knobs->is_object()) {
    for (const auto& [key, value] : knobs->items()) lines.push_back(fmt::format("{} = {}", key, text_of(value)));
  }
  // A real box may say itself what it changed, and whether it is back.
  for (const char* key : {"changed", "restored"}) {
    const auto said = record.host.find(key);
    if (said == record.host.end()) continue;
    if (said->is_array()) {
      for (const Json& line : *said) lines.push_back(fmt::format("{}: {}", key, text_of(line)));
    } else {
      lines.push_back(fmt::format("{}: {}", key, text_of(*said)));
    }
  }
  if (record.box.target == "loop" || record.box.target == "modeled") {
    lines.push_back(fmt::format("a {} target: image, loops, mount and limit made for the run and removed after it", record.box.target));
  }
  if (lines.empty()) return "Nothing is recorded as changed.\n";
  return sentences(lines) + wrap("Each setting was written to a journal before it was changed, and put back in the form that was in force.");
}

std::string case_section(const CaseRecords& item, bool several) {
  const Record& first = *item.repeats.front();
  std::string out;
  if (several) out += heading(fmt::format("{:.60}", item.box + ": " + item.name()));
  const std::size_t disturbed = static_cast<std::size_t>(std::ranges::count_if(item.repeats, [](const Record* r) { return !r->disturbances.empty(); }));
  out += wrap(fmt::format("Repeat {} of {}{}:", first.repeat, item.repeats.size(), disturbed > 0 ? fmt::format(" ({} of them disturbed)", disturbed) : ""));
  out += untar_table(first);
  if (!first.jobs.empty()) {
    for (const JobResult& job : first.jobs) {
      out += fmt::format("{:<16.16} {:>9.2f} s {:>9.1f} MB/s {:>9.0f} IOPS {:>8.2f} ms p99\n", job.name, job.elapsed_s, job.mb_per_s, job.iops, job.lat_ms_p99);
    }
  }
  for (const StageResult& stage : first.stages) {
    out += fmt::format("{:<16.16} {:>3} threads {:>6.1f} % CPU {:>6.1f} % busiest {:>6.1f} % lock\n", stage.name, stage.threads, stage.cpu_pct, stage.cpu_pct_max, stage.lock_held_pct);
  }
  if (item.repeats.size() > 1) out += "\n" + repeats_table(item.repeats);
  return out;
}

}  // namespace

std::string answer_sentences(std::span<const Record* const> repeats, std::uint64_t seed) {
  const Record& first = *repeats.front();
  const std::string verb{is_simulated(first) ? "predicted" : "measured"};
  std::string answer;
  if (first.untars.size() >= kKneeLeast) {
    std::vector<std::vector<double>> series;
    for (const Record* record : repeats) series.push_back(untar_rates(*record));
    const bool sized = first.untars.front().bytes > 0;
    const std::string unit = sized ? "MB/s" : "untars/s";
    if (const auto knee = find_knee(series, {.seed = seed})) {
      const std::size_t at = knee->first().at + 1;
      const bool sharp = knee->interval.low == knee->interval.high;
      answer = fmt::format("The collapse is {} to begin at untar {}{}: throughput falls from {:.4g} to {:.4g} {}, {:.3g}-fold.", verb, at,
                           sharp ? "" : fmt::format(" ({:.0f} to {:.0f})", knee->interval.low + 1, knee->interval.high + 1), knee->before, knee->after, unit,
                           knee->before / knee->after);
    } else {
      answer = fmt::format("No collapse is {}: untar 1 takes {:.2f} s, untar {} {:.2f} s.", verb, first.untars.front().elapsed_s, first.untars.size(), first.untars.back().elapsed_s);
    }
  } else if (const auto rates = find_rates(first)) {
    answer = fmt::format("{:.4g} MB/s are {} until the last write is accepted, {:.4g} MB/s until the data is on disk.", rates->apparent_mb_per_s, verb, rates->durable_mb_per_s);
  } else {
    answer = "The record holds neither untars nor data to give a rate for.";
  }
  const auto bottleneck = find_bottleneck(first);
  return answer + " " + (bottleneck ? bottleneck->sentence : std::string{"Where the time went was not recorded."});
}

std::string timeline_sentences(const Timeline& timeline, double untars_end_s, std::uint64_t seed) {
  const Crossings crossings = find_crossings(timeline);
  std::string list;
  const auto add = [&](std::string_view what, const std::optional<double>& at) {
    if (at) list += fmt::format("{}{} at {:.1f} s", list.empty() ? "" : ", ", what, *at);
  };
  add("background", crossings.background_s);
  add("freerun", crossings.freerun_s);
  add("the limit", crossings.limit_s);
  std::string out = list.empty() ? "" : fmt::format("Dirty memory crosses {}.", list);
  if (const auto knee = find_timeline_knee(timeline, untars_end_s, {.seed = seed})) {
    out += fmt::format("{}The rate of accepted data falls {:.1f}-fold at {:.1f} s ({:.1f} to {:.1f}).", out.empty() ? "" : " ", knee->ratio, knee->at_s,
                       knee->interval.low, knee->interval.high);
  }
  return out;
}

std::string verdict_text(const Verdict& verdict) {
  std::string out;
  for (const Judgement& j : verdict.judgements) {
    std::string line = fmt::format("{}: {}", outcome_name(j.outcome), j.claim);
    if (!j.case_name.empty() && j.case_name != "the only case") line += fmt::format(" [{}]", j.case_name);
    if (!j.box.empty()) line += fmt::format(" ({})", j.box);
    line += ": " + j.words;
    out += wrap(line, "* ", "  ");
    for (const std::string& note : j.notes) out += wrap(note, "    ", "    ");
  }
  for (const std::string& line : verdict.disagreements) out += wrap(line, "! ", "  ");
  return out;
}

std::string environment_text(const Record& record) {
  const BoxInfo& box = record.box;
  std::string out;
  out += wrap(fmt::format("box: {}{}", box_label(record), box.device.empty() ? "" : ", " + box.device), "", "    ");
  const Json& environment = box.environment;
  std::set<std::string> used;
  std::string missing;
  for (const Asked& asked : kAsked) {
    bool found = false;
    for (const std::string_view key : asked.keys) {
      if (key.empty() || !environment.is_object()) continue;
      const auto member = environment.find(std::string{key});
      if (member == environment.end() || member->is_null()) continue;
      Json shown = *member;
      if (shown.is_object() && shown.contains("command_line") && shown["command_line"].is_string()) {
        shown["command_line"] = public_command_line(shown["command_line"].get<std::string>());
      }
      out += entry(asked.what, shown);
      used.insert(std::string{key});
      found = true;
    }
    if (found) continue;
    if (asked.what == "kernel" && !box.kernel.empty()) {
      out += fmt::format("kernel: {:.60}{}\n", box.kernel, box.hz > 0 ? fmt::format(", HZ {}", box.hz) : "");
    } else if (asked.what == "CPUs" && box.cpus > 0) {
      out += fmt::format("CPUs: {}, NUMA nodes: {}\n", box.cpus, box.numa_nodes);
    } else if (asked.what == "meminfo" && box.ram_bytes > 0) {
      out += fmt::format("RAM: {:.2f} GiB\n", static_cast<double>(box.ram_bytes) / (1024.0 * 1024 * 1024));
    } else {
      missing += (missing.empty() ? "" : ", ") + std::string{asked.what};
    }
  }
  if (environment.is_object()) {
    for (const auto& [key, value] : environment.items()) {
      if (!used.contains(key) && !value.is_null()) out += entry(key, value);
    }
  }
  if (is_simulated(record) && box.profile.is_object()) out += entry("profile (simulated)", box.profile);
  if (!missing.empty()) out += wrap(fmt::format("not {}: {}", is_simulated(record) ? "part of a simulated box" : "recorded", missing), "", "    ");
  return out;
}

Result<std::string> report_mail(const MailInput& input) {
  const std::vector<CaseRecords> cases = group_by_case(input.records);
  if (cases.empty()) return fail(ErrorKind::bad_input, "There is no complete record to report.");
  const CaseRecords& main = cases.front();
  const Record& first = *main.repeats.front();
  std::vector<const Record*> all;
  for (const CaseRecords& item : cases) all.insert(all.end(), item.repeats.begin(), item.repeats.end());

  std::string out = wrap(fmt::format("{} [{}]", first.experiment_title.empty() ? first.experiment_name : first.experiment_title, main.box), "Subject: ", " ");
  out += heading("Question");
  const auto question = text_at(first.experiment, "question");
  out += wrap(question && !question->empty() ? *question : first.experiment_title);
  out += heading("Answer");
  out += wrap(answer_sentences(main.repeats, input.seed));
  if (cases.size() > 1) out += wrap(fmt::format("(For the first of {} cases: {}, {}.)", cases.size(), main.box, main.name()));

  if (input.verdict && !input.verdict->judgements.empty()) {
    out += heading("What was expected");
    out += verdict_text(*input.verdict);
  }

  out += heading("Results");
  for (const CaseRecords& item : cases) out += case_section(item, cases.size() > 1);

  if (const std::string bars = untar_bars(first); !bars.empty()) out += "\n" + bars;
  if (input.timeline != nullptr) {
    if (const std::string plot = dirty_plot(*input.timeline, std::max(first.durable_s, first.untars_end_s)); !plot.empty()) out += "\n" + plot;
    if (const std::string moments = timeline_sentences(*input.timeline, first.untars_end_s, input.seed); !moments.empty()) out += "\n" + wrap(moments);
  }
  if (const std::string account = account_table(first); !account.empty()) {
    out += heading("Where the time went");
    out += account;
  }

  out += heading("Environment");
  out += environment_text(first);
  out += heading("Assumed, and not seen");
  auto notes = once_each(all, [](const Record& r) { return r.notes; });
  if (const std::size_t assumed = is_simulated(first) ? assumed_values(first.box.profile) : 0; assumed > 0) {
    notes.push_back(fmt::format("{} values of the simulated box are assumed, not cited or measured; Environment marks them.", assumed));
  }
  out += notes.empty() ? "Nothing is noted.\n" : sentences(notes);
  const auto disturbances = once_each(all, [](const Record& r) { return r.disturbances; });
  if (!disturbances.empty()) {
    out += heading("Disturbances");
    out += sentences(disturbances);
  }
  out += heading("Changed on the box, and put back");
  out += changed_text(first);

  out += heading("To repeat it");
  out += wrap(input.command.empty() ? "The command was not recorded." : input.command, "  ", "    ");
  out += fmt::format("  seed {}, schema {}\n", first.seed, kRecordSchema);
  if (input.experiment_source.empty()) {
    out += "The experiment file was not at hand.\n";
  } else {
    SPILLWAY_ASSIGN(const std::string narrow, narrow_toml(input.experiment_source, kMailColumns));
    out += fmt::format("\n{}\n{}{}\n", kCutBegin, narrow, kCutEnd);
  }
  return out;
}

std::optional<std::string> cut_experiment(std::string_view mail) {
  const std::size_t begin = mail.find(kCutBegin);
  if (begin == std::string_view::npos) return std::nullopt;
  const std::size_t from = mail.find('\n', begin);
  const std::size_t end = mail.find(kCutEnd, begin);
  if (from == std::string_view::npos || end == std::string_view::npos) return std::nullopt;
  return std::string{mail.substr(from + 1, end - from - 1)};
}

}  // namespace spillway::analysis
