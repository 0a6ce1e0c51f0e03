#pragma once
/// The changes that a run makes to a box, each with all that is needed to take it back from the journal alone: by this
/// process, by another one after a SIGKILL, or after a power loss.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/result.hpp"
#include "workload/real/system/process.hpp"

namespace spillway::real {

/// A setting in one file (sysctl, /sys/block/.../queue/..., /sys/class/bdi/...). Undone by writing the old value.
struct FileKnob {
  std::string path, old_value;
};

/// vm.dirty_* that exist twice: writing the one form zeroes the other (Linux mm/page-writeback.c,
/// dirty_ratio_handler and dirty_bytes_handler). Undone by writing the form that was in force.
struct DirtyPair {
  std::string ratio_path, bytes_path;
  std::int64_t old_ratio = 0, old_bytes = 0;
};

/// A rule for one device in a cgroup's throttle file. `lifted` is what takes the rule away ("7:64 0" in a v1 file,
/// "7:64 rbps=max wbps=max riops=max wiops=max" in io.max); `old_rule` is the device's line before, if it had one.
struct ThrottleRule {
  std::string file, lifted, old_rule;
};

/// A loop device number of ours and what is attached to it. Undone: detached if it is still that file, number removed.
struct LoopAttachment {
  int number = -1;
  std::string backing;
};

/// A mount of ours. With `throw_away` its data is not wanted: XFS is shut down before it is unmounted.
/// `timeout_ms` bounds the unmounting.
struct MountMade {
  std::string source, point, type;
  bool throw_away = false;
  std::int64_t timeout_ms = 8000;
};

/// A private instance of tracefs.
struct TraceInstance {
  std::string path;
};

/// A process of ours. It is killed first of all, or, when it `serves` (a FUSE daemon), after what stands on it.
struct ChildProcess {
  ProcessId id;
  std::string what;
  bool serves = false;
};

/// A file or folder of ours to delete. Only names that begin with "spillway-" are ever deleted.
struct OwnedPath {
  std::string path;
};

using Change = std::variant<FileKnob, DirtyPair, ThrottleRule, LoopAttachment, MountMade, TraceInstance, ChildProcess, OwnedPath>;

/// The kind's name in the journal: "knob", "dirty_pair", "throttle", "loop", "mount", "trace", "child" or "daemon", "path".
std::string_view kind_of(const Change& change);
/// One sentence: what is changed.
std::string describe(const Change& change);

/// One line of JSON and back. nullopt for a line that is cut off (power loss while writing) or not ours.
std::string to_line(std::uint64_t id, const Change& change);
struct NumberedChange {
  std::uint64_t id = 0;
  Change change;
};
std::optional<NumberedChange> from_line(std::string_view line);

/// Whether a change can outlive a reboot. All but files on disk is gone then, and must not be "restored".
bool survives_reboot(const Change& change);

/// Takes one change back. Doing it twice, or when it was never made, is no error.
Status undo(const Change& change);

/// What must not wait for anything else, before changes are taken back one by one: own processes are sent SIGKILL, limits
/// are lifted (a process in a sync dies only then), file systems whose data is not wanted are shut down.
void hurry(const std::vector<NumberedChange>& changes);

/// The order in which changes are taken back: own untars are killed, limits lifted (else an unmount writes all dirty
/// data at the limited rate), file systems whose data is not wanted shut down, then everything newest first.
std::vector<NumberedChange> undo_order(std::vector<NumberedChange> changes);

}  // namespace spillway::real
