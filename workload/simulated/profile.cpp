#include "workload/simulated/profile.hpp"

#include "workload/experiment/quantity.hpp"
#include "workload/experiment/toml_value.hpp"
#include "workload/record/file_io.hpp"
#include "workload/record/metric.hpp"
#include "workload/simulated/built_in_profiles.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>
#include <fmt/format.h>
#include <functional>

namespace spillway::simulated {

namespace {

using Kind = TomlValue::Kind;

struct CostName {
  const char* name;
  Duration sim::CpuCosts::* member;
};
constexpr CostName kCosts[] = {
    {"write_page", &sim::CpuCosts::write_page},
    {"read_page", &sim::CpuCosts::read_page},
    {"io_call", &sim::CpuCosts::io_call},
    {"create_file", &sim::CpuCosts::create_file},
    {"close_written", &sim::CpuCosts::close_written},
    {"unlink_file", &sim::CpuCosts::unlink_file},
    {"make_directory", &sim::CpuCosts::make_directory},
    {"user_per_file", &sim::CpuCosts::user_per_file},
    {"process", &sim::CpuCosts::process},
    {"between_untars", &sim::CpuCosts::between_untars},
    {"page_fault", &sim::CpuCosts::page_fault},
    {"free_page", &sim::CpuCosts::free_page},
    {"read_ahead_page", &sim::CpuCosts::read_ahead_page},
    {"reclaim_page", &sim::CpuCosts::reclaim_page},
    {"remote_source", &sim::CpuCosts::remote_source},
    {"remote_destination", &sim::CpuCosts::remote_destination},
    {"remote_fault", &sim::CpuCosts::remote_fault},
    {"balance_dirty", &sim::CpuCosts::balance_dirty},
    {"wake_after_sleep", &sim::CpuCosts::wake_after_sleep},
    {"context_switch", &sim::CpuCosts::context_switch},
    {"flush_page", &sim::CpuCosts::flush_page},
    {"flush_inode", &sim::CpuCosts::flush_inode},
    {"allocate_extent", &sim::CpuCosts::allocate_extent},
    {"submit_request", &sim::CpuCosts::submit_request},
    {"complete_extent", &sim::CpuCosts::complete_extent},
    {"complete_page", &sim::CpuCosts::complete_page},
};

/// How a key of a profile is set; the error is the rest of a sentence that begins with the key.
using Setter = std::function<std::optional<std::string>(Profile&, const TomlValue&)>;

Setter whole(std::function<int&(Profile&)> member, int low, int high) {
  return [member = std::move(member), low, high](Profile& p, const TomlValue& v) -> std::optional<std::string> {
    if (!v.is(Kind::whole) || v.whole < low || v.whole > high) return fmt::format("should be a whole number from {} to {}, found {}", low, high, shown(v));
    member(p) = static_cast<int>(v.whole);
    return std::nullopt;
  };
}
template <class T>
Setter quantity(std::function<T&(Profile&)> member, Read<T> (*read)(std::string_view), std::string_view what) {
  return [member = std::move(member), read, what](Profile& p, const TomlValue& v) -> std::optional<std::string> {
    if (!v.is(Kind::text)) return fmt::format("should be {} in quotes, found {}", what, shown(v));
    const auto value = read(v.text);
    if (!value) return fmt::format("= \"{}\" {}", v.text, value.error());
    member(p) = *value;
    return std::nullopt;
  };
}

template <class T>
Setter optional_quantity(std::optional<T> Profile::* member, Read<T> (*read)(std::string_view), std::string_view what) {
  return quantity<T>([member](Profile& p) -> T& { return (p.*member).emplace(); }, read, what);
}

struct ProfileKey {
  std::string section, name;
  Setter set;
};

const std::vector<ProfileKey>& profile_keys() {
  static const std::vector<ProfileKey> keys = [] {
    std::vector<ProfileKey> out = {
        {"box", "kernel", [](Profile& p, const TomlValue& v) -> std::optional<std::string> {
           if (!v.is(Kind::text)) return fmt::format("should be a version in quotes, found {}", shown(v));
           p.kernel = v.text;
           return std::nullopt;
         }},
        {"box", "hz", whole([](Profile& p) -> int& { return p.hz; }, 100, 1000)},
        {"box", "cpus", whole([](Profile& p) -> int& { return p.cpu.cores; }, 1, 1024)},
        {"box", "numa_nodes", whole([](Profile& p) -> int& { return p.cpu.numa_nodes; }, 1, 64)},
        {"box", "memory_bandwidth", quantity<BytesPerSec>([](Profile& p) -> BytesPerSec& { return p.cpu.memory_bandwidth; }, read_rate, "a rate")},
        {"box", "slice", quantity<Duration>([](Profile& p) -> Duration& { return p.cpu.slice; }, read_time, "a time")},
        {"memory", "ram", quantity<Bytes>([](Profile& p) -> Bytes& { return p.ram; }, read_size, "a size")},
        {"memory", "dirty_bytes", quantity<Bytes>([](Profile& p) -> Bytes& { return p.dirty.dirty_bytes; }, read_size, "a size")},
        {"memory", "dirty_background_bytes", quantity<Bytes>([](Profile& p) -> Bytes& { return p.dirty.background_bytes; }, read_size, "a size")},
        {"memory", "dirty_ratio", whole([](Profile& p) -> int& { return p.dirty.dirty_ratio; }, 0, 100)},
        {"memory", "dirty_background_ratio", whole([](Profile& p) -> int& { return p.dirty.background_ratio; }, 0, 100)},
        {"memory", "dirty_expire", quantity<Duration>([](Profile& p) -> Duration& { return p.dirty_expire; }, read_time, "a time")},
        {"memory", "dirty_writeback", quantity<Duration>([](Profile& p) -> Duration& { return p.dirty_writeback; }, read_time, "a time")},
        {"device", "base_rate", optional_quantity<BytesPerSec>(&Profile::device_base_rate, read_rate, "a rate")},
        {"device", "latency", optional_quantity<Duration>(&Profile::device_latency, read_time, "a time")},
        {"device", "flush_time", optional_quantity<Duration>(&Profile::device_flush_time, read_time, "a time")},
        {"costs", "tar_user_per_page", quantity<Duration>([](Profile& p) -> Duration& { return p.tar_user_per_page; }, read_time, "a time")},
        {"costs", "tar_system_per_page", quantity<Duration>([](Profile& p) -> Duration& { return p.tar_system_per_page; }, read_time, "a time")},
    };
    for (const CostName& cost : kCosts) {
      out.push_back({"costs", cost.name, quantity<Duration>([member = cost.member](Profile& p) -> Duration& { return p.costs.*member; }, read_time, "a time")});
    }
    return out;
  }();
  return keys;
}

nlohmann::ordered_json json_of(const TomlValue& value) {
  switch (value.kind) {
    case Kind::whole: return value.whole;
    case Kind::number: return value.number;
    case Kind::truth: return value.truth;
    default: return value.text;
  }
}

}  // namespace

std::vector<std::string> built_in_profiles() {
  std::vector<std::string> names;
  for (const BuiltInProfile& profile : kBuiltInProfiles) names.emplace_back(profile.name);
  return names;
}

Result<Profile> parse_profile(const std::string& text, const std::string& where) {
  SPILLWAY_ASSIGN(const TomlValue root, parse_toml(text, where));
  Profile profile;
  const auto refuse = [&where](const TomlValue& at, std::string sentence) {
    return fail(ErrorKind::bad_input, fmt::format("{}, line {}: {}", where, at.line, sentence));
  };
  profile.described = nlohmann::ordered_json::object();
  for (const auto& [section, table] : root.members) {
    if (section == "name" || section == "meaning") {
      if (!table.is(Kind::text)) return refuse(table, fmt::format("{} should be a text in quotes", section));
      (section == "name" ? profile.name : profile.meaning) = table.text;
      profile.described[section] = table.text;
      continue;
    }
    if (section != "box" && section != "memory" && section != "device" && section != "costs") return refuse(table, fmt::format("a profile has the sections [box], [memory], [device] and [costs], not \"{}\"", section));
    for (const auto& [name, entry] : table.members) {
      const auto key = std::find_if(profile_keys().begin(), profile_keys().end(), [&](const ProfileKey& k) { return k.section == section && k.name == name; });
      if (key == profile_keys().end()) {
        std::string best;
        int distance = 1000;
        for (const ProfileKey& k : profile_keys()) {
          if (const int d = edit_distance(k.name, name); d < distance) distance = d, best = k.section + "." + k.name;
        }
        return refuse(entry, fmt::format("a profile has no \"{}.{}\"; the nearest is \"{}\"", section, name, best));
      }
      const TomlValue *value = entry.find("value"), *mark = entry.find("mark"), *source = entry.find("source");
      if (value == nullptr || mark == nullptr || source == nullptr) {
        return refuse(entry, fmt::format("{}.{} should be {{ value = ..., mark = \"cited\", source = \"...\" }}", section, name));
      }
      if (mark->text != "cited" && mark->text != "measured" && mark->text != "assumed") {
        return refuse(entry, fmt::format("{}.{}: mark should be cited, measured or assumed, found {}", section, name, shown(*mark)));
      }
      if (source->text.empty()) return refuse(entry, fmt::format("{}.{} has no source", section, name));
      if (const auto problem = key->set(profile, *value)) return refuse(entry, fmt::format("{}.{} {}", section, name, *problem));
      profile.described[section][name] = {{"value", json_of(*value)}, {"mark", mark->text}, {"source", source->text}};
    }
  }
  if (profile.name.empty()) return fail(ErrorKind::bad_input, fmt::format("{}: a profile needs a name", where));
  if (const auto version = sim::kernel_version(profile.kernel); !version) return fail(ErrorKind::bad_input, fmt::format("{}: box.kernel: {}", where, version.error().what));
  // What the profile does not say is the simulator's own value; the record shows it too.
  for (const CostName& cost : kCosts) {
    auto& costs = profile.described["costs"];
    if (!costs.contains(cost.name)) costs[cost.name] = {{"value", time_text(profile.costs.*cost.member)}, {"mark", "assumed"}, {"source", "default of the simulator, sim/cpu/costs.hpp"}};
  }
  return profile;
}

Result<Profile> load_profile(const std::string& name_or_file, const std::filesystem::path& folder) {
  const std::string name = name_or_file.empty() ? "generic" : name_or_file;
  for (const BuiltInProfile& profile : kBuiltInProfiles) {
    if (profile.name == name) return parse_profile(std::string{profile.text}, fmt::format("profile {}", name));
  }
  const std::filesystem::path file = std::filesystem::path{name}.is_absolute() ? std::filesystem::path{name} : folder / name;
  auto text = read_file(file);
  if (!text) {
    return fail(ErrorKind::bad_input, fmt::format("box.profile = \"{}\" is neither a built-in profile ({}) nor a file: {}", name, fmt::join(built_in_profiles(), ", "), text.error().what));
  }
  return parse_profile(*text, file.string());
}

std::vector<std::string> cost_names() {
  std::vector<std::string> names;
  for (const CostName& cost : kCosts) names.push_back(std::string{cost.name} + "_us");
  names.emplace_back("tar_user_per_page_us");
  names.emplace_back("tar_system_per_page_us");
  return names;
}

Status set_cost(Profile& profile, const std::string& name, double microseconds) {
  const Duration value{static_cast<std::int64_t>(std::llround(microseconds * 1000.0))};
  const auto describe = [&](const std::string& key) {
    profile.described["costs"][key] = {{"value", time_text(value)}, {"mark", "assumed"}, {"source", "the experiment, box.costs"}};
  };
  for (const CostName& cost : kCosts) {
    if (name != std::string{cost.name} + "_us") continue;
    profile.costs.*cost.member = value;
    describe(cost.name);
    return {};
  }
  if (name == "tar_user_per_page_us" || name == "tar_system_per_page_us") {
    (name == "tar_user_per_page_us" ? profile.tar_user_per_page : profile.tar_system_per_page) = value;
    describe(name.substr(0, name.size() - 3));
    return {};
  }
  return fail(ErrorKind::bad_input, fmt::format("box.costs.{} is not a cost of the simulated box; those are {}", name, fmt::join(cost_names(), ", ")));
}

}  // namespace spillway::simulated
