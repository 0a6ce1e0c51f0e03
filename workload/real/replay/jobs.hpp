#pragma once
/// [[job]] on the real box: fio's own terms are given to fio and its JSON is read back. `compute`, `create` and `unlink`
/// are fio engines too (cpuio, filecreate, filedelete). `probe` is ours: an innocent bystander that creates a file, syncs
/// and stats it ten times a second, so that its longest stall can be seen.

#include <string>
#include <vector>

#include "sim/result.hpp"
#include "workload/experiment/experiment.hpp"
#include "workload/record/record.hpp"

namespace spillway::real {

/// Refused: fields that fio cannot express (anonymous memory).
Status job_available(const JobSpec& job);
/// fio's command line; `directory` holds the job's files, `output` takes the JSON.
std::vector<std::string> fio_command(const JobSpec& job, const std::string& directory, const std::string& output);
/// In the child: runs the job; exit code.
int run_job(const JobSpec& job, const std::string& directory, const std::string& output);
/// What fio (or the probe) wrote, as a result; elapsed, user and system are the caller's.
Result<JobResult> read_job(const JobSpec& job, const std::string& output);

}  // namespace spillway::real
