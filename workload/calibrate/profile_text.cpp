#include "workload/calibrate/profile_text.hpp"

#include <fmt/format.h>

namespace spillway::calibrate {

namespace {

/// As it stands between the quotes of a TOML basic string.
std::string toml_quoted(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

}  // namespace

std::string profile_text(const std::string& name, const std::string& meaning, const std::vector<ProfileValue>& values, const std::vector<std::string>& notes) {
  std::string text = fmt::format("name = \"{}\"\nmeaning = \"{}\"\n", toml_quoted(name), toml_quoted(meaning));
  for (const std::string& note : notes) text += fmt::format("# not measured: {}\n", note);
  for (const char* section : {"box", "memory", "device", "costs"}) {
    bool begun = false;
    for (const ProfileValue& v : values) {
      if (v.section != section) continue;
      if (!begun) text += fmt::format("\n[{}]\n", section);
      begun = true;
      text += fmt::format("{} = {{ value = {}, mark = \"{}\", source = \"{}\" }}\n", v.key, v.value, v.mark, toml_quoted(v.source));
    }
  }
  return text;
}

}  // namespace spillway::calibrate
