#pragma once
/// What the guest program does inside a box that brings its own kernel: a plain list of settings and of the archive's
/// entries. The box writes it, the guest reads it; text, so that a run's folder explains itself.
///
/// The guest has no archive: it makes the system calls that an untar of this catalogue makes, with bytes of its own, and
/// asks the clock for the CPU time they would have taken (a kernel in virtual time computes in no time).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spillway::kernel {

/// CPU time that the guest charges, because the box's own CPU counts for nothing (virtual time) or is wrong (emulation).
/// Zero switches charging off.
///
/// measured: reference runs a_quiet, g_big and g_s4k (kernel 6.18, first two untars, which are not throttled): 0.17 to
/// 0.18 s for 1,200 files of 150 MB, 0.14 s for 8 files of 150 MB, 1.24 s for 36,621 files of 4 KiB. Two parameters fit
/// the three within 0.01 s: 0.93 ns a byte and 30 us a file.
struct GuestCosts {
  std::int64_t copy_ps_per_byte = 0;  ///< read from the archive and write to the page cache, picoseconds a byte
  std::int64_t file_ns = 0;           ///< open with creation, times, close
  std::int64_t directory_ns = 0;      ///< make a directory and set its times
  std::int64_t unlink_ns = 0;         ///< remove one entry
};

struct GuestEntry {
  bool directory = false;
  std::int64_t bytes = 0;
  std::string path;
};

struct GuestPlan {
  std::string mount_point = "/mnt";   ///< file system under test
  std::string device;                 ///< block device of the file system, "loop1"
  std::string limited_device;         ///< the one that carries the limit, for device statistics
  std::string bdi;                    ///< "7:1"; filled in by the guest, which knows its numbers
  int untars = 1;
  int at_once = 1;
  std::int64_t write_bytes = 10240;   ///< bytes of a write call: a tar record; 0 writes a file at once (up to 1 MiB)
  bool direct = false;
  bool drop_behind = false;
  bool unlink_existing = true;        ///< otherwise files that exist are overwritten
  std::vector<std::string> before;    ///< remove, skeleton
  std::vector<std::string> after;     ///< sync, fsync_each, syncfs_each
  int cpus = 0;                       ///< cores that share the charged time; 0: each untar has its own
  GuestCosts costs;
  std::int64_t sample_ms = 100;
  std::vector<std::string> cgroups;   ///< one cgroup directory for each untar in turn; empty: none
  std::vector<GuestEntry> entries;    ///< in archive order
};

[[nodiscard]] std::string to_text(const GuestPlan& plan);
/// Nothing if a line is not understood; `bad_line` then names it.
[[nodiscard]] std::optional<GuestPlan> plan_from_text(std::string_view text, std::string* bad_line);

}  // namespace spillway::kernel
