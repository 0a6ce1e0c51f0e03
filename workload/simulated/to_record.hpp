#pragma once
/// What the simulator found, as the record that every box writes.

#include "sim/box/outputs.hpp"
#include "workload/box.hpp"
#include "workload/record/record.hpp"
#include "workload/record/timeline.hpp"
#include "workload/simulated/translate.hpp"

namespace spillway::simulated {

/// From the first start of an instance to the last end.
double job_elapsed_s(const sim::JobOutputs& job);
Record to_record(const Case& item, const RepeatContext& context, const Translation& translation, const sim::BoxOutputs& outputs);
/// The same clock as the record: 0 is the start of the first untar.
/// bdp.csv: every decision of balance_dirty_pages, in the columns of the real box as far as the model has them; t_s as in the timeline.
std::string throttle_csv(const sim::BoxOutputs& outputs);

Timeline to_timeline(const sim::BoxOutputs& outputs);

}  // namespace spillway::simulated
