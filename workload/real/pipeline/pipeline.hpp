#pragma once
/// [pipeline] with real threads on this box: they burn the stated CPU time, take real mutexes, hand over through queues
/// with real wake-ups, and write to or read from a real file system where a stage says `device`. The same specification
/// runs in the simulated box (sim/pipeline), so that both can be held against each other.
///
/// What differs from the simulated one and is said in the record: one host (this box); the link is a clock, not a network;
/// `lock_spin` chooses glibc's adaptive mutex, whose spin is counted in tries and not in time; a device stage uses direct
/// I/O on a file of its own where the file system allows it.

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/result.hpp"
#include "workload/experiment/experiment.hpp"
#include "workload/real/pipeline/thread_account.hpp"
#include "workload/record/record.hpp"

namespace spillway::real {

/// A mutex over the whole run.
struct LockUse {
  std::int64_t acquired = 0, contended = 0, held_ns = 0, wait_ns = 0;
};

struct PipelineOutcome {
  std::int64_t requests = 0;
  double elapsed_s = 0, durable_s = 0;
  std::vector<std::int64_t> latencies_ns;   ///< of every request
  std::vector<ThreadUse> threads;           ///< sources first, then the stages in order
  std::map<std::string, LockUse> locks;
  double link_busy_pct = 0, device_busy_pct = 0;  ///< device: share of the time with a request at it
  std::vector<std::string> notes;
};

/// Whether this box can: one host, kernels' slices. An error of kind `unsupported` says why not.
Status pipeline_available(const PipelineSpec& spec);

/// Runs it in this process, with threads of its own, to the end. `directory` takes the file of device stages.
Result<PipelineOutcome> run_pipeline(const PipelineSpec& spec, const std::string& directory, std::uint64_t seed);

/// Writes the outcome for the process that asked, and reads it there.
nlohmann::ordered_json to_json(const PipelineOutcome& outcome);
Result<PipelineOutcome> outcome_from(const nlohmann::ordered_json& json);

/// Fills jobs, stages, counters and notes of the record: the same members as the simulated box fills.
void fill_record(Record& record, const PipelineSpec& spec, const PipelineOutcome& outcome);

}  // namespace spillway::real
