#pragma once
/// The thin XFS: files are contiguous, allocation happens at writeback, I/O completion goes through a worker when blocks
/// were allocated, and the log is a counter that is written in checkpoints and pushes inodes to disk when it fills.
///
/// Log: a transaction adds bytes to the checkpoint in memory (CIL); an inode logged again in the same checkpoint adds next
/// to nothing. At the soft limit the checkpoint is written; when less than a quarter of the log is free, the oldest
/// quarter's inodes are written back in place, 16 KiB for 32 of them; a task that finds no log space waits and everything
/// is pushed. All this is metadata: it passes blk-throttle at once and is charged there.
///
/// Not modelled: AGs' locks, fragmentation, speculative preallocation, btree blocks beyond a fixed amount per file, log
/// reservations of concurrent transactions beyond one worst case. The full model has them.

#include <deque>
#include <memory>
#include <vector>

#include "sim/block/block_device.hpp"
#include "sim/box/inputs.hpp"
#include "sim/cpu/costs.hpp"
#include "sim/engine/engine.hpp"
#include "sim/flusher/flushers.hpp"
#include "sim/memory/dirty_memory.hpp"
#include "sim/xfs/file_system.hpp"

namespace spillway::sim {

class SimpleXfs final : public FileSystem, private BioOwner {
 public:
  SimpleXfs(Engine& engine, CpuSet& cpus, DirtyMemory& memory, DeviceWriteback& wb, BlockDevice& device,
            const FilesystemInputs& inputs, const CpuCosts& costs, const KernelVersion& kernel, Bytes max_bio);

  void set_flushers(Flushers& flushers) override { flushers_ = &flushers; }

  Task<std::int32_t> make_directory(Thread& thread) override;
  Task<Inode*> create(Thread& thread, std::int32_t directory) override;
  void reserve(Inode& inode, std::int64_t end_page) override;
  Task<> close_written(Thread& thread, Inode& inode) override;
  Task<> unlink(Thread& thread, Inode& inode) override;
  Task<> write_direct(Thread& thread, Inode& inode, std::int64_t pages) override;
  Task<> fsync(Thread& thread, Inode& inode) override;
  Task<> write_pages(Thread& thread, Inode& inode, WritebackControl& control) override;
  Task<> force_log(Thread& thread) override;
  Task<> wait_for_writeback(Thread& thread) override;
  [[nodiscard]] FilesystemOutputs outputs() const override { return out_; }

 private:
  struct Directory {
    Mutex lock;
    std::int32_t group;
    explicit Directory(Engine& engine, std::int32_t g) : lock(engine), group(g) {}
  };
  void bio_done(Bio& bio) override;
  void end_writeback(Inode& inode, std::int64_t pages);
  Task<> completion_worker(std::size_t core);
  /// One transaction that changes `inode`: CIL growth. False, and nothing done, when there is no log space: then
  /// wait_for_log() and try again.
  [[nodiscard]] bool try_transaction(Inode* inode, std::int64_t bytes);
  Task<> wait_for_log(Thread& thread);
  void add_to_checkpoint(Inode* inode, std::int64_t bytes);
  Task<> push_inodes(std::int64_t log_bytes);
  void write_checkpoint();
  void move_tail();
  void submit_meta(Bytes size, bool barrier);
  void allocate(Inode& inode, std::int64_t first_page, std::int64_t pages);

  Engine& engine_;
  CpuSet& cpus_;
  DirtyMemory& memory_;
  DeviceWriteback& wb_;
  BlockDevice& device_;
  Flushers* flushers_ = nullptr;
  FilesystemInputs inputs_;
  CpuCosts costs_;
  KernelVersion kernel_;
  std::int64_t max_bio_pages_;

  [[nodiscard]] Inode& new_inode();
  static constexpr std::size_t kInodeChunk = 256;
  std::vector<std::unique_ptr<Inode[]>> inode_chunks_;  ///< addresses must not move
  std::size_t inodes_ = 0;
  std::deque<Directory> directories_;
  std::vector<std::int64_t> group_next_sector_;
  BioPool bios_;
  WaitQueue writeback_waiters_;   ///< woken when pages end writeback and somebody waits

  // Completion: one queue and worker per core.
  struct CompletionQueue {
    std::deque<Inode*> inodes;
    Thread* thread = nullptr;
    std::unique_ptr<WaitQueue> wake;
  };
  std::vector<CompletionQueue> completion_;
  std::size_t next_completion_core_ = 0;

  // The log.
  std::int64_t checkpoint_bytes_ = 0;      ///< in memory, not written
  std::int64_t log_used_ = 0;              ///< written and still pinned by inodes not written back
  std::uint32_t checkpoint_number_ = 1;
  struct Written {                         ///< a checkpoint in the log
    std::int64_t bytes = 0;
    std::int64_t inodes = 0;               ///< whose newest copy is in it
    bool being_pushed = false;
  };
  std::deque<Written> in_log_;
  std::uint32_t first_in_log_ = 1;         ///< number of the oldest checkpoint in it
  std::int64_t checkpoint_inodes_ = 0;
  std::int64_t meta_in_flight_ = 0;
  WaitQueue log_waiters_;
  Timer log_timer_;
  FilesystemOutputs out_;
};

}  // namespace spillway::sim
