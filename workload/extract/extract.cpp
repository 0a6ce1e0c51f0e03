#include "workload/extract/extract.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <thread>

#include "workload/extract/libarchive_engine.hpp"
#include "workload/extract/libarchive_reader.hpp"
#include "workload/extract/pipeline.hpp"
#include "workload/extract/posix_sink.hpp"
#include "workload/extract/single_writer.hpp"
#include "workload/extract/tar_reader.hpp"
#include "workload/extract/thread_cpu.hpp"
#include "workload/extract/tree_writer.hpp"
#include "workload/extract/uring_sink.hpp"

namespace spillway::extract {
namespace {

Status validated(const ExtractOptions& options) {
  if (options.engine == Engine::tar || options.engine == Engine::bsdtar)
    return fail(ErrorKind::bad_input, fmt::format("The engine {} is a program of its own; it runs as a child process (external_argv()).",
                                                  name_of(options.engine)));
  if (options.writers < 1 || options.writers > 64)
    return fail(ErrorKind::bad_input, fmt::format("writers = {} is not between 1 and 64.", options.writers));
  if (options.engine == Engine::libarchive && options.writers > 1)
    return fail(ErrorKind::bad_input, "The engine libarchive writes with one thread; use posix or uring for writers > 1.");
  if (options.engine == Engine::libarchive && options.direct != DirectMode::off)
    return fail(ErrorKind::bad_input, "The engine libarchive cannot write directly; use posix or uring for direct.");
  return {};
}

void into_report(Tally& tally, ExtractReport& report) {
  ExtractReport& counts = tally.counts;
  report.entries += counts.entries;
  report.files += counts.files;
  report.directories += counts.directories;
  report.symlinks += counts.symlinks;
  report.hard_links += counts.hard_links;
  report.specials += counts.specials;
  report.data_bytes += counts.data_bytes;
  report.apparent_bytes += counts.apparent_bytes;
  report.direct_bytes += counts.direct_bytes;
  report.warning_count += counts.warning_count;
  report.error_count += counts.error_count;
  report.collision_count += counts.collision_count;
  for (std::string& path : counts.collisions) report.collisions.push_back(std::move(path));
}

/// Messages of several tallies in the archive's order, the first 100.
void messages_into(std::vector<Tally::Noted> all, std::vector<Message>& report) {
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.index < b.index; });
  for (Tally::Noted& noted : all) {
    if (report.size() == 100) break;
    report.push_back(std::move(noted.message));
  }
}

mode_t current_umask() {
  // umask() itself would change it for every thread: ask the kernel's text instead (Umask: since Linux 4.7).
  const mode_t usual = 022;
  std::FILE* status = std::fopen("/proc/thread-self/status", "re");
  if (status == nullptr) return usual;
  char line[256];
  unsigned value = usual;
  while (std::fgets(line, sizeof line, status) != nullptr)
    if (std::sscanf(line, "Umask: %o", &value) == 1) break;
  std::fclose(status);
  return value;
}

struct OpenedReader {
  std::unique_ptr<EntryReader> reader;
  ByteSource* source = nullptr;
};

/// Our own walk for what is a tar, libarchive for everything else.
Result<OpenedReader> open_reader(const std::filesystem::path& archive, const ExtractOptions& options) {
  TarOpenOptions tar;
  tar.limits = options.limits;
  tar.concatenated = options.concatenated;
  tar.drop_behind = options.drop_behind;
  tar.buffer_bytes = options.buffer_bytes;
  if (options.writers > 1 || options.read_ahead)
    tar.chunks = static_cast<std::size_t>(std::max<std::int64_t>(4, options.buffer_bytes.value() / static_cast<std::int64_t>(kWindowBytes)));
  SPILLWAY_ASSIGN(OpenedTar opened, open_tar(archive, tar));
  if (opened.reader) return OpenedReader{std::move(opened.reader), opened.source};
  SPILLWAY_ASSIGN(std::unique_ptr<LibarchiveReader> other, LibarchiveReader::open(archive, options.concatenated));
  return OpenedReader{std::move(other), nullptr};
}

/// When nobody writes any more: directory attributes of all writers together.
void set_directories(const Target& target, const ExtractOptions& options, std::vector<Tally>& tallies) {
  std::vector<DirectoryAttributes> all;
  for (Tally& tally : tallies)
    std::move(tally.directories.begin(), tally.directories.end(), std::back_inserter(all));
  Tally& tally = tallies.emplace_back();
  PosixSink unused({});
  TreeWriter writer(target, options, unused, tally);
  writer.set_directories(std::move(all));
}

}  // namespace

Result<ExtractReport> extract(const std::filesystem::path& archive, const std::filesystem::path& target_dir,
                              const ExtractOptions& options) {
  SPILLWAY_TRY(validated(options));
  const Fd target_fd{::open(target_dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!target_fd)
    return fail(errno == ENOENT || errno == ENOTDIR ? ErrorKind::bad_input : ErrorKind::refused,
                fmt::format("The target directory {} cannot be opened: {}.", target_dir.string(), std::strerror(errno)), errno);
  struct stat file {};
  if (::stat(archive.c_str(), &file) != 0)
    return fail(errno == ENOENT ? ErrorKind::bad_input : ErrorKind::refused,
                fmt::format("The archive {} cannot be opened: {}.", archive.string(), std::strerror(errno)), errno);
  if (S_ISDIR(file.st_mode))
    return fail(ErrorKind::bad_input, fmt::format("{} is a directory, not an archive.", archive.string()));

  ExtractReport report;
  report.engine = options.engine;
  report.writers = options.writers;
  SinkFactory make_sink = [&options] { return std::make_unique<PosixSink>(DataSinkOptions{.drop_behind = options.drop_behind, .stop = options.stop}); };
  if (options.engine == Engine::uring) {
    if (auto refusal = uring_refusal()) {
      report.engine = Engine::posix;
      report.fell_back = std::move(*refusal);
    } else {
      make_sink = [&options] { return make_uring_sink({.drop_behind = options.drop_behind, .stop = options.stop}); };
    }
  }
  std::vector<Tally> tallies;
  Result<bool> complete = false;
  Target target;
  target.fd = target_fd.get();
  target.umask = current_umask();
  target.euid = ::geteuid();
  target.egid = ::getegid();

  std::thread worker([&] {
    const ThreadClock clock;
    std::string role = options.writers == 1 && !options.read_ahead ? "reader and writer" : "reader";
    if (options.engine == Engine::libarchive) {
      complete = extract_with_libarchive(archive, target_dir, options, tallies.emplace_back());
    } else {
      own_umask();
      const Utf8Names utf8;
      auto opened = open_reader(archive, options);
      if (!opened) {
        complete = std::unexpected(opened.error());
      } else {
        if (options.writers == 1 && !options.read_ahead) {
          Tally& tally = tallies.emplace_back();
          const std::unique_ptr<DataSink> sink = make_sink();
          TreeWriter writer(target, options, *sink, tally);
          complete = extract_with_one_writer(*opened->reader, writer, options, tally);
        } else {
          PipelineResult result = run_pipeline(*opened->reader, opened->source, target, options, make_sink);
          complete = result.complete;
          tallies = std::move(result.tallies);
          report.threads = std::move(result.threads);
        }
        set_directories(target, options, tallies);
        report.trailing = opened->reader->trailing();
        if (opened->source != nullptr)
          if (auto cpu = opened->source->finish()) report.threads.push_back(std::move(*cpu));
      }
    }
    report.threads.push_back(clock.read(std::move(role)));
  });
  worker.join();
  if (!complete) return std::unexpected(complete.error());
  report.archive_complete = *complete;
  std::vector<Tally::Noted> warnings;
  std::vector<Tally::Noted> errors;
  std::vector<std::pair<std::int64_t, PartialFile>> partial;
  for (Tally& tally : tallies) {
    into_report(tally, report);
    std::move(tally.warnings.begin(), tally.warnings.end(), std::back_inserter(warnings));
    std::move(tally.errors.begin(), tally.errors.end(), std::back_inserter(errors));
    std::move(tally.partial_files.begin(), tally.partial_files.end(), std::back_inserter(partial));
  }
  messages_into(std::move(warnings), report.warnings);
  messages_into(std::move(errors), report.errors);
  std::sort(partial.begin(), partial.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [index, file_left] : partial) report.partial_files.push_back(std::move(file_left));
  return report;
}

}  // namespace spillway::extract
