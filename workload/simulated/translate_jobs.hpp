#pragma once
/// [[job]] in the simulated box: from the experiment's words to the simulator's, and what it cannot do.

#include "sim/job/job.hpp"
#include "sim/result.hpp"
#include "workload/experiment/experiment.hpp"

#include <string>
#include <vector>

namespace spillway::simulated {

/// What is not modelled of one job: an `unsupported` error with one sentence.
Status can_simulate_job(const JobSpec& job);
/// Do all jobs only write through the cache, whole pages, or create? The full XFS has no reads yet.
bool all_fit_full_xfs(const std::vector<sim::JobInputs>& jobs);
/// The jobs with `after` and `continues` as indices. Adds to `notes` what was taken over differently.
Result<std::vector<sim::JobInputs>> job_inputs(const Experiment& experiment, std::vector<std::string>& notes);
/// What the jobs' files take on the disk; a shared file counts once.
Bytes job_files_bytes(const Experiment& experiment);
/// Is the device a plain SSD of which both rates are given? It is then simulated as those two rates, nothing else.
bool is_fixed_rate_ssd(const DeviceSpecText& device);

}  // namespace spillway::simulated
