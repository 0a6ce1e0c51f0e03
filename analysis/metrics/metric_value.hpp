#pragma once
/// The value of a metric (workload/record/metric.hpp has the names) in one record.
///
/// `untar[all]` adds up times, counts and accounts, takes the longest of the longest pauses, the first start and the last
/// end; its rate is all data from the first start to the last end, its cpu_pct all CPU time by all elapsed time.
///
/// An error of kind `bad_input` means that the record has no such thing (untar 9 of 8, no phase "remove"); of kind
/// `unsupported`, that this box did not see it. Neither is ever a zero.

#include <string>

#include "sim/result.hpp"
#include "workload/record/metric.hpp"
#include "workload/record/record.hpp"

namespace spillway::analysis {

/// A number in the metric's unit. `knee.untar` is counted from 1; without a knee it is an error of kind `unsupported`.
Result<double> metric_value(const Record& record, const MetricName& name);
/// Parses the name first.
Result<double> metric_value(const Record& record, std::string_view name);

/// For metrics whose value is a word: `bottleneck`.
Result<std::string> metric_word(const Record& record, const MetricName& name);

/// Throughput of each untar in start order, in MB/s; where no bytes are recorded, untars per second. For the knee.
std::vector<double> untar_rates(const Record& record);

}  // namespace spillway::analysis
