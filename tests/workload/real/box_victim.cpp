/// Runs one small repeat on the real box, so that box_test can kill it at chosen places. Arguments: ARCHIVE OUT [key=value...]
/// with the keys untars, job, set, ratio, agcount, ...: see below. Among them: untars, files_mb, dirty_mb, rate_mb, target, path, size_mb, verify, engine, writers, direct, after, queue.

#include <fmt/format.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "workload/interrupt/interrupt.hpp"
#include "workload/real/box.hpp"
#include "workload/record/record_io.hpp"

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  spillway::install_interrupt_handlers();
  spillway::Case item;
  auto& experiment = item.experiment;
  experiment.title = experiment.name = "victim";
  experiment.archive.path = argv[1];
  experiment.replay.untars = 2;
  experiment.memory.dirty_bytes = spillway::Bytes{64 * spillway::kMB};
  experiment.memory.dirty_background_bytes = spillway::Bytes{32 * spillway::kMB};
  experiment.device.rate = spillway::BytesPerSec{20 * spillway::kMB};
  for (int i = 3; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto equals = argument.find('=');
    const std::string key = argument.substr(0, equals), value = argument.substr(equals + 1);
    const auto number = std::atoll(value.c_str());
    if (key == "untars") experiment.replay.untars = static_cast<int>(number);
    else if (key == "at_once") experiment.replay.at_once = static_cast<int>(number);
    else if (key == "dirty_mb") {
      experiment.memory.dirty_bytes = spillway::Bytes{number * spillway::kMB};
      experiment.memory.dirty_background_bytes = spillway::Bytes{number * spillway::kMB / 2};
    } else if (key == "rate_mb") experiment.device.rate = spillway::BytesPerSec{number * spillway::kMB};
    else if (key == "target") experiment.target.kind = value;
    else if (key == "path") experiment.target.path = value;
    else if (key == "size_mb") experiment.filesystem.size = spillway::Bytes{number * spillway::kMiB};
    else if (key == "verify") experiment.replay.verify = number != 0;
    else if (key == "engine") experiment.replay.engine = value;
    else if (key == "writers") experiment.replay.writers = static_cast<int>(number);
    else if (key == "direct") experiment.replay.direct = value;
    else if (key == "after") experiment.replay.after = {value};
    else if (key == "before") experiment.replay.before = {"remove", "skeleton"};
    else if (key == "queue") experiment.device.queue = value;
    else if (key == "knob") experiment.knobs.emplace_back("/sys/block/{dev}/queue/read_ahead_kb", value);
    else if (key == "set") {  // set=PATH=VALUE
      const auto second = value.find('=');
      experiment.knobs.emplace_back(value.substr(0, second), value.substr(second + 1));
    } else if (key == "ratio") {
      experiment.memory.dirty_bytes = experiment.memory.dirty_background_bytes = std::nullopt;
      experiment.memory.dirty_ratio = static_cast<int>(number);
      experiment.memory.dirty_background_ratio = static_cast<int>(number) / 2;
    } else if (key == "expire_ms") experiment.memory.dirty_expire = std::chrono::milliseconds{number};
    else if (key == "writeback_ms") experiment.memory.dirty_writeback = std::chrono::milliseconds{number};
    else if (key == "agcount") experiment.filesystem.agcount = static_cast<int>(number);
    else if (key == "log_mb") experiment.filesystem.log_size = spillway::Bytes{number * spillway::kMiB};
    else if (key == "external_log") experiment.filesystem.external_log = number != 0;
    else if (key == "rmapbt") experiment.filesystem.rmapbt = number != 0;
    else if (key == "reflink") experiment.filesystem.reflink = number != 0;
    else if (key == "su_kb") {
      experiment.filesystem.su = spillway::Bytes{number * spillway::kKiB};
      experiment.filesystem.sw = 4;
    } else if (key == "mount") experiment.filesystem.mount_options.push_back(value);
    else if (key == "flushers") experiment.replay.flushers = value;
    else if (key == "job") {
      spillway::JobSpec job;
      job.name = job.rw = value;
      job.bs = spillway::Bytes{64 * spillway::kKiB};
      job.size = spillway::Bytes{8 * spillway::kMiB};
      if (value == "create" || value == "unlink") {
        job.nrfiles = 50;
        job.filesize = spillway::Bytes{4096};
      }
      if (value == "probe") job.runtime = std::chrono::seconds{2};
      if (value == "compute") job.compute = std::chrono::seconds{1};
      experiment.jobs.push_back(job);
    } else return 2;
  }
  spillway::RepeatContext context;
  context.dir = argv[2];
  std::filesystem::create_directories(context.dir);
  spillway::real::RealBox box;
  const auto record = box.run(item, context);
  if (!record) {
    fmt::print("{}\n", record.error().what);
    if (spillway::interrupted()) return 128 + spillway::interrupt_signal();
    return record.error().kind == spillway::ErrorKind::unsupported ? 77 : 3;
  }
  if (!spillway::write_record(*record, context.dir)) return 3;
  return 0;
}
