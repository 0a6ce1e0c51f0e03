#include "workload/real/replay/own_engine.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "workload/extract/extract.hpp"
#include "workload/real/replay/engine.hpp"

namespace spillway::real {

extract::ExtractOptions extract_options(const ReplaySpec& replay) {
  extract::ExtractOptions options = extract::default_options();
  for (const auto engine : {extract::Engine::tar, extract::Engine::bsdtar, extract::Engine::libarchive, extract::Engine::posix, extract::Engine::uring})
    if (extract::name_of(engine) == replay.engine) options.engine = engine;
  options.writers = replay.writers;
  options.direct = replay.direct == "true"   ? extract::DirectMode::on
                   : replay.direct == "auto" ? extract::DirectMode::automatic
                                             : extract::DirectMode::off;
  options.existing = replay.existing == "overwrite" ? extract::Existing::overwrite : extract::Existing::unlink;
  options.drop_behind = replay.drop_behind;
  return options;
}

Status own_engine_available(const ReplaySpec& replay) {
  for (const auto engine : {extract::Engine::libarchive, extract::Engine::posix, extract::Engine::uring})
    if (extract::name_of(engine) == replay.engine) return {};
  return fail(ErrorKind::unsupported, fmt::format("the real box has no engine '{}'; it has tar, bsdtar, libarchive, posix and uring", replay.engine));
}

int run_own_engine(const UntarTask& task) {
  try {
    const auto report = extract::extract(task.archive, task.directory, extract_options(task.replay));
    if (!report) {
      std::fprintf(stderr, "%s\n", report.error().what.c_str());
      return 1;
    }
    for (const auto& error : report->errors) std::fprintf(stderr, "%s: %s\n", error.name.c_str(), error.what.c_str());
    if (report->fell_back) std::fprintf(stderr, "note: %s\n", report->fell_back->c_str());
    return report->ok() ? 0 : 1;
  } catch (const std::exception& thrown) {  // what a library throws must not pass the end of a forked child
    std::fprintf(stderr, "%s\n", thrown.what());
    return 1;
  }
}

}  // namespace spillway::real
