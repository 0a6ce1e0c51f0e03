#pragma once
/// The measurements, one function each. `folder` lies on the target; each removes what it made. A file operation that
/// fails is an error with the file and the system's word.

#include "sim/result.hpp"
#include "workload/calibrate/measurements.hpp"

#include <string>

namespace spillway::calibrate {

/// What is measured in: one page, and the large file.
inline constexpr std::int64_t kPage = 4096, kBig = 64LL << 20;

CpuMeasurements measure_cpu(int cpus);
Result<FileMeasurements> measure_files(const std::string& folder);
Result<FlushMeasurements> measure_flush(const std::string& folder, std::vector<std::string>& notes);
/// `unsupported` where tar is missing or not GNU's.
Result<TarMeasurements> measure_tar(const std::string& folder);
Result<DeviceMeasurements> measure_device(const std::string& folder);

}  // namespace spillway::calibrate
