#pragma once
/// The folder that a guest sees as /run: the program, the plan and the script go in, results come out. Shared by the boxes
/// that bring their own kernel.

#include "sim/result.hpp"
#include "workload/box.hpp"
#include "workload/kernel/guest_results.hpp"
#include "workload/kernel/guest_setup.hpp"

#include <filesystem>

namespace spillway::kernel {

/// Makes DIR/guest with program, plan and script; what an earlier try left there is removed.
Result<std::filesystem::path> make_run_folder(const std::filesystem::path& dir, const std::filesystem::path& guest_program, const GuestSetup& setup);

/// Reads the results, writes timeline.csv, bdp.csv and ratelimit.csv into `dir`, and fills in what every record says:
/// experiment, case, repeat, seed, environment. The caller adds the box. The guest's folder stays for inspection, without
/// the program.
Result<Record> make_record(const std::filesystem::path& run_folder, const GuestSetup& setup, const Case& item, const RepeatContext& context);

}  // namespace spillway::kernel
