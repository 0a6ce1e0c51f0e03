#include <sys/resource.h>

#include <algorithm>
#include <filesystem>

#include "workload/archive/catalogue.hpp"
#include "workload/calibrate/files.hpp"
#include "workload/calibrate/fit.hpp"
#include "workload/calibrate/parts.hpp"
#include "workload/real/state/state.hpp"
#include "workload/real/system/process.hpp"

namespace spillway::calibrate {

namespace {


double seconds_of(const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6; }

ArchiveSpec archive_of(std::int64_t files, std::int64_t file_bytes) {
  ArchiveSpec spec;
  spec.seed = 7;
  spec.files = files;
  spec.sizes = "fixed";
  spec.bytes = Bytes{files * file_bytes};
  spec.max = Bytes{std::max<std::int64_t>(file_bytes, spec.max.value())};
  return spec;
}

/// Median user and system seconds of unpacking it into fresh folders; nothing is written back meanwhile.
Result<TarRun> unpack(const std::string& folder, std::int64_t files, std::int64_t file_bytes, int repeats) {
  SPILLWAY_ASSIGN(const PreparedArchive archive, prepare_archive(archive_of(files, file_bytes), folder));
  SPILLWAY_TRY(real::read_once(archive.path));
  std::vector<double> user, system;
  const std::string into = folder + "/tar";
  for (int i = 0; i < repeats; ++i) {
    std::error_code error;
    std::filesystem::create_directory(into, error);
    if (error) return fail(ErrorKind::refused, fmt::format("calibrate: cannot make {}: {}", into, error.message()), error.value());
    rusage before{}, after{};
    ::getrusage(RUSAGE_CHILDREN, &before);
    SPILLWAY_TRY(real::run_checked({"tar", "-x", "-f", archive.path.string(), "-C", into}));
    ::getrusage(RUSAGE_CHILDREN, &after);
    user.push_back(seconds_of(after.ru_utime) - seconds_of(before.ru_utime));
    system.push_back(seconds_of(after.ru_stime) - seconds_of(before.ru_stime));
    std::filesystem::remove_all(into, error);
  }
  return TarRun{static_cast<double>(files * ((file_bytes + kPage - 1) / kPage)), static_cast<double>(files), median(user), median(system)};
}

}  // namespace

Result<TarMeasurements> measure_tar(const std::string& folder) {
  const auto version = real::run_command({"tar", "--version"});
  if (!version || version->exit_code != 0 || version->out.find("GNU tar") == std::string::npos)
    return fail(ErrorKind::unsupported, "tar: no GNU tar on this box");
  TarMeasurements out;
  SPILLWAY_ASSIGN(out.empty, unpack(folder, 1, kPage, 15));
  SPILLWAY_ASSIGN(out.large, unpack(folder, 100, 1 << 20, 5));
  SPILLWAY_ASSIGN(out.small, unpack(folder, 4000, kPage, 5));
  return out;
}

}  // namespace spillway::calibrate
