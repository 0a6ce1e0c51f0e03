#pragma once
/// What the log keeps of a changed object, and the buffer through which the object reaches its place on disk.

#include <cstdint>
#include <vector>

#include "sim/units.hpp"

namespace spillway::sim::xfs {

struct LogItem;

/// A piece of metadata on disk: an inode cluster or one block.
struct MetaBuffer {
  Sectors at{0};
  std::int64_t bytes = 4096;
  std::vector<LogItem*> items;  ///< a cluster's inodes, or the block's own item
  bool writing = false;
};

/// An inode or a block that transactions change.
struct LogItem {
  MetaBuffer* home = nullptr;
  std::uint32_t checkpoint = 0;  ///< the newest checkpoint that it was logged in; 0: never
  std::uint32_t ail = 0;         ///< the checkpoint by which it is pinned in the log (its place in the AIL); 0: not there
  std::uint32_t flushed = 0;     ///< its place when the write under way began
  std::int32_t logged_bytes = 0; ///< its share of the present checkpoint
  std::int16_t pins = 0;         ///< checkpoints not yet on disk that hold it: it must not be written before them
};

}  // namespace spillway::sim::xfs
