#include "workload/real/provision/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "workload/real/system/text_file.hpp"

namespace spillway::real {
namespace {

const std::string kVm = "/proc/sys/vm/";

std::string centiseconds(Duration duration) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count() / 10);
}

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
  return text;
}

/// "none [mq-deadline] bfq" reads back as the word in brackets.
std::string chosen(std::string_view text) {
  const auto open = text.find('['), close = text.find(']');
  if (open != std::string_view::npos && close != std::string_view::npos && close > open)
    return std::string{text.substr(open + 1, close - open - 1)};
  return std::string{trimmed(text)};
}

}  // namespace

std::vector<Setting> memory_settings(const MemorySpec& memory) {
  std::vector<Setting> settings;
  // The background limit first: the kernel halves a background limit that is not below the other one.
  if (memory.dirty_background_bytes)
    settings.push_back({kVm + "dirty_background_bytes", std::to_string(memory.dirty_background_bytes->value()), kVm + "dirty_background_ratio"});
  if (memory.dirty_background_ratio)
    settings.push_back({kVm + "dirty_background_ratio", std::to_string(*memory.dirty_background_ratio), kVm + "dirty_background_bytes"});
  if (memory.dirty_bytes)
    settings.push_back({kVm + "dirty_bytes", std::to_string(memory.dirty_bytes->value()), kVm + "dirty_ratio"});
  if (memory.dirty_ratio)
    settings.push_back({kVm + "dirty_ratio", std::to_string(*memory.dirty_ratio), kVm + "dirty_bytes"});
  if (memory.dirty_expire) settings.push_back({kVm + "dirty_expire_centisecs", centiseconds(*memory.dirty_expire), ""});
  if (memory.dirty_writeback) settings.push_back({kVm + "dirty_writeback_centisecs", centiseconds(*memory.dirty_writeback), ""});
  return settings;
}

std::vector<Setting> knob_settings(const std::vector<std::pair<std::string, std::string>>& knobs, const std::string& device_name,
                                   const std::string& device_number) {
  std::vector<Setting> settings;
  for (const auto& [key, value] : knobs) {
    std::string path = replaced(replaced(key, "{dev}", device_name), "{bdi}", device_number);
    if (!path.contains('/')) path = "/proc/sys/" + replaced(path, ".", "/");
    std::string other;
    for (const auto& [one, two] : {std::pair{"dirty_ratio", "dirty_bytes"}, std::pair{"dirty_background_ratio", "dirty_background_bytes"}}) {
      if (path == kVm + one) other = kVm + two;
      if (path == kVm + two) other = kVm + one;
    }
    settings.push_back({std::move(path), value, std::move(other)});
  }
  return settings;
}

std::string setting_name(const std::string& path) {
  constexpr std::string_view kSys = "/proc/sys/";
  if (!path.starts_with(kSys)) return path;
  return replaced(path.substr(kSys.size()), "/", ".");
}

Status apply(Journal& journal, const Setting& setting) {
  const auto old_text = read_text(setting.path);
  if (!old_text)
    return fail(old_text.error().kind, fmt::format("this kernel has no setting {}: {}", setting_name(setting.path), old_text.error().what),
                old_text.error().sys_errno);
  const std::string old = chosen(*old_text);
  Change change = FileKnob{setting.path, old};
  if (!setting.other_form.empty()) {
    const bool is_bytes = setting.path.ends_with("_bytes");
    const std::string& ratio = is_bytes ? setting.other_form : setting.path;
    const std::string& bytes = is_bytes ? setting.path : setting.other_form;
    change = DirtyPair{ratio, bytes, read_number(ratio).value_or(0), read_number(bytes).value_or(0)};
  } else if (old == setting.value) {
    return {};  // already so: nothing to put back
  }
  return journal.change(change, [&]() -> Status {
    SPILLWAY_TRY(write_text(setting.path, setting.value));
    const auto now = read_text(setting.path);
    if (now && chosen(*now) != setting.value)
      return fail(ErrorKind::refused, fmt::format("{} was set to {} but reads {}", setting_name(setting.path), setting.value, chosen(*now)));
    return {};
  });
}

}  // namespace spillway::real
