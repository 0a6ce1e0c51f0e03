#include <cstdlib>
#include <memory>

#include "workload/calibrate/clock.hpp"
#include "workload/calibrate/files.hpp"
#include "workload/calibrate/fit.hpp"
#include "workload/calibrate/parts.hpp"

namespace spillway::calibrate {

Result<DeviceMeasurements> measure_device(const std::string& folder) {
  constexpr std::size_t kMiB = 1UL << 20;
  constexpr int kWrites = 256, kSmall = 200, kFlushes = 20;
  const std::string path = folder + "/direct";
  const std::unique_ptr<void, decltype(&std::free)> buffer{std::aligned_alloc(4096, kMiB), std::free};
  if (!buffer) return fail(ErrorKind::refused, "calibrate: no memory for a buffer of 1 MiB");
  std::memset(buffer.get(), 'x', kMiB);
  SPILLWAY_ASSIGN(const File file, File::open(path, O_WRONLY | O_CREAT | O_TRUNC | O_DIRECT));
  const auto write = [&](std::size_t bytes, std::size_t offset) -> Status {
    if (::pwrite(file.fd(), buffer.get(), bytes, static_cast<off_t>(offset)) != static_cast<ssize_t>(bytes)) return file_error("write", path);
    return {};
  };
  DeviceMeasurements out;
  // The first pass allocates the blocks; the second is the device's own rate.
  for (int pass = 0; pass < 2; ++pass) {
    const std::int64_t began = wall_ns();
    for (int i = 0; i < kWrites; ++i) SPILLWAY_TRY(write(kMiB, static_cast<std::size_t>(i) * kMiB));
    out.write_bytes_per_s = static_cast<double>(kWrites) * kMiB * 1e9 / static_cast<double>(wall_ns() - began);
  }
  std::vector<double> latencies, flushes;
  for (int i = 0; i < kSmall; ++i) {
    const std::int64_t began = wall_ns();
    SPILLWAY_TRY(write(4096, static_cast<std::size_t>((i * 37) % kWrites) * kMiB));
    latencies.push_back(static_cast<double>(wall_ns() - began));
  }
  for (int i = 0; i < kFlushes; ++i) {
    SPILLWAY_TRY(write(4096, static_cast<std::size_t>(i) * kMiB));
    const std::int64_t began = wall_ns();
    if (::fdatasync(file.fd()) != 0) return file_error("sync", path);
    flushes.push_back(static_cast<double>(wall_ns() - began));
  }
  out.latency_ns = median(latencies);
  out.flush_ns = median(flushes);
  ::unlink(path.c_str());
  return out;
}

}  // namespace spillway::calibrate
