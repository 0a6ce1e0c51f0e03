#pragma once
/// The file behind a pipeline's device stages: requests of one size at sequential or random places, with direct I/O where
/// the file system allows it, and how long at least one request was under way.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "sim/result.hpp"
#include "workload/experiment/experiment.hpp"

namespace spillway::real {

class PipelineDevice {
 public:
  /// Makes the file in `directory`, and fills it where it is to be read.
  static Result<std::unique_ptr<PipelineDevice>> make(const PipelineSpec& spec, const std::string& directory);
  ~PipelineDevice();
  PipelineDevice(const PipelineDevice&) = delete;
  PipelineDevice& operator=(const PipelineDevice&) = delete;

  /// One request, in the calling thread. `random`: any number.
  Status transfer(std::uint64_t random);
  Status sync();
  [[nodiscard]] bool direct() const { return direct_; }
  [[nodiscard]] double busy_s() const { return static_cast<double>(busy_ns_) * 1e-9; }

 private:
  PipelineDevice() = default;
  void begin();
  void end();
  int fd_ = -1;
  bool direct_ = false, write_ = false, random_ = false;
  std::int64_t request_ = 0, blocks_ = 0;
  std::string path_;
  std::atomic<std::int64_t> next_ = 0;
  std::mutex mutex_;
  int under_way_ = 0;
  std::int64_t since_ns_ = 0, busy_ns_ = 0;
};

}  // namespace spillway::real
