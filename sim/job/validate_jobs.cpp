#include "sim/job/validate_jobs.hpp"

#include <fmt/format.h>

#include "sim/cache/page_cache.hpp"

namespace spillway::sim {

Status validate_jobs(const BoxInputs& in) {
  using Kind = JobInputs::Kind;
  const bool followed = !in.jobs.empty() || in.replay.archive_cold;
  if (followed && in.cpu.numa_nodes > kMaxNodes)
    return fail(ErrorKind::unsupported, fmt::format("the page cache is modelled for up to {} NUMA nodes, not {}", kMaxNodes, in.cpu.numa_nodes));
  if (followed && in.device.read_ahead < kPageSize)
    return fail(ErrorKind::bad_input, "read-ahead of less than a page: nothing would ever be read");
  if (in.replay.archive_cold && in.replay.archive_rate.value() <= 0)
    return fail(ErrorKind::bad_input, "the archive's disk must read at a rate above 0");
  for (std::size_t j = 0; j < in.jobs.size(); ++j) {
    const JobInputs& job = in.jobs[j];
    const auto refuse = [&](std::string what) { return fail(ErrorKind::bad_input, fmt::format("job \"{}\" {}", job.name, what)); };
    const bool data = job.kind == Kind::read || job.kind == Kind::write || job.kind == Kind::randread || job.kind == Kind::randwrite || job.kind == Kind::randrw;
    if (job.numjobs < 1 || job.nrfiles < 1) return refuse("needs at least one instance and one file");
    if (data && job.bs.value() <= 0) return refuse("moves 0 bytes at a time and would make no progress");
    if (data && job.size.value() <= 0 && job.filesize.value() <= 0) return refuse("has no size; give size, for each of its instances, or filesize");
    if (data && (job.filesize.value() > 0 ? job.filesize : job.size / job.nrfiles) < job.bs) return refuse("has files smaller than one operation (bs)");
    if (job.nrfiles > 1 && !job.file.empty()) return refuse("has one file by name and nrfiles above 1; leave one of them out");
    if (job.direct && job.bs.value() % kPageSize.value() != 0) return refuse("uses O_DIRECT with operations that are no whole pages of 4 KiB");
    if (job.kind == Kind::compute && job.compute.count() <= 0 && job.runtime.count() <= 0) return refuse("computes for no time");
    if (job.kind == Kind::probe && job.runtime.count() <= 0) return refuse("is a probe and needs a runtime");
    if (job.rwmixread < 0 || job.rwmixread > 100) return refuse("has a share of reads outside 0 to 100 %");
    for (const int earlier : {job.after, job.continues})
      if (earlier < -1 || earlier >= static_cast<int>(in.jobs.size()) || earlier == static_cast<int>(j)) return refuse("waits for a job that does not exist");
    if (job.after >= 0 && job.continues >= 0) return refuse("has both `after` and `continues`; a job that continues another one starts when that has ended");
    if (job.continues >= 0 && in.jobs[static_cast<std::size_t>(job.continues)].numjobs != job.numjobs)
      return refuse("continues a job with another number of instances; numjobs must be equal");
    if (in.memory.ram.value() > 0 && job.anonymous.value() * job.numjobs > in.memory.ram.value() / 10 * 9)
      return refuse(fmt::format("fills {} bytes of anonymous memory on a box with {}; there is no swap here", job.anonymous.value() * job.numjobs, in.memory.ram.value()));
    // Whoever waits in a circle never starts.
    int at = static_cast<int>(j);
    for (std::size_t steps = 0; at >= 0; ++steps) {
      if (steps > in.jobs.size()) return refuse("waits for itself: `after` and `continues` go round in a circle");
      const JobInputs& here = in.jobs[static_cast<std::size_t>(at)];
      at = here.continues >= 0 ? here.continues : here.after;
    }
  }
  return {};
}

}  // namespace spillway::sim
