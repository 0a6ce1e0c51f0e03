#pragma once
/// How two boxes differ, as far as their records say: what a repeat on another box (or on the same, later) must know.

#include <string>
#include <vector>

#include "workload/record/record.hpp"

namespace spillway {

/// One sentence for each difference that may decide an outcome: kernel, HZ, CPUs, RAM (by more than 1 %), device, vm.*,
/// queue, mount and file system. What changes with every run (free memory, device numbers, mount points) is left out.
std::vector<std::string> box_differences(const BoxInfo& before, const BoxInfo& now);

}  // namespace spillway
