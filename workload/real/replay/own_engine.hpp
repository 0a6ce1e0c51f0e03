#pragma once
/// The extraction engines of workload/extract, called in the untar's own process.

#include "sim/result.hpp"
#include "workload/experiment/experiment.hpp"
#include "workload/extract/options.hpp"

namespace spillway::real {

struct UntarTask;

/// [replay] as the engines take it.
extract::ExtractOptions extract_options(const ReplaySpec& replay);
Status own_engine_available(const ReplaySpec& replay);
/// Exit code: 0, or 1 after a sentence on standard error.
int run_own_engine(const UntarTask& task);

}  // namespace spillway::real
