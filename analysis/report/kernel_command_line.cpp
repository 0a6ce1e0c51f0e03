#include "analysis/report/kernel_command_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>

namespace spillway::analysis {
namespace {

/// cited: Documentation/admin-guide/kernel-parameters.txt; those that change how fast memory, CPUs, the scheduler or block
/// devices are, or that limit them. A list of what is let through, so that a new secret is left out by default.
constexpr std::array<std::string_view, 56> kTelling{
    "mem", "memmap", "movablecore", "kernelcore", "cma", "hugepages", "hugepagesz", "default_hugepagesz", "transparent_hugepage", "numa", "numa_balancing",
    "init_on_alloc", "init_on_free", "page_poison", "slub_debug", "zswap.enabled", "swapaccount", "swiotlb", "maxcpus", "nr_cpus", "possible_cpus", "nosmt",
    "isolcpus", "nohz", "nohz_full", "rcu_nocbs", "preempt", "threadirqs", "idle", "processor.max_cstate", "intel_idle.max_cstate", "intel_pstate", "amd_pstate",
    "cpufreq.default_governor", "clocksource", "tsc", "mitigations", "nopti", "pti", "spectre_v2", "elevator", "scsi_mod.use_blk_mq", "dm_mod.use_blk_mq",
    "nvme.poll_queues", "nvme.write_queues", "nvme_core.default_ps_max_latency_us", "raid", "raid6_pq", "iommu", "intel_iommu", "amd_iommu", "psi", "delayacct",
    "cgroup_disable", "systemd.unified_cgroup_hierarchy", "workqueue.power_efficient"};

}  // namespace

std::string public_command_line(std::string_view command_line) {
  std::istringstream in{std::string{command_line}};
  std::string kept;
  std::size_t others = 0;
  for (std::string word; in >> word;) {
    const std::string name = word.substr(0, word.find('='));
    if (std::ranges::find(kTelling, name) == kTelling.end()) {
      ++others;
      continue;
    }
    kept += (kept.empty() ? "" : " ") + word;
  }
  const std::string rest = others == 0 ? "" : fmt::format("{} other word{} left out", others, others == 1 ? "" : "s");
  if (kept.empty()) return rest.empty() ? "empty" : "nothing that bears on this; " + rest;
  return rest.empty() ? kept : fmt::format("{} ({})", kept, rest);
}

}  // namespace spillway::analysis
