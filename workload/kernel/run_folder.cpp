#include "workload/kernel/run_folder.hpp"

#include "workload/record/record_io.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <sstream>
#include <system_error>

namespace spillway::kernel {
namespace {

namespace fs = std::filesystem;

Status write_text(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) return fail(ErrorKind::refused, fmt::format("Cannot write {}.", path.string()));
  return {};
}

// "key value" lines as an object of texts.
nlohmann::ordered_json pairs_of(const fs::path& path) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const auto space = line.find(' ');
    if (space != std::string::npos) object[line.substr(0, space)] = line.substr(space + 1);
  }
  return object;
}

// The kernel's state before the run is known: its completion counters, a fresh guest has counted nothing but the other device's history
// (mkfs and the log go past the page cache).
void set_state_before(const fs::path& folder, const GuestSetup& setup, double t0_s, BoxState& before) {
  before.uptime_s = t0_s;
  // The guest syncs the empty folders just before.
  before.throttle_slice_age_s = 0;
  before.device_completions_pages = 0;
  before.global_completions_pages = setup.foreign_history.value() / 4096;
  std::ifstream file(folder / "uptime.history");
  double at = 0;
  if (file >> at) before.completion_phase_s = std::max(0.0, t0_s - at);
}

}  // namespace

Result<fs::path> make_run_folder(const fs::path& dir, const fs::path& guest_program, const GuestSetup& setup) {
  std::error_code error;
  const auto folder = fs::absolute(dir / "guest", error);
  fs::remove_all(folder, error);
  fs::create_directories(folder, error);
  if (error) return fail(ErrorKind::refused, fmt::format("Cannot make {}: {}.", folder.string(), error.message()), error.value());
  if (folder.string().find(' ') != std::string::npos) {
    return fail(ErrorKind::refused, fmt::format("The output folder {} has a blank in its path, which cannot be handed to a kernel; choose another --out.", folder.string()));
  }
  fs::copy_file(guest_program, folder / "spillway-guest", error);
  if (error) return fail(ErrorKind::refused, fmt::format("Cannot copy {} into {}: {}.", guest_program.string(), folder.string(), error.message()), error.value());
  SPILLWAY_TRY(write_text(folder / "plan", to_text(setup.plan)));
  SPILLWAY_TRY(write_text(folder / "init.sh", init_script(setup)));
  return folder;
}

Result<Record> make_record(const fs::path& run_folder, const GuestSetup& setup, const Case& item, const RepeatContext& context) {
  SPILLWAY_ASSIGN(auto results, read_guest_results(run_folder, setup.plan));
  auto& record = results.record;
  SPILLWAY_TRY(write_timeline(results.timeline, context.dir / "timeline.csv"));
  SPILLWAY_TRY(write_text(context.dir / "bdp.csv", throttle_csv(results.trace, results.t0_s)));
  SPILLWAY_TRY(write_text(context.dir / "ratelimit.csv", rate_limit_csv(results.trace, results.t0_s)));
  record.files = {"timeline.csv", "bdp.csv", "ratelimit.csv"};
  record.experiment_title = item.experiment.title;
  record.experiment_name = item.experiment.name;
  record.experiment = item.effective;
  record.case_keys = item.keys;
  record.repeat = context.repeat;
  record.seed = context.seed;
  record.notes.insert(record.notes.end(), setup.notes.begin(), setup.notes.end());
  set_state_before(run_folder, setup, results.t0_s, record.state_before);
  record.state_before.cold = item.experiment.target.cold;
  std::ifstream release(run_folder / "release");
  std::getline(release, record.box.kernel);
  record.box.ram_bytes = setup.memory.value();
  record.box.target = "loop";
  record.box.environment["vm"] = pairs_of(run_folder / "vm");
  record.box.environment["queue"] = pairs_of(run_folder / "queue");
  record.box.environment["meminfo"] = pairs_of(run_folder / "meminfo.before");
  record.box.environment["mkfs"] = setup.mkfs_options;
  record.box.environment["mount"] = setup.mount_options;
  std::error_code error;
  fs::remove(run_folder / "spillway-guest", error);
  record.complete = true;
  return std::move(record);
}

}  // namespace spillway::kernel
