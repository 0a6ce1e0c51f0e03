#include "workload/calibrate/fit.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace spillway::calibrate {

namespace {

constexpr double kCallsPerPage10k = 4096.0 / 10240, kCallsPerPage64k = 4096.0 / 65536;

std::string ns_text(double ns) { return fmt::format("\"{}ns\"", std::max<std::int64_t>(0, std::llround(ns))); }

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

PerPageAndFile solve(double large_pages, double large_files, double large, double small_pages, double small_files, double small) {
  const double determinant = large_pages * small_files - large_files * small_pages;
  PerPageAndFile out;
  if (determinant != 0) {
    out.page = (large * small_files - large_files * small) / determinant;
    out.file = (large_pages * small - large * small_pages) / determinant;
  }
  if (out.page < 0) out = {0, std::max(0.0, small) / std::max(1.0, small_files)};
  if (out.file < 0) out = {std::max(0.0, large) / std::max(1.0, large_pages), 0};
  return out;
}

std::vector<ProfileValue> fit(const Measurements& m) {
  std::vector<ProfileValue> out;
  const std::string by = fmt::format("spillway calibrate, {}", m.date);
  const auto put = [&](const char* section, const char* key, std::string value, const std::string& how) {
    out.push_back({section, key, std::move(value), "measured", how.empty() ? by : fmt::format("{}: {}", by, how)});
  };
  put("box", "kernel", fmt::format("\"{}\"", m.kernel), "uname");
  put("box", "hz", std::to_string(m.hz), "the kernel's configuration or its timers");
  put("box", "cpus", std::to_string(m.cpus), "online CPUs");
  put("box", "numa_nodes", std::to_string(m.numa_nodes), "/sys/devices/system/node");
  double bandwidth = 0;
  std::string curve;
  for (const auto& [threads, bytes] : m.cpu.memory_bytes_per_s) {
    bandwidth = std::max(bandwidth, bytes);
    curve += fmt::format("{}{} thread{} {:.1f} GB/s", curve.empty() ? "" : ", ", threads, threads == 1 ? "" : "s", bytes / 1e9);
  }
  if (bandwidth > 0) put("box", "memory_bandwidth", fmt::format("\"{}MB/s\"", std::llround(bandwidth / 1e6)), "read plus written by copying threads: " + curve);
  put("memory", "ram", fmt::format("\"{}kB\"", m.ram_bytes / 1000), "/proc/meminfo");
  if (m.dirty_ratio) put("memory", "dirty_ratio", std::to_string(*m.dirty_ratio), "vm.dirty_ratio");
  if (m.dirty_background_ratio) put("memory", "dirty_background_ratio", std::to_string(*m.dirty_background_ratio), "vm.dirty_background_ratio");

  if (m.cpu.page_fault_ns > 0) put("costs", "page_fault", ns_text(m.cpu.page_fault_ns), "first touch of fresh memory");
  if (m.cpu.context_switch_ns > 0) put("costs", "context_switch", ns_text(m.cpu.context_switch_ns), "two threads that yield to each other on one core");

  // A page costs copy + calls x calls per page; two sizes of calls tell them apart. Reads and writes share the call's cost.
  const FileMeasurements& f = m.file;
  double call = (f.write_page_10k_ns + f.read_page_10k_ns - f.write_page_64k_ns - f.read_page_64k_ns) / (2 * (kCallsPerPage10k - kCallsPerPage64k));
  call = std::max(call, 0.0);
  double write_page = std::max(0.0, f.write_page_64k_ns - call * kCallsPerPage64k);
  double read_page = std::max(0.0, f.read_page_64k_ns - call * kCallsPerPage64k);
  double create = f.create_ns;
  const double close_written = std::max(0.0, f.create_written_ns - f.create_ns - write_page - call);
  std::string pages_how = "files of 64 MiB with calls of 10 and 64 KiB, solved for page and call";
  std::string create_how = "open, futimens and close of empty files";

  if (m.tar) {
    const TarMeasurements& t = *m.tar;
    const auto solved = [&](double TarRun::* part) {
      return solve(t.large.pages, t.large.files, t.large.*part - t.empty.*part, t.small.pages, t.small.files, t.small.*part - t.empty.*part);
    };
    const PerPageAndFile user = solved(&TarRun::user_s), system = solved(&TarRun::system_s);
    const double page_ns = system.page * 1e9, file_ns = system.file * 1e9;
    const double primitive = write_page + read_page + 2 * call * kCallsPerPage10k;
    const double rest = page_ns - primitive;
    const std::string tar_how = "GNU tar on few large and on many small files, solved for page and file";
    if (rest < 0 && primitive > 0) {
      // tar is cheaper than the pieces measured one by one: they are taken in proportion.
      const double scale = page_ns / primitive;
      write_page *= scale, read_page *= scale, call *= scale;
      pages_how = fmt::format("{}; the split from calls of 10 and 64 KiB", tar_how);
    }
    put("costs", "tar_system_per_page", ns_text(std::max(0.0, rest)), tar_how + ", less reading and writing");
    put("costs", "tar_user_per_page", ns_text(user.page * 1e9), tar_how);
    put("costs", "user_per_file", ns_text(user.file * 1e9), tar_how);
    put("costs", "process", ns_text((t.empty.user_s + t.empty.system_s) * 1e9), "tar on an archive of one tiny file, start to end");
    if (file_ns > close_written) {
      create = file_ns - close_written;
      create_how = tar_how + ", less close_written";
    }
  }
  if (f.write_page_64k_ns > 0) {
    put("costs", "write_page", ns_text(write_page), pages_how);
    put("costs", "read_page", ns_text(read_page), pages_how);
    put("costs", "io_call", ns_text(call), pages_how);
  }
  if (create > 0) put("costs", "create_file", ns_text(create), create_how);
  if (f.create_written_ns > 0) put("costs", "close_written", ns_text(close_written), "files with one page less empty files, page and call");
  if (f.unlink_ns > 0) put("costs", "unlink_file", ns_text(f.unlink_ns), "unlink of files of one page on disk");
  if (f.mkdir_ns > 0) put("costs", "make_directory", ns_text(f.mkdir_ns), "mkdir");
  if (f.nap_ns > 0) put("costs", "wake_after_sleep", ns_text(f.nap_ns), "CPU time that a nap of 12 ms between pieces of 100 pages adds");

  const FlushMeasurements& w = m.flush;
  const double request = std::max(0.0, w.request_ns);
  if (w.big_page_ns > 0) put("costs", "flush_page", ns_text(w.big_page_ns), "sync_file_range of a large file in the calling thread");
  if (w.request_ns > 0) put("costs", "submit_request", ns_text(request), "the same in 64 KiB pieces, less the whole");
  if (w.small_fresh_ns > 0) {
    put("costs", "allocate_extent", ns_text(std::max(0.0, w.small_fresh_ns - w.small_again_ns)), "files of one page without blocks, less the same files again");
    put("costs", "flush_inode", ns_text(std::max(0.0, w.small_again_ns - w.big_page_ns - request)), "a visit to a file of one page, less page and request");
  }
  if (w.workers_fresh_ns && w.workers_again_ns)
    put("costs", "complete_extent", ns_text(*w.workers_fresh_ns - *w.workers_again_ns), "per-CPU kernel workers' time for files of one page, first write less the second");

  const DeviceMeasurements& d = m.device;
  if (d.write_bytes_per_s > 0) put("device", "base_rate", fmt::format("\"{}MB/s\"", std::max<std::int64_t>(1, std::llround(d.write_bytes_per_s / 1e6))), "O_DIRECT writes of 1 MiB on the target without a limit");
  if (d.latency_ns > 0) put("device", "latency", ns_text(d.latency_ns), "O_DIRECT writes of 4 KiB, one at a time");
  if (d.flush_ns > 0) put("device", "flush_time", ns_text(d.flush_ns), "fdatasync after one of them");
  return out;
}

}  // namespace spillway::calibrate
