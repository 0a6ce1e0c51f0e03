#pragma once
/// The flusher of one device, or of one of several contexts of it: decides when to write, which files, in which order and
/// how much of each at a time.
/// fs/fs-writeback.c (6.18), wb_workfn(), wb_writeback(), writeback_sb_inodes(), queue_io(), requeue_inode().
///
/// One worker; it is woken by writers above the background threshold, by its own timer while something is dirty, and by
/// sync. Within a pass: queued work first, then data older than the expiry, then background writeback.
///
/// Not modelled: lazytime lists, cgroup switching, the memory-pressure rescuer.

#include <cstdint>
#include <deque>

#include "sim/cpu/costs.hpp"
#include "sim/cpu/cpu_set.hpp"
#include "sim/engine/engine.hpp"
#include "sim/flusher/inode.hpp"
#include "sim/memory/dirty_memory.hpp"
#include "sim/xfs/file_system.hpp"

namespace spillway::sim {

struct FlusherParams {
  Duration writeback_interval = std::chrono::seconds{5};  ///< 0: no periodic writeback
  Duration dirty_expire = std::chrono::seconds{30};
  KernelVersion kernel = kernel_versions().back();
  Duration inode_cost = std::chrono::microseconds{2};
  Duration wake_latency = std::chrono::microseconds{10};  ///< from the wake-up to the worker's first step. assumed.
  int core = 0;                                           ///< where its thread starts
};

/// Pages that one visit to a file may write: half a second of the device's bandwidth, in steps of 4 MiB.
/// writeback_chunk_size().
[[nodiscard]] std::int64_t writeback_chunk(KernelWord avg_write_bandwidth, KernelWord dirty_limit, std::int64_t work_pages,
                                           std::int64_t min_pages = KernelConstants{}.min_writeback_pages);

class Flusher {
 public:
  Flusher(Engine& engine, CpuSet& cpus, DirtyMemory& memory, DeviceWriteback& wb, FileSystem& files, FlusherParams params);

  /// A file's pages went from clean to dirty. Call it after every piece of dirtying; it looks whether the file is queued.
  void inode_dirtied(Inode& inode);
  /// The file is gone: off the lists.
  void forget(Inode& inode);
  /// Wake the worker now. wb_start_background_writeback().
  void wake();
  /// One of syncfs' two passes, by the worker: what is dirty now (tagged), or everything. `left` is counted down and
  /// `waiter` woken when it is done.
  void queue_sync(bool all, int& left, WaitQueue& waiter);
  /// Writes back up to `pages` pages in the caller's own thread; returns how many. writeback_inodes_wbc() of 2.6.32.
  Task<std::int64_t> write_for(Thread& caller, std::int64_t pages);

  [[nodiscard]] std::int64_t b_dirty() const { return b_dirty_.size(); }
  [[nodiscard]] std::int64_t b_io() const { return b_io_.size(); }
  [[nodiscard]] std::int64_t b_more_io() const { return b_more_io_.size(); }
  [[nodiscard]] const Thread& thread() const { return thread_; }
  [[nodiscard]] std::uint64_t passes() const { return passes_; }

 private:
  struct Work {
    std::int64_t nr_pages = 0;
    bool sync_all = false, tagged = false, range_cyclic = false;
    bool for_kupdate = false, for_background = false, by_caller = false;
    int* left = nullptr;
    WaitQueue* waiter = nullptr;
  };
  Task<> worker();
  Task<> do_writeback();
  Task<> write_back(Work& work);
  /// One round over b_io in that thread; true if anything was written or cleaned. writeback_sb_inodes().
  Task<bool> write_inodes(Thread& thread, Work& work, Jiffies dirtied_before);
  void queue_io(Jiffies dirtied_before);
  void requeue(Inode& inode, const WritebackControl& control, Jiffies dirtied_before);
  void redirty_tail(Inode& inode);
  [[nodiscard]] bool has_dirty_io() const { return !b_dirty_.empty() || !b_io_.empty() || !b_more_io_.empty(); }
  void arm_delayed();
  [[nodiscard]] Jiffies now() const { return memory_.clock().jiffies(engine_.now()); }
  [[nodiscard]] Jiffies ticks(Duration d) const;

  Engine& engine_;
  CpuSet& cpus_;
  DirtyMemory& memory_;
  DeviceWriteback& wb_;
  FileSystem& files_;
  FlusherParams params_;
  Thread& thread_;
  InodeList b_dirty_{InodeListName::b_dirty}, b_io_{InodeListName::b_io}, b_more_io_{InodeListName::b_more_io};
  std::deque<Work> work_list_;
  WaitQueue wake_queue_;
  Timer delayed_;          ///< dwork's timer
  bool pending_ = false;   ///< dwork is queued to run now
  Jiffies last_old_flush_ = 0;
  std::uint64_t passes_ = 0;
};

}  // namespace spillway::sim
