#pragma once
/// What an extraction did: counts, what went wrong with which member, what was strange about the archive, and how much
/// CPU each thread took. An extraction that meets a bad member goes on with the next one, as tar does.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/units.hpp"
#include "workload/extract/options.hpp"

namespace spillway::extract {

/// Bytes after the end-of-archive mark. Zeros are padding to a larger record and legal; others are usually a second
/// archive (see ExtractOptions::concatenated) or garbage.
struct TrailingData {
  std::int64_t bytes = 0;
  bool all_zero = true;
};

/// A message about one member, or about the archive (`name` empty).
struct Message {
  std::string name;    ///< as in the archive
  std::string what;    ///< a full sentence
  int sys_errno = 0;   ///< 0 where no system call failed
};

/// A file whose data did not arrive completely. It is left as it is and named here.
struct PartialFile {
  std::string name;
  std::int64_t written = 0;   ///< bytes of data written
  std::int64_t expected = 0;  ///< bytes of data the header promised
};

/// CPU time of one thread of the engine. io_uring's kernel workers count with the thread that submitted.
struct ThreadCpu {
  std::string role;  ///< reader, decompressor, writer 1, ...
  Duration user{};
  Duration system{};
};

struct ExtractReport {
  std::int64_t entries = 0;        ///< members read, refused ones included
  std::int64_t files = 0;          ///< regular files created or replaced
  std::int64_t directories = 0;    ///< directories created, implied parents included
  std::int64_t symlinks = 0;
  std::int64_t hard_links = 0;
  std::int64_t specials = 0;       ///< devices and FIFOs
  std::int64_t data_bytes = 0;     ///< file data written, without holes
  std::int64_t apparent_bytes = 0; ///< sizes of the files written, with holes
  std::int64_t direct_bytes = 0;   ///< of data_bytes, those written with O_DIRECT
  /// Members whose path an earlier member of this archive had already written; the last one wins. The first 100.
  std::vector<std::string> collisions;
  std::int64_t collision_count = 0;
  std::vector<Message> warnings;   ///< extracted, but something is worth knowing. The first 100.
  std::int64_t warning_count = 0;
  std::vector<Message> errors;     ///< not, or not rightly, extracted. The first 100.
  std::int64_t error_count = 0;
  std::vector<PartialFile> partial_files;
  TrailingData trailing;
  /// The archive was read to its end mark (or to its end, where a format has none). False: it is cut or damaged.
  bool archive_complete = false;
  Engine engine = Engine::posix;   ///< the one that did the work
  int writers = 1;                 ///< threads that wrote
  std::optional<std::string> fell_back;  ///< why it is not the one asked for, a sentence
  std::vector<ThreadCpu> threads;

  /// Everything in the archive is now in the tree.
  [[nodiscard]] bool ok() const { return error_count == 0 && archive_complete; }
  [[nodiscard]] Duration cpu() const {
    Duration sum{};
    for (const ThreadCpu& thread : threads) sum += thread.user + thread.system;
    return sum;
  }
};

}  // namespace spillway::extract
