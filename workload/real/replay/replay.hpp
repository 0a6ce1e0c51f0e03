#pragma once
/// The replay of one repeat: phases before, N untars with K at once, phases after. Each untar and each phase is a process
/// of its own, so that elapsed, user, system, CPU %, memory and context switches are what `time` would print (wait4).

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sim/result.hpp"
#include "workload/archive/catalogue.hpp"
#include "workload/experiment/experiment.hpp"
#include "workload/real/journal/session.hpp"
#include "workload/real/monitors/sampler.hpp"
#include "workload/real/monitors/taskstats.hpp"
#include "workload/real/monitors/tracer.hpp"
#include "workload/real/provision/target.hpp"
#include "workload/record/record.hpp"

namespace spillway::real {

/// The monitors that run beside a replay; any may be null.
struct Monitors {
  Sampler* sampler = nullptr;
  Tracer* tracer = nullptr;
  Taskstats* taskstats = nullptr;
};

struct ReplayInputs {
  const Experiment* experiment = nullptr;
  const PreparedArchive* archive = nullptr;
  const Target* target = nullptr;
  std::filesystem::path directory;                   ///< for the untars' messages
  std::function<void(const std::string&)> live;      ///< may be empty
};

struct ReplayOutcome {
  std::vector<UntarResult> untars;
  std::vector<int> pids;               ///< of the untars, in the same order
  std::map<int, std::int64_t> started_ns;  ///< by pid, CLOCK_MONOTONIC
  std::vector<JobResult> jobs;
  std::vector<PhaseResult> phases;
  std::vector<Mark> marks;
  std::int64_t origin_ns = 0;          ///< start of the first untar, CLOCK_MONOTONIC
  double untars_end_s = 0, durable_s = 0;
  double flushers_cpu_s = 0;           ///< of the helpers of flushers = "user:N"
  std::vector<std::string> notes;
};

/// Runs it. An untar that fails, a sync that reports an error and an interruption are errors; everything that was begun
/// is in the journal and is taken back by the session.
Result<ReplayOutcome> run_replay(Session& session, const ReplayInputs& inputs, const Monitors& monitors);

}  // namespace spillway::real
