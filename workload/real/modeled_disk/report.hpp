#pragma once
/// The modeled disk's report as JSON: what it was, what the host asked for, every disk's counters and split of time, and
/// requested against delivered service times. Schema "spillway.modeled_disk/1"; units are in the names.

#include <string>

#include "sim/device/counters.hpp"
#include "workload/real/modeled_disk/service_times.hpp"

namespace spillway::real {

struct ModeledDiskReport {
  std::string device{};
  std::uint64_t seed = 0;
  Bytes size{0};
  Duration elapsed{0};
  BytesPerSec sequential_write_rate{0};
  sim::device::Counters counters{};
  ServiceTimes requested{};  ///< what the model said
  ServiceTimes delivered{};  ///< from receiving a request to having answered it
  ServiceTimes late{};       ///< delivered less requested, per request
};

std::string to_json(const ModeledDiskReport& report);

}  // namespace spillway::real
