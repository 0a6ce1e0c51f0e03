#include "workload/simulated/translate_jobs.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>

namespace spillway::simulated {

namespace {

using Kind = sim::JobInputs::Kind;

const std::map<std::string, Kind>& kinds() {
  static const std::map<std::string, Kind> table = {
      {"read", Kind::read},     {"write", Kind::write},   {"randread", Kind::randread}, {"randwrite", Kind::randwrite}, {"randrw", Kind::randrw},
      {"create", Kind::create}, {"unlink", Kind::unlink}, {"compute", Kind::compute},   {"probe", Kind::probe}};
  return table;
}

Bytes bytes_of(const JobSpec& job) { return job.filesize.value() > 0 ? job.filesize * job.nrfiles : job.size; }

}  // namespace

Status can_simulate_job(const JobSpec& job) {
  const auto unsupported = [&](const std::string& what) { return fail(ErrorKind::unsupported, fmt::format("the simulated box {} (job \"{}\")", what, job.name)); };
  if (job.ioengine == "mmap") return unsupported("does not model writes through a mapping; take ioengine psync");
  const bool asynchronous = job.ioengine == "libaio" || job.ioengine == "io_uring";
  if (job.direct && asynchronous && job.iodepth > 1) return unsupported("has one operation in flight for each instance; with direct = true take iodepth = 1 and a larger numjobs");
  return {};
}

bool all_fit_full_xfs(const std::vector<sim::JobInputs>& jobs) {
  return std::all_of(jobs.begin(), jobs.end(), [](const sim::JobInputs& job) {
    const bool writes = job.kind == Kind::write || (job.kind == Kind::randwrite && job.bs.value() % 4096 == 0);
    return (writes && !job.direct) || job.kind == Kind::create || job.kind == Kind::compute || job.kind == Kind::probe;
  });
}

Result<std::vector<sim::JobInputs>> job_inputs(const Experiment& e, std::vector<std::string>& notes) {
  std::vector<sim::JobInputs> out;
  const auto index_of = [&e](const std::string& name) {
    const auto found = std::find_if(e.jobs.begin(), e.jobs.end(), [&](const JobSpec& j) { return j.name == name; });
    return name.empty() ? -1 : static_cast<int>(found - e.jobs.begin());
  };
  for (const JobSpec& job : e.jobs) {
    sim::JobInputs in;
    in.name = job.name;
    in.kind = kinds().at(job.rw);
    in.bs = job.bs;
    in.size = job.size;
    in.filesize = job.filesize;
    in.numjobs = job.numjobs;
    in.nrfiles = job.nrfiles;
    in.direct = job.direct;
    in.fsync_every = job.fsync;
    in.end_fsync = job.end_fsync;
    in.runtime = job.runtime;
    in.rate = job.rate;
    in.compute = job.compute;
    in.anonymous = job.anonymous;
    in.file = job.file;
    in.own_directory = job.own_directory;
    in.after = index_of(job.after);
    in.continues = index_of(job.continues);
    in.start = job.start;
    in.rwmixread = job.rwmixread;
    if (!job.direct && job.iodepth > 1 && (job.ioengine == "libaio" || job.ioengine == "io_uring"))
      notes.push_back(fmt::format("job \"{}\": buffered operations are simulated one after another; iodepth = {} has no effect", job.name, job.iodepth));
    out.push_back(std::move(in));
  }
  return out;
}

Bytes job_files_bytes(const Experiment& e) {
  Bytes sum{0};
  std::map<std::string, Bytes> shared;
  for (const JobSpec& job : e.jobs) {
    if (job.rw == "compute" || job.rw == "create" || job.rw == "probe") continue;
    if (job.file.empty()) sum += bytes_of(job) * job.numjobs;
    else shared[job.file] = std::max(shared[job.file], bytes_of(job));
  }
  for (const auto& [name, bytes] : shared) sum += bytes;
  return sum;
}

bool is_fixed_rate_ssd(const DeviceSpecText& d) { return d.model == "ssd" && d.rate.value() > 0 && d.read_rate.value() > 0; }

}  // namespace spillway::simulated
