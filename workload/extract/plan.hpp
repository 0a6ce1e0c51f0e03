#pragma once
/// Who writes which member, and after which others: pure, one member at a time, so that it works on a stream.
///
/// A directory belongs to one writer, and with it all that lies in it: on XFS a directory's files share an allocation
/// group and their creation a lock, so two writers in one directory only wait for each other. Large files go to whoever
/// has least to do, because there the data counts and not the name.
///
/// Members that do not commute stay in the archive's order: the same path twice, a hard link and its target. Each
/// writer works through its members in order, so "after member i" is (writer of i, i). Where a path is a directory for
/// one member and something else for another, everything after that point goes to one writer: such archives are rare
/// and often hostile, and one writer is right by construction. Directory entries commute with all else: a directory is
/// made by whoever needs it first, and gets its attributes at the end.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sim/units.hpp"
#include "workload/extract/entry.hpp"

namespace spillway::extract {

struct PlannedMember {
  std::int64_t index = 0;
  EntryType type = EntryType::file;
  std::string_view path;       ///< clean
  std::string_view link_path;  ///< clean; of hard links
  std::int64_t data_bytes = 0;
};

/// Wait until `writer` has done member `index`.
struct Wait {
  int writer = 0;
  std::int64_t index = 0;
  friend bool operator==(const Wait&, const Wait&) = default;
};

struct Placement {
  int writer = 0;
  std::vector<Wait> waits;   ///< at most two, never on the own writer
  bool after_all = false;    ///< wait for every member before this one
  bool collision = false;    ///< an earlier member wrote this path
};

class Plan {
 public:
  explicit Plan(int writers);

  /// Members in the archive's order, only those that will be tried (refused names are not planned).
  [[nodiscard]] Placement place(const PlannedMember& member);

  /// Everything from here on goes to writer 0.
  [[nodiscard]] bool serial() const { return serial_; }

 private:
  struct Seen {
    std::int64_t index = 0;   ///< the last member that touched it
    std::int32_t writer = 0;  ///< of that member; of a directory, whose it is
    bool directory = false;
    bool written = false;     ///< a member has this path; false: only a hard link named it
  };

  Seen* parent(std::string_view path, bool& conflict);
  int least_loaded() const;

  int writers_;
  bool serial_ = false;
  std::unordered_map<std::uint64_t, Seen> seen_;
  std::vector<std::int64_t> load_;   ///< cost given to each writer so far, in bytes
  std::string last_parent_;          ///< most members lie where the one before did
  Seen* last_parent_seen_ = nullptr;
};

}  // namespace spillway::extract
