#pragma once
/// The full XFS under the simulated box: delayed allocation with preallocation, allocation groups with their locks, the
/// journal, and the work queues that finish I/O, write checkpoints and free inodes.
///
/// Reads like fs/xfs/xfs_file.c, xfs_iomap.c, xfs_aops.c, xfs_inode.c, xfs_icache.c (6.18). Every wait is charged to the
/// waiting thread: `lock` for directory, inode and group locks, `log` for log space and checkpoints, `device` for data.
///
/// Not modelled: realtime and filestreams, quota, shared extents, extended attributes, btree splits (each tree of a group
/// is one block), busy extents, ENOSPC flushing (a full file system ends the run with a sentence).

#include <memory>
#include <optional>
#include <set>

#include "sim/block/block_device.hpp"
#include "sim/box/inputs.hpp"
#include "sim/flusher/flushers.hpp"
#include "sim/memory/dirty_memory.hpp"
#include "sim/xfs/allocator.hpp"
#include "sim/xfs/file_system.hpp"
#include "sim/xfs/log.hpp"
#include "sim/xfs/preallocation.hpp"
#include "sim/xfs/work_queues.hpp"

namespace spillway::sim::xfs {

/// Blocks of a file: pages [page, page + blocks.length) lie at blocks.start.
struct FileExtent {
  std::int64_t page = 0;
  BlockRange blocks;
  [[nodiscard]] std::int64_t end() const { return page + blocks.length; }
};

struct XfsInode : Inode {
  LogItem log;
  int ag = 0;
  AgBlock block = 0;              ///< where the inode itself lies: new files' data go near it
  std::int32_t slot = 0;          ///< number of the inode on disk
  bool on_disk = false;
  std::vector<FileExtent> extents;
  PageRanges delayed;             ///< reserved, no blocks yet
  PageRanges unwritten;           ///< blocks, not yet converted
  PageRanges ended;               ///< I/O done, waiting for the completion worker
  std::int64_t disk_size = 0;     ///< pages: the size on disk
  bool released = false;          ///< trimmed at a close once: later closes keep the preallocation
  bool locked = false;            ///< ILOCK
  bool completing = false;        ///< its one work item is queued or running
};

struct XfsParams {
  FilesystemInputs inputs;
  CpuCosts costs;
  KernelVersion kernel = kernel_versions().back();
  Bytes max_bio{kMiB};
  Bytes write_size{10240};        ///< of the programs' write(2): the steps of delayed allocation
  std::vector<int> completion_cores{0};
  int hz = 250;
};

class Xfs final : public FileSystem, private BioOwner {
 public:
  /// `log_device`: the same as `device` for an internal log. The geometry must be valid: make_geometry().
  Xfs(Engine& engine, CpuSet& cpus, DirtyMemory& memory, DeviceWriteback& wb, BlockDevice& device, BlockDevice& log_device,
      const XfsParams& params);

  void set_flushers(Flushers& flushers) override { flushers_ = &flushers; }
  Task<std::int32_t> make_directory(Thread& thread) override;
  Task<Inode*> create(Thread& thread, std::int32_t directory) override;
  void reserve(Inode& inode, std::int64_t end_page) override;
  void reserve_hole(Inode& inode, std::int64_t first_page, std::int64_t end_page) override;
  [[nodiscard]] bool keeps_holes() const override { return true; }
  Task<> close_written(Thread& thread, Inode& inode) override;
  Task<> unlink(Thread& thread, Inode& inode) override;
  Task<> write_direct(Thread& thread, Inode& inode, std::int64_t pages) override;
  Task<> fsync(Thread& thread, Inode& inode) override;
  Task<> write_pages(Thread& thread, Inode& inode, WritebackControl& control) override;
  Task<> force_log(Thread& thread) override { return log_.force(thread); }
  Task<> wait_for_writeback(Thread& thread) override;
  [[nodiscard]] Sectors sector_of(const Inode& inode, std::int64_t page) const override;
  [[nodiscard]] FilesystemOutputs outputs() const override;
  [[nodiscard]] std::vector<WorkerOutputs> workers() const override;
  [[nodiscard]] std::string failure() const override { return failure_; }
  [[nodiscard]] std::string audit() const override;

  [[nodiscard]] const Allocator& allocator() const { return allocator_; }
  [[nodiscard]] const Log& log() const { return log_; }
  [[nodiscard]] static const XfsInode& of(const Inode& inode) { return static_cast<const XfsInode&>(inode); }

 private:
  /// A group's headers and trees, and its locks.
  struct Group {
    std::unique_ptr<Mutex> agi, agf;
    LogItem items[6];              ///< AGI, inode tree, free-inode tree, AGF, tree by place, tree by size
    MetaBuffer buffers[6];
    AgBlock newest_chunk = -1;
    std::set<std::int32_t> free_inodes;
  };
  struct Chunk {
    int ag = 0;
    AgBlock start = 0;
    MetaBuffer clusters[2];
    int used = 0;
  };
  struct Directory {
    std::unique_ptr<Mutex> lock;
    XfsInode* inode = nullptr;
    LogItem item;                  ///< its blocks, as one
    MetaBuffer buffer;
    std::int64_t entries = 0;
  };
  /// A contiguous piece of one visit to a file: its bios end together where the kernel chains them. struct iomap_ioend.
  struct IoEnd {
    PageRange range;
    std::int64_t next_sector = 0;
    std::int64_t outstanding = 0;  ///< bios that have not ended
    bool open = true;              ///< more may be added
  };
  /// Inodes to be inactivated by one core's worker.
  struct Inactive {
    std::vector<XfsInode*> inodes;
    bool queued = false;
    std::unique_ptr<WaitQueue> drained;
  };

  // inodes.cpp
  Task<> lock_inode(Thread& thread, XfsInode& inode);
  void unlock_inode(XfsInode& inode);
  Task<> lock(Thread& thread, Mutex& mutex);
  Task<XfsInode*> allocate_inode(Thread& thread, int ag, bool directory);
  bool new_chunk(int ag);
  void bind_slot(XfsInode& inode, std::int32_t slot);
  void free_inode(XfsInode& inode);
  Task<> inactivate(Thread& thread, XfsInode& inode);
  Task<> inactivate_later(Thread& thread, XfsInode& inode);
  Task<> begin(Thread& thread, Transaction kind, Log::Ticket& ticket);
  Task<> end(Thread& thread, Log::Ticket& ticket);
  void log_inode(XfsInode& inode) { log_.log_item(inode.log, inode_log_bytes(static_cast<std::int64_t>(inode.extents.size()), geometry_.inode_size)); }
  void log_inode_trees(int ag);
  void log_space_trees(int ag);

  // writeback.cpp
  /// Blocks for all or part of one delayed range; the group's AGF is locked until unlock_group().
  Task<std::optional<BlockRange>> allocate_blocks(Thread& thread, const AllocationRequest& request);
  [[nodiscard]] AllocationRequest request_for(const XfsInode& inode, std::int64_t page, std::int64_t length) const;
  Task<bool> convert_delayed(Thread& thread, XfsInode& inode, PageRange range);
  void add_extent(XfsInode& inode, std::int64_t page, const BlockRange& blocks);
  std::int64_t trim(XfsInode& inode, std::int64_t from_page);
  [[nodiscard]] const FileExtent* extent_at(const XfsInode& inode, std::int64_t page) const;
  void bio_done(Bio& bio) override;
  void join_ioend(IoEnd*& ioend, XfsInode& inode, Bio& bio);
  void close_ioend(IoEnd*& ioend, XfsInode& inode);
  void io_ended(XfsInode& inode, PageRange range);
  Task<> complete(Thread& worker, XfsInode& inode);
  void end_writeback(XfsInode& inode, std::int64_t pages);
  Task<> fail_full(Thread& thread);
  int completion_core() { return params_.completion_cores[next_core_++ % params_.completion_cores.size()]; }

  Engine& engine_;
  CpuSet& cpus_;
  DirtyMemory& memory_;
  DeviceWriteback& wb_;
  BlockDevice& device_;
  Flushers* flushers_ = nullptr;
  XfsParams params_;
  Geometry geometry_;
  Allocator allocator_;
  WorkQueues queues_;
  WorkQueues::Id conversion_queue_, sync_queue_, inactive_queue_, allocation_queue_;
  Log log_;
  PreallocationRules preallocation_;
  std::int64_t max_bio_pages_;

  std::deque<Group> groups_;
  std::deque<Chunk> chunks_;
  std::deque<XfsInode> inodes_;
  std::deque<Directory> directories_;
  std::vector<Inactive> inactive_;
  int directory_rotor_ = 0, data_rotor_ = 0;
  BioPool bios_;
  std::deque<IoEnd> ioends_;
  std::vector<IoEnd*> free_ioends_;
  WaitQueue writeback_waiters_, ilock_waiters_;
  Timer log_timer_;
  std::size_t next_core_ = 0;
  SimTime commits_free_at_{};     ///< when the commit path is free again
  std::string failure_;
  FilesystemOutputs out_;
};

}  // namespace spillway::sim::xfs
