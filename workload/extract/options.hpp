#pragma once
/// What an extraction may do and how: engine, writers, cache use, what happens to files that are there, and limits
/// against archives that are built to fill a disk. Every field has its meaning, unit and the reason for its default.

#include <cstdint>
#include <functional>
#include <string_view>

#include "sim/units.hpp"

namespace spillway::extract {

/// Who writes the tree. `tar` and `bsdtar` are programs: the replay runs them as child processes (external.hpp), and
/// extract() refuses them.
enum class Engine : std::uint8_t {
  tar,         ///< GNU tar
  bsdtar,      ///< libarchive's program
  libarchive,  ///< archive_read and archive_write_disk, in this process
  posix,       ///< our own: one open, one write and few metadata calls per file
  uring,       ///< posix with file data through io_uring, where it measures better (README)
};

/// O_DIRECT for file data. `automatic` is spelled "auto" in an experiment file.
enum class DirectMode : std::uint8_t { off, on, automatic };

/// What happens to a file that is there already.
enum class Existing : std::uint8_t {
  unlink,     ///< removed and made anew (GNU tar's default)
  overwrite,  ///< truncated and written in place; one with several names or of another type is still unlinked
};

/// Does the device gain from direct I/O once the dirty limit would throttle? Asked by `automatic` only.
enum class DirectPays : std::uint8_t { unknown, yes, no };

/// Limits against archives that are made to exhaust a disk or a table. Reaching one stops the extraction with an
/// error that names the limit; what was extracted stays.
struct Limits {
  std::int64_t entries = 50'000'000;            ///< members. assumed: 600 Linux trees.
  Bytes file_bytes{16 * kTiB};                  ///< data bytes of all members together, holes not counted. assumed.
  Bytes apparent_bytes{8 * kTiB * 1024};        ///< one file's size with holes: the largest XFS file, 8 EiB / 1024. assumed.
  int depth = 512;                              ///< path components. assumed: 4096-byte paths seldom have more.
  Bytes header_bytes{64 * kMiB};                ///< one member's pax records or long name. assumed: a 64 KiB xattr is usual.
  std::int64_t sparse_runs = 4'000'000;         ///< data runs in one file's sparse map: 64 MB of memory. assumed.
};

/// How to extract. The defaults do what `tar -xf` does as the same user.
struct ExtractOptions {
  Engine engine = Engine::posix;
  /// Writer threads, 1..64. More than one is for posix and uring; libarchive writes with one.
  int writers = 1;
  DirectMode direct = DirectMode::off;
  /// What the device model or a calibration says; see DirectPays.
  DirectPays direct_pays = DirectPays::unknown;
  Existing existing = Existing::unlink;
  /// Start writeback of large files as they are written and drop their pages, and the archive's, behind.
  bool drop_behind = false;
  /// fallocate files of at least this size before writing them; 0 never does. Applies to direct writes, where it
  /// keeps a file in one extent; delayed allocation does that for buffered ones. issue: "above 1 MiB".
  Bytes preallocate_from{1 * kMiB};
  /// Numeric owner and group as in the archive. Only root can; others get a tree of their own, as with tar.
  bool preserve_owner = true;
  /// The exact mode, set-id bits included. When false, the process's umask applies.
  bool preserve_mode = true;
  bool preserve_mtime = true;
  /// Extended attributes and POSIX ACLs from pax records. What the user may not set is a warning.
  bool preserve_xattrs = true;
  /// Go on after an end-of-archive mark (`cat a.tar b.tar`). Off: what follows is counted in the report.
  bool concatenated = false;
  /// With one writer: read the archive in a thread of its own, ahead of it. Several writers have such a thread anyway.
  /// measured: see README, "Speed".
  bool read_ahead = false;
  /// What is read from a compressed archive ahead of the writers, and held for them. assumed.
  Bytes buffer_bytes{32 * kMiB};
  Limits limits;
  /// Asked at every member and every piece of data, from the engine's threads; true ends the extraction with an error.
  std::function<bool()> stop{};

  [[nodiscard]] bool stopped() const { return stop && stop(); }
};

inline constexpr std::string_view kInterrupted = "The extraction was interrupted; members behind this point are missing.";

/// tar, bsdtar, libarchive, posix, uring.
[[nodiscard]] std::string_view name_of(Engine engine);
[[nodiscard]] std::string_view name_of(DirectMode mode);
[[nodiscard]] std::string_view name_of(Existing existing);

/// The options a plain `spillway extract` uses: owner and exact mode as root, umask otherwise (as tar does).
[[nodiscard]] ExtractOptions default_options();

}  // namespace spillway::extract
