#pragma once
/// Before anything is changed: does this box have what the case needs? And for --dry-run: bytes, minutes, settings.

#include <filesystem>
#include <string>
#include <vector>

#include "sim/result.hpp"
#include "workload/experiment/experiment.hpp"

namespace spillway::real {

/// Whether the case touches a device at all: a [pipeline] without a device stage does not.
bool needs_target(const Experiment& experiment);
/// What all untars of a case write.
Bytes data_of(const Experiment& experiment, Bytes archive_data);
/// Bytes that can still be written below a folder (statvfs, without the reserve of root).
Result<Bytes> free_space(const std::string& folder);
/// Seconds that a repeat takes about: the data at the device's rate, plus what provisioning takes. measured: a leaky
/// bucket at the device's rate is within about 1 % of the total on the reference runs.
double estimated_seconds(const Experiment& experiment, Bytes data);

/// What a case cannot do on this box at all (exit 77) or not now (exit 3).
Status check_experiment(const Experiment& experiment);
/// Free space of 1.6 times the data, enough RAM, the device not in use and without a signature.
Status check_resources(const Experiment& experiment, Bytes data, const std::filesystem::path& state, const std::string& destroy);
/// Full sentences for --dry-run.
Result<std::vector<std::string>> describe_plan(const Experiment& experiment, Bytes data, const std::filesystem::path& state);

}  // namespace spillway::real
