#include "cli/untar_table.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace spillway::cli {

namespace {

std::string line(const std::string& name, double elapsed, double user, double system) {
  const double percent = elapsed > 0 ? 100 * (user + system) / elapsed : 0;
  return fmt::format("{}...{:.2f}sec {:.2f}usr {:.2f}sys ({:.2f}% cpu)", name, elapsed, user, system, percent);
}

}  // namespace

std::string untar_table(const Record& record) {
  std::string text;
  const auto phase_lines = [&](bool before) {
    for (const PhaseResult& phase : record.phases) {
      if ((phase.start_s < 0) == before) text += line(phase.name, phase.elapsed_s, phase.user_s, phase.system_s) + "\n";
    }
  };
  phase_lines(true);
  std::int64_t bytes = 0;
  for (const UntarResult& untar : record.untars) {
    bytes += untar.bytes;
    text += line(fmt::format("{}", untar.number), untar.elapsed_s, untar.user_s, untar.system_s);
    if (untar.elapsed_s > 0) text += fmt::format(" {:.2f} MB/s", static_cast<double>(untar.bytes) * 1e-6 / untar.elapsed_s);
    if (untar.exit_status != 0) text += fmt::format(" exit {}", untar.exit_status);
    text += "\n";
  }
  phase_lines(false);
  for (const JobResult& job : record.jobs) {
    text += fmt::format("{}: {:.2f} s, {:.2f} MB/s, {:.0f} IOPS, latency mean {:.3g} ms, p99 {:.3g} ms, max {:.3g} ms\n", job.name, job.elapsed_s,
                        job.mb_per_s, job.iops, job.lat_ms_mean, job.lat_ms_p99, job.lat_ms_max);
  }
  for (const StageResult& stage : record.stages) {
    text += fmt::format("{}: {} thread{}, {:.1f} % CPU (busiest {:.1f} %), wake-up delay mean {:.3g} us, lock held {:.1f} %\n", stage.name,
                        stage.threads, stage.threads == 1 ? "" : "s", stage.cpu_pct, stage.cpu_pct_max, stage.wakeup_delay_us_mean, stage.lock_held_pct);
  }
  if (!record.untars.empty()) {
    const double mb = static_cast<double>(bytes) * 1e-6;
    text += fmt::format("untars end {:.2f} s", record.untars_end_s);
    if (record.untars_end_s > 0) text += fmt::format(" ({:.1f} MB/s accepted)", mb / record.untars_end_s);
    text += fmt::format(", durable {:.2f} s", record.durable_s);
    if (record.durable_s > 0) text += fmt::format(" ({:.1f} MB/s to disk)", mb / record.durable_s);
    text += "\n";
  }
  for (const std::string& sentence : record.disturbances) text += fmt::format("disturbed: {}\n", sentence);
  return text;
}

}  // namespace spillway::cli
