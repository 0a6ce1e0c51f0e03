#pragma once
/// A [pipeline] case in the simulated box: translated into sim/pipeline, run, and written as a record. The pipeline's
/// throughput and latency stand in the record as the job "pipeline"; threads as stages.

#include "sim/pipeline/pipeline.hpp"
#include "sim/result.hpp"
#include "workload/box.hpp"
#include "workload/record/record.hpp"

namespace spillway::simulated {

/// The inputs of sim/pipeline for a case that has a [pipeline].
Result<sim::pipeline::PipelineInputs> pipeline_inputs(const Case& item, std::uint64_t seed);

/// Runs it. The record is complete.
Result<Record> run_pipeline_case(const Case& item, const RepeatContext& context);

}  // namespace spillway::simulated
