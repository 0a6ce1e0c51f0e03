#pragma once
/// The null model that every accuracy figure stands beside: a leaky bucket. Writers fill it at their full CPU speed, it
/// leaks at the device's rate, and once it is full to the cap the writers get the device's rate. The cap is the setpoint
/// of the kernel's controller, (freerun + limit) / 2 with freerun = (background + limit) / 2.
///
/// It knows nothing of pauses, shares, estimates or metadata, yet gets the total time of a bandwidth-limited run within
/// a per cent or two: a simulator that is not better than this per untar has shown nothing.

#include <optional>
#include <utility>
#include <vector>

#include "sim/result.hpp"
#include "workload/record/record.hpp"
#include "workload/record/timeline.hpp"

namespace spillway::analysis {

struct NullUntar {
  double bytes = 0;
  double full_speed_s = 0;  ///< how long it takes when nothing holds it back: its CPU time
};

struct NullModel {
  std::vector<NullUntar> untars;
  int at_once = 1;
  double device_bytes_per_s = 0;
  double cap_bytes = 0;
};

struct NullResult {
  std::vector<double> start_s, elapsed_s;  ///< per untar
  double untars_end_s = 0;
  double sync_s = 0;                       ///< what is left in the bucket, at the device's rate
  [[nodiscard]] double durable_s() const { return untars_end_s + sync_s; }
  std::vector<std::pair<double, double>> level;  ///< corners (s, bytes) of what is in the bucket, straight between them
  [[nodiscard]] double level_at(double t_s) const;
};

/// Precondition: rate, cap, sizes and full-speed times above zero (null_model_for checks).
NullResult run_null_model(const NullModel& model);

/// The null model for a real run. Its inputs: CPU time per untar and bytes from the record (during the run: that favours the
/// null model), the rate from `device.rate` of the experiment, else from what the device wrote; the cap from the timeline's
/// first thresholds, else from the experiment's memory settings. The error says which is missing.
Result<NullModel> null_model_for(const Record& real, const Timeline* timeline);

}  // namespace spillway::analysis
