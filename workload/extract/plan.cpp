#include "workload/extract/plan.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

#include "workload/extract/entry_name.hpp"

namespace spillway::extract {
namespace {

/// What making one member costs, in bytes of data written in the same time. measured: 20 to 25 us a file on XFS
/// against 2.5 GB/s for data (test box, section 5).
constexpr std::int64_t kMemberCost = 64 * kKiB;

/// A new directory stays with its parent's writer unless that one is ahead by this much: neighbours in the archive are
/// neighbours on disk. A few hundred files, well below what the queues hold.
constexpr std::int64_t kAhead = 256 * kMemberCost;

/// From this size a file goes to the least loaded writer.
constexpr std::int64_t kLargeFile = 1 * kMiB;

std::uint64_t hash_of(std::string_view path) { return XXH3_64bits(path.data(), path.size()); }

}  // namespace

Plan::Plan(int writers) : writers_(writers), load_(static_cast<std::size_t>(writers), 0) {
  seen_[hash_of("")] = {-1, 0, true, true};
}

int Plan::least_loaded() const {
  return static_cast<int>(std::min_element(load_.begin(), load_.end()) - load_.begin());
}

/// The record of a directory, with those of its ancestors made where they are new. Conflict: one of them is known as
/// something else than a directory.
Plan::Seen* Plan::parent(std::string_view path, bool& conflict) {
  if (last_parent_seen_ != nullptr && path == last_parent_) return last_parent_seen_;
  const auto found = seen_.find(hash_of(path));
  Seen* result = nullptr;
  if (found != seen_.end()) {
    if (!found->second.directory) conflict = true;
    result = &found->second;
  } else {
    const Seen* const above = parent(parent_of(path), conflict);
    int writer = above->writer;
    const int least = least_loaded();
    if (load_[static_cast<std::size_t>(writer)] - load_[static_cast<std::size_t>(least)] > kAhead) writer = least;
    result = &(seen_[hash_of(path)] = {-1, writer, true, false});
  }
  last_parent_ = path;
  last_parent_seen_ = result;
  return result;
}

Placement Plan::place(const PlannedMember& member) {
  Placement placement;
  bool conflict = false;
  const Seen* const home = parent(parent_of(member.path), conflict);
  int writer = home->writer;

  Seen* target = nullptr;
  if (member.type == EntryType::hard_link && !member.link_path.empty()) {
    parent(parent_of(member.link_path), conflict);
    auto [at, fresh] = seen_.try_emplace(hash_of(member.link_path), Seen{-1, writer, false, false});
    target = &at->second;
    // The link is made by whoever made its target: in order without waiting.
    if (!fresh && !target->directory) writer = target->writer;
  } else if (member.type == EntryType::file && member.data_bytes >= kLargeFile) {
    writer = least_loaded();
  }

  if (member.type == EntryType::directory) {
    const auto [at, fresh] = seen_.try_emplace(hash_of(member.path), Seen{-1, writer, true, true});
    if (fresh) {
      // Its files need not go where its own entry goes.
      const int least = least_loaded();
      if (load_[static_cast<std::size_t>(writer)] - load_[static_cast<std::size_t>(least)] > kAhead) at->second.writer = least;
    } else if (!at->second.directory) {
      conflict = true;
      placement.collision = at->second.written;
    }
    at->second.written = true;
  } else {
    const auto [at, fresh] = seen_.try_emplace(hash_of(member.path), Seen{-1, writer, false, true});
    Seen& seen = at->second;
    if (!fresh) {
      if (seen.directory) {
        conflict = true;
      } else if (seen.writer != writer && seen.index >= 0) {
        placement.waits.push_back({seen.writer, seen.index});
      }
      placement.collision = seen.written;
    }
    if (!seen.directory) {
      seen.writer = writer;
      seen.index = member.index;
    }
    seen.written = true;
    if (target != nullptr && !target->directory) {
      // Later namesakes of the target come after this link. (Nodes of the map do not move.)
      if (target->index >= 0 && target->writer != writer && target != &seen) placement.waits.push_back({target->writer, target->index});
      target->writer = writer;
      target->index = member.index;
    }
  }

  if (conflict && !serial_) {
    serial_ = true;
    placement.after_all = true;
  }
  if (serial_) {
    writer = 0;
    placement.waits.clear();
  }
  placement.writer = writer;
  load_[static_cast<std::size_t>(writer)] += kMemberCost + member.data_bytes;
  return placement;
}

}  // namespace spillway::extract
