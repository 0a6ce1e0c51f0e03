#include <sys/stat.h>

#include <chrono>
#include <thread>

#include "workload/calibrate/clock.hpp"
#include "workload/calibrate/files.hpp"
#include "workload/calibrate/fit.hpp"
#include "workload/calibrate/parts.hpp"

namespace spillway::calibrate {

namespace {

constexpr int kFiles = 2000, kDirectories = 16, kMadeDirectories = 400;

struct PerPage {
  double write_ns = 0, read_ns = 0;
};

/// One fresh file of 64 MiB written and read again with calls of `call` bytes.
Result<PerPage> big_file(const std::string& path, std::size_t call) {
  std::vector<char> buffer(call, 'x');
  PerPage out;
  SPILLWAY_ASSIGN(const File file, File::open(path, O_RDWR | O_CREAT | O_TRUNC));
  std::int64_t began = cpu_ns();
  for (std::int64_t at = 0; at < kBig; at += static_cast<std::int64_t>(call))
    if (::write(file.fd(), buffer.data(), call) != static_cast<ssize_t>(call)) return file_error("write", path);
  out.write_ns = static_cast<double>(cpu_ns() - began) / (kBig / kPage);
  began = cpu_ns();
  for (std::int64_t at = 0; at < kBig; at += static_cast<std::int64_t>(call))
    if (::pread(file.fd(), buffer.data(), call, at) < 0) return file_error("read", path);
  out.read_ns = static_cast<double>(cpu_ns() - began) / (kBig / kPage);
  ::unlink(path.c_str());
  return out;
}

std::string small_name(const std::string& folder, int i) { return fmt::format("{}/d{}/f{}", folder, i % kDirectories, i); }

/// Creates, stamps and closes small files; with a page or without. CPU nanoseconds a file.
Result<double> create_files(const std::string& folder, bool with_page) {
  const std::vector<char> page(kPage, 'x');
  const timespec stamp[2] = {{1'600'000'000, 0}, {1'600'000'000, 0}};
  const std::int64_t began = cpu_ns();
  for (int i = 0; i < kFiles; ++i) {
    const std::string path = small_name(folder, i);
    SPILLWAY_ASSIGN(const File file, File::open(path, O_WRONLY | O_CREAT | O_EXCL));
    if (with_page && ::write(file.fd(), page.data(), kPage) != kPage) return file_error("write", path);
    if (::futimens(file.fd(), stamp) != 0) return file_error("stamp", path);
  }
  return static_cast<double>(cpu_ns() - began) / kFiles;
}

Result<double> unlink_files(const std::string& folder) {
  const std::int64_t began = cpu_ns();
  for (int i = 0; i < kFiles; ++i)
    if (const std::string path = small_name(folder, i); ::unlink(path.c_str()) != 0) return file_error("unlink", path);
  return static_cast<double>(cpu_ns() - began) / kFiles;
}

/// What sleeping between pieces of work adds to their CPU time: 100 pieces of 100 pages in calls of 10 KiB.
Result<double> nap_cost(const std::string& path, bool nap) {
  constexpr int kNaps = 100;
  const std::vector<char> buffer(10240, 'x');
  SPILLWAY_ASSIGN(const File file, File::open(path, O_WRONLY | O_CREAT | O_TRUNC));
  const std::int64_t began = cpu_ns();
  for (int i = 0; i < kNaps; ++i) {
    for (int k = 0; k < 40; ++k)
      if (::write(file.fd(), buffer.data(), buffer.size()) < 0) return file_error("write", path);
    if (nap) std::this_thread::sleep_for(std::chrono::milliseconds{12});
  }
  const double ns = static_cast<double>(cpu_ns() - began) / kNaps;
  ::unlink(path.c_str());
  return ns;
}

}  // namespace

Result<FileMeasurements> measure_files(const std::string& folder) {
  FileMeasurements out;
  std::vector<double> w10, r10, w64, r64, create, written, unlink, mkdir, nap;
  for (int repeat = 0; repeat < 3; ++repeat) {
    SPILLWAY_ASSIGN(const PerPage ten, big_file(folder + "/big", 10240));
    SPILLWAY_ASSIGN(const PerPage sixty, big_file(folder + "/big", 65536));
    w10.push_back(ten.write_ns), r10.push_back(ten.read_ns), w64.push_back(sixty.write_ns), r64.push_back(sixty.read_ns);
    for (int d = 0; d < kDirectories; ++d)
      if (const std::string path = fmt::format("{}/d{}", folder, d); ::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return file_error("make", path);
    SPILLWAY_ASSIGN(const double empty_ns, create_files(folder, false));
    create.push_back(empty_ns);
    SPILLWAY_TRY(unlink_files(folder));
    SPILLWAY_ASSIGN(const double written_ns, create_files(folder, true));
    written.push_back(written_ns);
    ::sync();
    SPILLWAY_ASSIGN(const double unlink_ns, unlink_files(folder));
    unlink.push_back(unlink_ns);
    const std::int64_t began = cpu_ns();
    for (int i = 0; i < kMadeDirectories; ++i)
      if (const std::string path = fmt::format("{}/m{}", folder, i); ::mkdir(path.c_str(), 0700) != 0) return file_error("make", path);
    mkdir.push_back(static_cast<double>(cpu_ns() - began) / kMadeDirectories);
    for (int i = 0; i < kMadeDirectories; ++i) ::rmdir(fmt::format("{}/m{}", folder, i).c_str());
    SPILLWAY_ASSIGN(const double napping, nap_cost(folder + "/nap", true));
    SPILLWAY_ASSIGN(const double awake, nap_cost(folder + "/nap", false));
    nap.push_back(napping - awake);
  }
  for (int d = 0; d < kDirectories; ++d) ::rmdir(fmt::format("{}/d{}", folder, d).c_str());
  out.write_page_10k_ns = median(w10), out.read_page_10k_ns = median(r10);
  out.write_page_64k_ns = median(w64), out.read_page_64k_ns = median(r64);
  out.create_ns = median(create), out.create_written_ns = median(written);
  out.unlink_ns = median(unlink), out.mkdir_ns = median(mkdir);
  out.nap_ns = median(nap);
  return out;
}

}  // namespace spillway::calibrate
