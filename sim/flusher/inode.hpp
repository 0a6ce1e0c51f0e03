#pragma once
/// A file in memory: its dirty pages as ranges, how much is under writeback, and its place on the flusher's lists.
/// Owned by the file system for the whole run; parts refer to it by pointer.

#include <cstdint>

#include "sim/cpu/jiffies.hpp"
#include "sim/flusher/page_ranges.hpp"
#include "sim/units.hpp"

namespace spillway::sim {

struct DeviceWriteback;
class Flusher;
struct Inode;

enum class InodeListName : std::uint8_t { none, b_dirty, b_io, b_more_io };

/// What the file system keeps in an inode. The block numbers are meaningless to the flusher.
struct FilesystemInode {
  std::int64_t reserved_pages = 0;   ///< delayed or real allocation reaches to here
  std::int64_t allocated_pages = 0;  ///< blocks exist on disk to here
  std::int64_t disk_start = 0;       ///< first 512-byte sector of the (last) extent
  std::int64_t extent_first = 0;     ///< page at which that extent begins
  std::int32_t extents = 0;
  bool sparse = false;               ///< sized before it was written: room is taken range by range
  std::int32_t allocation_group = 0;
  std::int64_t ended_pages = 0;      ///< pages whose I/O is done and that wait for the completion worker
  bool completion_queued = false;
  std::uint32_t logged_in = 0;       ///< number of the checkpoint that holds its newest copy; 0: none
};

struct Inode {
  std::int32_t id = 0;
  std::int32_t directory = 0;
  std::int64_t size_pages = 0;        ///< of the data written so far, rounded up
  PageRanges dirty;
  std::int64_t writeback_pages = 0;   ///< under writeback now
  std::int64_t writeback_index = 0;   ///< where the cyclic walk goes on
  Jiffies dirtied_when = 0;
  bool being_synced = false;          ///< I_SYNC: a flusher is visiting it
  bool redirtied_metadata = false;
  /// Who writes it back, from its first dirty page on (struct bdi_writeback of the inode). The file system sets `wb` to the
  /// device's first context when it makes the inode; Flushers binds both.
  Flusher* flusher = nullptr;
  DeviceWriteback* wb = nullptr;
  int helpers_inside = 0;             ///< sync_file_range() calls under way: they do not take I_SYNC
  bool helper_asked = false;          ///< it stands on a helper's list of files that have grown
  InodeListName list = InodeListName::none;
  Inode* prev = nullptr;
  Inode* next = nullptr;
  FilesystemInode fs;
};

/// An intrusive list, newest at the front, as the kernel's b_* lists.
class InodeList {
 public:
  explicit InodeList(InodeListName name) : name_(name) {}
  void push_front(Inode& inode) {
    inode.prev = nullptr;
    inode.next = front_;
    (front_ ? front_->prev : back_) = &inode;
    front_ = &inode;
    inode.list = name_;
    ++size_;
  }
  void remove(Inode& inode) {
    (inode.prev ? inode.prev->next : front_) = inode.next;
    (inode.next ? inode.next->prev : back_) = inode.prev;
    inode.prev = inode.next = nullptr;
    inode.list = InodeListName::none;
    --size_;
  }
  [[nodiscard]] Inode* front() const { return front_; }
  [[nodiscard]] Inode* back() const { return back_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::int64_t size() const { return size_; }

 private:
  InodeListName name_;
  Inode* front_ = nullptr;
  Inode* back_ = nullptr;
  std::int64_t size_ = 0;
};

}  // namespace spillway::sim
