#include "workload/real/journal/change.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "workload/real/system/loop_device.hpp"
#include "workload/real/system/mounts.hpp"
#include "workload/real/system/text_file.hpp"

namespace spillway::real {
namespace {

using Json = nlohmann::ordered_json;

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};

/// Text of a member, or "" where it is missing: a journal line is never trusted to be whole.
std::string text(const Json& line, const char* key) {
  const auto it = line.find(key);
  return it != line.end() && it->is_string() ? it->get<std::string>() : std::string{};
}
std::int64_t number(const Json& line, const char* key) {
  const auto it = line.find(key);
  return it != line.end() && it->is_number_integer() ? it->get<std::int64_t>() : 0;
}
bool flag(const Json& line, const char* key) {
  const auto it = line.find(key);
  return it != line.end() && it->is_boolean() && it->get<bool>();
}

bool is_our_name(const std::string& path) {
  return std::filesystem::path{path}.filename().string().starts_with("spillway-") && !path.contains("/../");
}

Status undo_change(const FileKnob& knob) {
  if (!exists(knob.path)) return {};  // the device that had it is gone
  if (const auto now = read_line(knob.path); now && *now == knob.old_value) return {};
  return write_text(knob.path, knob.old_value);
}

Status undo_change(const DirtyPair& pair) {
  if (read_number(pair.ratio_path) == pair.old_ratio && read_number(pair.bytes_path) == pair.old_bytes) return {};
  if (pair.old_bytes != 0) return write_text(pair.bytes_path, std::to_string(pair.old_bytes));
  return write_text(pair.ratio_path, std::to_string(pair.old_ratio));
}

Status undo_change(const ThrottleRule& rule) {
  if (!exists(rule.file)) return {};
  const auto status = write_text(rule.file, rule.old_rule.empty() ? rule.lifted : rule.old_rule);
  // ENODEV: the device is gone and its rule with it.
  if (!status && (status.error().sys_errno == ENODEV || status.error().sys_errno == ENXIO)) return {};
  return status;
}

Status undo_change(const LoopAttachment& loop) {
  const auto backing = loop_backing(loop.number);
  // The kernel marks a deleted backing file: "/path (deleted)".
  if (backing && *backing != loop.backing && *backing != loop.backing + " (deleted)") return {};  // not ours any more
  SPILLWAY_TRY(detach_loop(loop.number));
  return remove_loop(loop.number);
}

Status undo_change(const MountMade& made) {
  const auto mount = mounted_at(made.point);
  if (!mount || (mount->source != made.source && mount->type != made.type)) return {};
  if (made.throw_away && made.type == "xfs") (void)shut_down_xfs(made.point);  // already shut down, or dead: go on
  return unmount(made.point, std::chrono::milliseconds{made.timeout_ms});
}

Status undo_change(const TraceInstance& instance) {
  if (!exists(instance.path)) return {};
  for (int attempt = 0; attempt < 100; ++attempt) {  // EBUSY while a dead reader's pipe is being closed
    if (::rmdir(instance.path.c_str()) == 0 || errno == ENOENT) return {};
    if (errno != EBUSY) break;
    ::usleep(20'000);
  }
  return fail(ErrorKind::refused, fmt::format("cannot remove {}: {}", instance.path, std::strerror(errno)), errno);
}

Status undo_change(const ChildProcess& child) {
  // A tar with its decompressor, an fio with its jobs: what it started goes with it.
  std::vector<ProcessId> family;
  if (is_alive(child.id)) family = descendants(child.id.pid);
  SPILLWAY_TRY(kill_process(child.id, std::chrono::milliseconds{5000}));
  for (const auto& member : family) SPILLWAY_TRY(kill_process(member, std::chrono::milliseconds{5000}));
  return {};
}

Status undo_change(const OwnedPath& owned) {
  for (const auto& mount : mount_points())
    if (mount.point == owned.path || mount.point.starts_with(owned.path + "/"))
      return fail(ErrorKind::refused, fmt::format("{} is not deleted: {} is still mounted there", owned.path, mount.source), EBUSY);
  if (!is_our_name(owned.path))
    return fail(ErrorKind::refused, fmt::format("{} is not deleted: its name does not begin with 'spillway-'", owned.path));
  std::error_code error;
  std::filesystem::remove_all(owned.path, error);
  if (error && error != std::errc::no_such_file_or_directory)
    return fail(ErrorKind::refused, fmt::format("cannot delete {}: {}", owned.path, error.message()), error.value());
  return {};
}

}  // namespace

std::string_view kind_of(const Change& change) {
  return std::visit(Overloaded{[](const FileKnob&) -> std::string_view { return "knob"; },
                               [](const DirtyPair&) -> std::string_view { return "dirty_pair"; },
                               [](const ThrottleRule&) -> std::string_view { return "throttle"; },
                               [](const LoopAttachment&) -> std::string_view { return "loop"; },
                               [](const MountMade&) -> std::string_view { return "mount"; },
                               [](const TraceInstance&) -> std::string_view { return "trace"; },
                               [](const ChildProcess& c) -> std::string_view { return c.serves ? "daemon" : "child"; },
                               [](const OwnedPath&) -> std::string_view { return "path"; }},
                    change);
}

std::string describe(const Change& change) {
  return std::visit(
      Overloaded{
          [](const FileKnob& c) { return fmt::format("{} (was {})", c.path, c.old_value); },
          [](const DirtyPair& c) {
            return c.old_bytes != 0 ? fmt::format("{} (was {})", c.bytes_path, c.old_bytes)
                                    : fmt::format("{} (was {})", c.ratio_path, c.old_ratio);
          },
          [](const ThrottleRule& c) { return fmt::format("rule in {} (lifted by '{}')", c.file, c.lifted); },
          [](const LoopAttachment& c) { return fmt::format("/dev/loop{} on {}", c.number, c.backing); },
          [](const MountMade& c) { return fmt::format("{} of {} on {}", c.type, c.source, c.point); },
          [](const TraceInstance& c) { return fmt::format("trace instance {}", c.path); },
          [](const ChildProcess& c) { return fmt::format("process {} ({})", c.id.pid, c.what); },
          [](const OwnedPath& c) { return c.path; }},
      change);
}

std::string to_line(std::uint64_t id, const Change& change) {
  Json line{{"id", id}, {"kind", kind_of(change)}};
  std::visit(Overloaded{[&](const FileKnob& c) {
                          line["path"] = c.path;
                          line["old"] = c.old_value;
                        },
                        [&](const DirtyPair& c) {
                          line["ratio_path"] = c.ratio_path;
                          line["bytes_path"] = c.bytes_path;
                          line["old_ratio"] = c.old_ratio;
                          line["old_bytes"] = c.old_bytes;
                        },
                        [&](const ThrottleRule& c) {
                          line["file"] = c.file;
                          line["lifted"] = c.lifted;
                          line["old"] = c.old_rule;
                        },
                        [&](const LoopAttachment& c) {
                          line["number"] = c.number;
                          line["backing"] = c.backing;
                        },
                        [&](const MountMade& c) {
                          line["source"] = c.source;
                          line["point"] = c.point;
                          line["type"] = c.type;
                          line["throw_away"] = c.throw_away;
                          line["timeout_ms"] = c.timeout_ms;
                        },
                        [&](const TraceInstance& c) { line["path"] = c.path; },
                        [&](const ChildProcess& c) {
                          line["pid"] = c.id.pid;
                          line["start_ticks"] = c.id.start_ticks;
                          line["what"] = c.what;
                        },
                        [&](const OwnedPath& c) { line["path"] = c.path; }},
             change);
  return line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::optional<NumberedChange> from_line(std::string_view raw) {
  const Json line = Json::parse(raw, nullptr, false);
  if (!line.is_object() || !line.contains("id") || !line.contains("kind")) return std::nullopt;
  NumberedChange numbered;
  numbered.id = static_cast<std::uint64_t>(number(line, "id"));
  const std::string kind = text(line, "kind");
  if (kind == "knob") numbered.change = FileKnob{text(line, "path"), text(line, "old")};
  else if (kind == "dirty_pair")
    numbered.change = DirtyPair{text(line, "ratio_path"), text(line, "bytes_path"), number(line, "old_ratio"), number(line, "old_bytes")};
  else if (kind == "throttle") numbered.change = ThrottleRule{text(line, "file"), text(line, "lifted"), text(line, "old")};
  else if (kind == "loop") numbered.change = LoopAttachment{static_cast<int>(number(line, "number")), text(line, "backing")};
  else if (kind == "mount")
    numbered.change = MountMade{text(line, "source"), text(line, "point"), text(line, "type"), flag(line, "throw_away"), number(line, "timeout_ms")};
  else if (kind == "trace") numbered.change = TraceInstance{text(line, "path")};
  else if (kind == "child" || kind == "daemon")
    numbered.change = ChildProcess{{static_cast<pid_t>(number(line, "pid")), static_cast<std::uint64_t>(number(line, "start_ticks"))},
                                   text(line, "what"), kind == "daemon"};
  else if (kind == "path") numbered.change = OwnedPath{text(line, "path")};
  else return std::nullopt;
  return numbered;
}

bool survives_reboot(const Change& change) { return std::holds_alternative<OwnedPath>(change); }

Status undo(const Change& change) {
  return std::visit([](const auto& made) { return undo_change(made); }, change);
}

void hurry(const std::vector<NumberedChange>& changes) {
  for (const auto& numbered : changes) {
    const auto* child = std::get_if<ChildProcess>(&numbered.change);
    if (child == nullptr || child->serves || !is_alive(child->id)) continue;
    const auto family = descendants(child->id.pid);
    ::kill(child->id.pid, SIGKILL);
    for (const auto& member : family)
      if (is_alive(member)) ::kill(member.pid, SIGKILL);
  }
  for (const auto& numbered : changes)
    if (std::holds_alternative<ThrottleRule>(numbered.change)) (void)undo(numbered.change);
  for (const auto& numbered : changes) {
    const auto* made = std::get_if<MountMade>(&numbered.change);
    if (made == nullptr || !made->throw_away || made->type != "xfs") continue;
    if (const auto mount = mounted_at(made->point); mount && mount->source == made->source) (void)shut_down_xfs(made->point);
  }
}

std::vector<NumberedChange> undo_order(std::vector<NumberedChange> changes) {
  const auto rank = [](const Change& change) {
    const auto kind = kind_of(change);
    if (kind == "child") return 0;
    if (kind == "throttle") return 1;
    return 2;
  };
  std::ranges::stable_sort(changes, [&](const NumberedChange& a, const NumberedChange& b) {
    const int ra = rank(a.change), rb = rank(b.change);
    return ra != rb ? ra < rb : a.id > b.id;
  });
  return changes;
}

}  // namespace spillway::real
