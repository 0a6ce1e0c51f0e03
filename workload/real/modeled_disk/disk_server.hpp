#pragma once
/// The process behind a modeled disk: a FUSE session with one file, and a device model in real time. Two threads: one
/// receives requests from the kernel, copies data and hands the request to the model; the other keeps time and answers
/// what the model has finished.

#include <functional>
#include <string>

#include "workload/real/modeled_disk/modeled_disk.hpp"

namespace spillway::real {

/// Mounts and serves until the file system is unmounted or SIGTERM comes; then writes the report and ends the process.
/// `ready` is called once: with an empty text when the mount stands, else with what went wrong (and then it returns).
/// Call it in a process of its own, with one thread. `options.directory` must exist; size and paths must be filled in.
void serve_modeled_disk(const ModeledDiskOptions& options, const std::function<void(const std::string&)>& ready);

}  // namespace spillway::real
