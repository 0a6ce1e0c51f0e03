#include "workload/calibrate/calibrate.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "workload/calibrate/clock.hpp"
#include "workload/calibrate/parts.hpp"
#include "workload/interrupt/interrupt.hpp"
#include "workload/real/capture/environment.hpp"
#include "workload/real/provision/preflight.hpp"
#include "workload/real/provision/settings.hpp"
#include "workload/real/provision/target.hpp"
#include "workload/real/state/state.hpp"
#include "workload/real/system/text_file.hpp"

namespace spillway::calibrate {

namespace {

/// What all measurements together write at most before they remove it again.
constexpr Bytes kData{1 * kGiB};

/// A loop target without a limit, and limits on dirty memory so wide that nobody is throttled and no background writeback
/// runs beside a measurement.
Experiment experiment_of(const std::string& image_folder) {
  Experiment e;
  e.name = "calibrate";
  e.target.path = image_folder;
  e.memory.dirty_bytes = Bytes{4 * kGiB};
  e.memory.dirty_background_bytes = Bytes{3 * kGiB};
  e.memory.dirty_expire = std::chrono::seconds{300};
  return e;
}

Status go_on() {
  if (interrupted()) return fail(ErrorKind::refused, "interrupted; the box is as it was before", EINTR);
  return {};
}

}  // namespace

Result<Measurements> measure_this_box(const std::string& image_folder, const std::function<void(const std::string&)>& tell) {
  if (::geteuid() != 0) return fail(ErrorKind::unsupported, "calibrate makes a loop device and a file system, which needs root");
  const std::int64_t began = wall_ns();
  const Experiment experiment = experiment_of(image_folder);
  SPILLWAY_TRY(real::check_resources(experiment, kData, real::state_directory(), ""));
  Measurements m;
  m.kernel = real::kernel_version();
  m.hz = real::kernel_hz().value_or(250);
  m.cpus = real::cpu_count();
  m.numa_nodes = real::numa_nodes();
  m.ram_bytes = real::memory_bytes();
  const auto ratio = [](const char* name) -> std::optional<int> {
    const auto value = real::read_number(std::string{"/proc/sys/vm/"} + name);
    if (!value || *value == 0) return std::nullopt;
    return static_cast<int>(*value);
  };
  m.dirty_ratio = ratio("dirty_ratio");
  m.dirty_background_ratio = ratio("dirty_background_ratio");
  m.date = fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)));

  SPILLWAY_ASSIGN(const auto session, real::Session::open());
  tell("making a target without a limit");
  SPILLWAY_ASSIGN(const real::Target target, real::make_target(*session, experiment, kData, ""));
  for (const auto& setting : real::memory_settings(experiment.memory)) SPILLWAY_TRY(real::apply(session->journal(), setting));
  real::settle(target.device_name, 256, std::chrono::seconds{10});
  tell("memory and cores");
  m.cpu = measure_cpu(m.cpus);
  SPILLWAY_TRY(go_on());
  tell("reading, writing, creating and removing files");
  SPILLWAY_ASSIGN(m.file, measure_files(target.directory));
  SPILLWAY_TRY(go_on());
  tell("writing back and completing");
  SPILLWAY_ASSIGN(m.flush, measure_flush(target.directory, m.notes));
  SPILLWAY_TRY(go_on());
  tell("the device");
  SPILLWAY_ASSIGN(m.device, measure_device(target.directory));
  SPILLWAY_TRY(go_on());
  tell("tar");
  if (auto tar = measure_tar(target.directory)) m.tar = *tar;
  else if (tar.error().kind == ErrorKind::unsupported) m.notes.push_back(tar.error().what);
  else return std::unexpected(tar.error());
  m.seconds = static_cast<double>(wall_ns() - began) * 1e-9;
  return m;
}

}  // namespace spillway::calibrate
