#include "workload/real/replay/jobs.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "workload/real/system/process.hpp"
#include "workload/real/system/text_file.hpp"

namespace spillway::real {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::int64_t kProbeInterval_ns = 100'000'000;

double number(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_number() ? it->get<double>() : 0.0;
}
const Json& member(const Json& object, const char* key) {
  static const Json kNone = Json::object();
  const auto it = object.find(key);
  return it != object.end() ? *it : kNone;
}

std::string seconds_text(Duration duration) { return fmt::format("{}ms", std::chrono::duration_cast<std::chrono::milliseconds>(duration).count()); }

/// Create, write 4 KiB, fsync, stat, close: one latency each, in nanoseconds, until the time is over.
int run_probe(const JobSpec& job, const std::string& directory, const std::string& output) {
  std::vector<std::int64_t> latencies;
  const std::int64_t end = monotonic_ns() + std::max<std::int64_t>(job.runtime.count(), kProbeInterval_ns);
  const std::string block(4096, 'p');
  for (std::int64_t next = monotonic_ns(); next < end; next = std::max(next + kProbeInterval_ns, monotonic_ns())) {
    while (monotonic_ns() < next) ::usleep(1000);
    const std::string path = fmt::format("{}/probe-{}", directory, latencies.size());
    const std::int64_t begin = monotonic_ns();
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    struct stat info {};
    const bool good = fd >= 0 && ::write(fd, block.data(), block.size()) == static_cast<ssize_t>(block.size()) && ::fsync(fd) == 0 && ::stat(path.c_str(), &info) == 0;
    if (fd >= 0) ::close(fd);
    if (!good) {
      std::perror(path.c_str());
      return 1;
    }
    latencies.push_back(monotonic_ns() - begin);
  }
  std::ranges::sort(latencies);
  const auto at = [&](double share) {
    return latencies.empty() ? 0 : latencies[std::min(latencies.size() - 1, static_cast<std::size_t>(share * static_cast<double>(latencies.size())))];
  };
  double sum = 0;
  for (const auto latency : latencies) sum += static_cast<double>(latency);
  const Json result{{"probes", latencies.size()}, {"p50_ns", at(0.5)}, {"p99_ns", at(0.99)}, {"max_ns", latencies.empty() ? 0 : latencies.back()},
                    {"mean_ns", latencies.empty() ? 0.0 : sum / static_cast<double>(latencies.size())}};
  std::FILE* file = std::fopen(output.c_str(), "w");
  if (file == nullptr) return 1;
  std::fputs(result.dump().c_str(), file);
  return std::fclose(file) == 0 ? 0 : 1;
}

}  // namespace

Status job_available(const JobSpec& job) {
  if (job.own_directory) return fail(ErrorKind::unsupported, fmt::format("job {}: the real box gives all files of a job one directory; take own_directory out", job.name));
  if (job.anonymous.value() > 0) return fail(ErrorKind::unsupported, fmt::format("job {}: the real box does not fill anonymous memory; the simulated one does", job.name));
  if (!job.continues.empty()) return fail(ErrorKind::unsupported, fmt::format("job {}: the real box runs each job in processes of its own, so it cannot continue another one; the simulated one can", job.name));
  if (job.rw == "probe") {
    if (job.runtime.count() == 0) return fail(ErrorKind::bad_input, fmt::format("job {}: a probe needs a runtime", job.name));
    return {};
  }
  if (!find_program("fio")) return fail(ErrorKind::unsupported, fmt::format("job {}: fio is not installed (Debian: apt-get install fio)", job.name));
  return {};
}

std::vector<std::string> fio_command(const JobSpec& job, const std::string& directory, const std::string& output) {
  std::vector<std::string> words{"fio", "--output-format=json", "--output=" + output, "--name=" + job.name, "--directory=" + directory, "--group_reporting", "--thread=0",
                                 "--fallocate=none"};
  const auto add = [&](const char* option, const auto& value) { words.push_back(fmt::format("--{}={}", option, value)); };
  if (job.rw == "compute") {
    add("ioengine", "cpuio");
    add("cpuload", 100);
    add("numjobs", job.numjobs);
    add("runtime", seconds_text(job.runtime.count() > 0 ? job.runtime : job.compute));
    words.emplace_back("--time_based");
    return words;
  }
  if (job.rw == "create" || job.rw == "unlink") {
    add("ioengine", job.rw == "create" ? "filecreate" : "filedelete");
    if (job.rw == "create") words.emplace_back("--create_on_open=1");
    add("fallocate", "none");
    add("rw", "write");
    add("nrfiles", job.nrfiles);
    add("openfiles", 1);
    add("numjobs", job.numjobs);
    add("filesize", std::max<std::int64_t>(job.filesize.value(), 4096));
    return words;
  }
  add("rw", job.rw);
  add("bs", job.bs.value());
  if (job.size.value() > 0) add("size", job.size.value());
  if (job.filesize.value() > 0) add("filesize", job.filesize.value());
  add("numjobs", job.numjobs);
  add("nrfiles", job.nrfiles);
  add("iodepth", job.iodepth);
  add("ioengine", job.ioengine);
  add("direct", job.direct ? 1 : 0);
  if (job.fsync > 0) add("fsync", job.fsync);
  if (job.end_fsync) add("end_fsync", 1);
  if (job.runtime.count() > 0) {
    add("runtime", seconds_text(job.runtime));
    words.emplace_back("--time_based");
  }
  if (job.rate.value() > 0) add("rate", job.rate.value());
  if (!job.file.empty()) add("filename", job.file);
  if (job.rw.starts_with("rand") && job.rw.ends_with("rw")) add("rwmixread", job.rwmixread);
  return words;
}

int run_job(const JobSpec& job, const std::string& directory, const std::string& output) {
  const int messages = ::open((output + ".messages").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (messages >= 0) {
    ::dup2(messages, 1);
    ::dup2(messages, 2);
  }
  if (job.rw == "probe") return run_probe(job, directory, output);
  const auto words = fio_command(job, directory, output);
  std::vector<char*> arguments;
  for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  if (const auto program = find_program("fio")) ::execv(program->c_str(), arguments.data());
  return 127;
}

Result<JobResult> read_job(const JobSpec& job, const std::string& output) {
  SPILLWAY_ASSIGN(const std::string text, read_text(output));
  // fio writes notes before the object when it has any.
  const auto begin = text.find('{');
  const Json all = begin == std::string::npos ? Json{} : Json::parse(text.substr(begin), nullptr, false);
  if (!all.is_object()) return fail(ErrorKind::internal, fmt::format("job {}: fio's result in {} is not JSON", job.name, output));
  JobResult result;
  result.name = job.name;
  if (job.rw == "probe") {
    result.operations = static_cast<std::int64_t>(number(all, "probes"));
    result.lat_ms_p50 = number(all, "p50_ns") * 1e-6;
    result.lat_ms_p99 = number(all, "p99_ns") * 1e-6;
    result.lat_ms_max = number(all, "max_ns") * 1e-6;
    result.lat_ms_mean = number(all, "mean_ns") * 1e-6;
    return result;
  }
  const Json& jobs = member(all, "jobs");
  if (!jobs.is_array() || jobs.empty()) return fail(ErrorKind::internal, fmt::format("job {}: fio reports no job", job.name));
  const Json& one = jobs[0];
  const Json &read = member(one, "read"), &write = member(one, "write");
  result.read_bytes = static_cast<std::int64_t>(number(read, "io_bytes"));
  result.write_bytes = static_cast<std::int64_t>(number(write, "io_bytes"));
  result.operations = static_cast<std::int64_t>(number(read, "total_ios") + number(write, "total_ios"));
  result.mb_per_s = (number(read, "bw_bytes") + number(write, "bw_bytes")) * 1e-6;
  result.iops = number(read, "iops") + number(write, "iops");
  // The direction that did more decides whose latency is told.
  const Json& latency = member(result.read_bytes > result.write_bytes ? read : write, "clat_ns");
  const Json& percentile = member(latency, "percentile");
  result.lat_ms_mean = number(latency, "mean") * 1e-6;
  result.lat_ms_max = number(latency, "max") * 1e-6;
  result.lat_ms_p50 = number(percentile, "50.000000") * 1e-6;
  result.lat_ms_p99 = number(percentile, "99.000000") * 1e-6;
  return result;
}

}  // namespace spillway::real
