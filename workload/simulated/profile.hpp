#pragma once
/// A box profile: what the simulated box is, value by value, each with where it comes from. Profiles are TOML:
///
///   name = "generic"
///   meaning = "a small server of today"
///   [box]
///   hz = { value = 250, mark = "assumed", source = "Debian's kernels" }
///   [costs]
///   write_page = { value = "650ns", mark = "cited", source = "..." }
///
/// mark is cited, measured or assumed; a value without mark or source is refused. What a profile leaves out is the
/// simulator's own default (sim/cpu/costs.hpp says where those come from).

#include "sim/box/inputs.hpp"
#include "sim/result.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace spillway::simulated {

struct Profile {
  std::string name;
  std::string meaning;
  std::string kernel = "6.1";
  int hz = 250;
  sim::CpuParams cpu;
  sim::CpuCosts costs;
  /// What an engine costs over that, for each 4 KiB page: GNU tar, and all others.
  Duration tar_user_per_page{0}, tar_system_per_page{0};
  /// The device below a limit (DeviceInputs::base_rate, latency, flush_time); nothing: the simulator's own values.
  std::optional<BytesPerSec> device_base_rate;
  std::optional<Duration> device_latency, device_flush_time;
  Bytes ram{16 * kGiB};
  sim::DirtySettings dirty;
  Duration dirty_expire = std::chrono::seconds{30};
  Duration dirty_writeback = std::chrono::seconds{5};
  /// The complete effective profile with its marks, for the record.
  nlohmann::ordered_json described;
};

/// Names of the profiles that come with the program.
std::vector<std::string> built_in_profiles();
/// A built-in profile by its name, or a file, relative to the experiment's folder. Empty: "generic".
Result<Profile> load_profile(const std::string& name_or_file, const std::filesystem::path& folder);
Result<Profile> parse_profile(const std::string& text, const std::string& where);

/// Sets a cost by its name in [box.costs]: a member of CpuCosts with "_us" (microseconds), for example
/// "write_page_us". The error lists the names.
Status set_cost(Profile& profile, const std::string& name, double microseconds);
std::vector<std::string> cost_names();

}  // namespace spillway::simulated
