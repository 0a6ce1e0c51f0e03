#include "workload/kernel/guest_plan.hpp"

#include <charconv>

namespace spillway::kernel {
namespace {

constexpr std::string_view kHeader = "spillway guest plan 1";

bool number(std::string_view text, std::int64_t& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size();
}

std::string_view word(std::string_view& rest) {
  const auto space = rest.find(' ');
  const auto first = rest.substr(0, space);
  rest = space == std::string_view::npos ? std::string_view{} : rest.substr(space + 1);
  return first;
}

}  // namespace

std::string to_text(const GuestPlan& plan) {
  std::string text{kHeader};
  text += '\n';
  const auto line = [&text](std::string_view key, const auto& value) {
    text += key;
    text += ' ';
    if constexpr (requires { std::to_string(value); }) {
      text += std::to_string(value);
    } else {
      text += value;
    }
    text += '\n';
  };
  line("mount_point", plan.mount_point);
  line("device", plan.device);
  line("limited_device", plan.limited_device);
  line("untars", plan.untars);
  line("at_once", plan.at_once);
  line("write_bytes", plan.write_bytes);
  line("direct", static_cast<int>(plan.direct));
  line("drop_behind", static_cast<int>(plan.drop_behind));
  line("unlink_existing", static_cast<int>(plan.unlink_existing));
  for (const auto& phase : plan.before) line("before", phase);
  for (const auto& phase : plan.after) line("after", phase);
  line("cpus", plan.cpus);
  line("copy_ps_per_byte", plan.costs.copy_ps_per_byte);
  line("file_ns", plan.costs.file_ns);
  line("directory_ns", plan.costs.directory_ns);
  line("unlink_ns", plan.costs.unlink_ns);
  line("sample_ms", plan.sample_ms);
  for (const auto& group : plan.cgroups) line("cgroup", group);
  for (const auto& entry : plan.entries) {
    text += entry.directory ? "dir " : "file " + std::to_string(entry.bytes) + ' ';
    text += entry.path;
    text += '\n';
  }
  return text;
}

std::optional<GuestPlan> plan_from_text(std::string_view text, std::string* bad_line) {
  GuestPlan plan;
  bool first = true;
  while (!text.empty()) {
    const auto end = text.find('\n');
    const auto line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    const auto bad = [&]() -> std::optional<GuestPlan> {
      if (bad_line != nullptr) *bad_line = line;
      return std::nullopt;
    };
    if (first) {
      if (line != kHeader) return bad();
      first = false;
      continue;
    }
    auto rest = line;
    const auto key = word(rest);
    std::int64_t value = 0;
    if (key == "dir") {
      plan.entries.push_back({.directory = true, .bytes = 0, .path = std::string{rest}});
    } else if (key == "file") {
      if (!number(word(rest), value)) return bad();
      plan.entries.push_back({.directory = false, .bytes = value, .path = std::string{rest}});
    } else if (key == "mount_point") {
      plan.mount_point = rest;
    } else if (key == "device") {
      plan.device = rest;
    } else if (key == "limited_device") {
      plan.limited_device = rest;
    } else if (key == "before") {
      plan.before.emplace_back(rest);
    } else if (key == "after") {
      plan.after.emplace_back(rest);
    } else if (key == "cgroup") {
      plan.cgroups.emplace_back(rest);
    } else if (!number(rest, value)) {
      return bad();
    } else if (key == "untars") {
      plan.untars = static_cast<int>(value);
    } else if (key == "at_once") {
      plan.at_once = static_cast<int>(value);
    } else if (key == "write_bytes") {
      plan.write_bytes = value;
    } else if (key == "direct") {
      plan.direct = value != 0;
    } else if (key == "drop_behind") {
      plan.drop_behind = value != 0;
    } else if (key == "unlink_existing") {
      plan.unlink_existing = value != 0;
    } else if (key == "cpus") {
      plan.cpus = static_cast<int>(value);
    } else if (key == "copy_ps_per_byte") {
      plan.costs.copy_ps_per_byte = value;
    } else if (key == "file_ns") {
      plan.costs.file_ns = value;
    } else if (key == "directory_ns") {
      plan.costs.directory_ns = value;
    } else if (key == "unlink_ns") {
      plan.costs.unlink_ns = value;
    } else if (key == "sample_ms") {
      plan.sample_ms = value;
    } else {
      return bad();
    }
  }
  if (first) {
    if (bad_line != nullptr) *bad_line = "(empty)";
    return std::nullopt;
  }
  return plan;
}

}  // namespace spillway::kernel
