#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <thread>

#include "workload/calibrate/clock.hpp"
#include "workload/calibrate/files.hpp"
#include "workload/calibrate/fit.hpp"
#include "workload/calibrate/parts.hpp"
#include "workload/real/system/text_file.hpp"

namespace spillway::calibrate {

namespace {

constexpr std::int64_t kPiece = 64LL << 10;
constexpr int kSmallFiles = 800;  // all open at once: below the usual limit of 1024

/// CPU time of all per-CPU kernel workers so far ("kworker/0:1", not the unbound "kworker/u4:1"), from schedstat.
std::int64_t bound_workers_ns() {
  std::int64_t sum = 0;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator{"/proc", ignored}) {
    const std::string name = entry.path().filename();
    if (name.empty() || name[0] < '0' || name[0] > '9') continue;
    const std::string comm = real::read_text("/proc/" + name + "/comm").value_or("");
    if (!comm.starts_with("kworker/") || comm.starts_with("kworker/u")) continue;
    sum += real::read_number("/proc/" + name + "/schedstat").value_or(0);
  }
  return sum;
}

Status start_writing(const File& file, const std::string& path, std::int64_t offset, std::int64_t bytes) {
  if (::sync_file_range(file.fd(), offset, bytes, SYNC_FILE_RANGE_WRITE) != 0) return file_error("start writing", path);
  return {};
}

/// A fresh large file, started to be written in pieces of `piece`: CPU nanoseconds of all of it.
Result<double> big_file(const std::string& path, std::int64_t piece) {
  const std::vector<char> buffer(10240, 'x');
  SPILLWAY_ASSIGN(const File file, File::open(path, O_WRONLY | O_CREAT | O_TRUNC));
  for (std::int64_t at = 0; at < kBig; at += static_cast<std::int64_t>(buffer.size()))
    if (::write(file.fd(), buffer.data(), static_cast<std::size_t>(std::min<std::int64_t>(kBig - at, static_cast<std::int64_t>(buffer.size())))) < 0) return file_error("write", path);
  const std::int64_t began = cpu_ns();
  for (std::int64_t at = 0; at < kBig; at += piece) SPILLWAY_TRY(start_writing(file, path, at, piece));
  const std::int64_t took = cpu_ns() - began;
  if (::fdatasync(file.fd()) != 0) return file_error("sync", path);
  ::unlink(path.c_str());
  return static_cast<double>(took);
}

struct Small {
  double own_ns = 0, workers_ns = 0;  ///< a file
};

/// Dirties one page of each file and starts its writing.
Result<Small> small_files(const std::string& folder, int flags) {
  const std::vector<char> page(kPage, 'x');
  std::vector<File> files;
  for (int i = 0; i < kSmallFiles; ++i) {
    const std::string path = fmt::format("{}/s{}", folder, i);
    SPILLWAY_ASSIGN(File file, File::open(path, flags));
    if (::pwrite(file.fd(), page.data(), kPage, 0) != kPage) return file_error("write", path);
    files.push_back(std::move(file));
  }
  const std::int64_t workers = bound_workers_ns(), began = cpu_ns();
  for (int i = 0; i < kSmallFiles; ++i) SPILLWAY_TRY(start_writing(files[static_cast<std::size_t>(i)], folder, 0, 0));
  const std::int64_t took = cpu_ns() - began;
  for (const File& file : files)
    if (::sync_file_range(file.fd(), 0, 0, SYNC_FILE_RANGE_WAIT_AFTER) != 0) return file_error("wait for", folder);
  return Small{static_cast<double>(took) / kSmallFiles, static_cast<double>(bound_workers_ns() - workers) / kSmallFiles};
}

}  // namespace

Result<FlushMeasurements> measure_flush(const std::string& folder, std::vector<std::string>& notes) {
  FlushMeasurements out;
  std::vector<double> page, request, fresh, again, workers_fresh, workers_again;
  for (int repeat = 0; repeat < 5; ++repeat) {
    SPILLWAY_ASSIGN(const double whole, big_file(folder + "/flush", kBig));
    SPILLWAY_ASSIGN(const double pieces, big_file(folder + "/flush", kPiece));
    page.push_back(whole / (kBig / kPage));
    request.push_back((pieces - whole) / (kBig / kPiece));
    SPILLWAY_ASSIGN(const Small first, small_files(folder, O_WRONLY | O_CREAT | O_TRUNC));
    SPILLWAY_ASSIGN(const Small second, small_files(folder, O_WRONLY));
    fresh.push_back(first.own_ns), again.push_back(second.own_ns);
    workers_fresh.push_back(first.workers_ns), workers_again.push_back(second.workers_ns);
    for (int i = 0; i < kSmallFiles; ++i) ::unlink(fmt::format("{}/s{}", folder, i).c_str());
  }
  out.big_page_ns = median(page);
  out.request_ns = median(request);
  out.small_fresh_ns = median(fresh), out.small_again_ns = median(again);
  if (const double f = median(workers_fresh), a = median(workers_again); f > a && f > 0) out.workers_fresh_ns = f, out.workers_again_ns = a;
  else notes.push_back("completion: the kernel workers' time for first writes does not exceed that of later ones (no schedstat, or a busy box)");
  return out;
}

}  // namespace spillway::calibrate
