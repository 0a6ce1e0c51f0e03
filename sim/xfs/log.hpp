#pragma once
/// The journal of XFS: space reservations, the checkpoint in memory (CIL), log buffers, the AIL and its daemon.
/// fs/xfs/xfs_log.c, xfs_log_cil.c, xfs_trans_ail.c (6.18).
///
///   transaction: reserve space (first come first served; who finds none has the AIL pushed and sleeps) -> log items into
///   the checkpoint -> commit: what it did not use is free again.
///   checkpoint: written when it reaches min(log / 8, 32 MiB), or when somebody forces it; an xfs-cil worker fills log
///   buffers one after another and waits when all are on their way. Its last buffer is written through (FUA), after a
///   cache flush when there are several; before 5.14 every buffer was.
///   when it is on disk, an xfs-log worker puts its items into the AIL, at the place of that checkpoint.
///   AIL: less than a quarter of the log free, or somebody without space, or every 30 s: xfsaild writes items back from
///   the tail; inodes go by clusters of 32 with all that is dirty in the cluster. The tail moves when they are on disk.
///
/// Space that is free = size - (head - tail) - reservations - the checkpoint in memory. Conserved: audit().
///
/// Not modelled: intents (EFI and the like), quota items, the regrant at a transaction's roll (its whole count is reserved
/// up front, as the kernel does).

#include <deque>
#include <functional>
#include <string>

#include "sim/block/block_device.hpp"
#include "sim/engine/engine.hpp"
#include "sim/kernel_version.hpp"
#include "sim/xfs/log_item.hpp"
#include "sim/xfs/log_sizes.hpp"
#include "sim/xfs/work_queues.hpp"

namespace spillway::sim::xfs {

struct LogParams {
  std::int64_t size = 64 * kMiB;
  std::int64_t buffer_size = 32 * kKiB;
  int buffers = 8;
  std::int64_t stripe_unit = 512;     ///< log writes are padded to this
  Sectors start{0};                   ///< on its device
  KernelVersion kernel = kernel_versions().back();
  /// CPU time, all assumed. A checkpoint's items are chained while nobody may commit (xlog_cil_build_lv_chain(), a pointer
  /// chase), then sorted and copied (list_sort(), xlog_write()) while others commit; before 6.0 all of it held them up.
  Duration item_chain = std::chrono::nanoseconds{40};
  Duration item_write = std::chrono::nanoseconds{110};
  Duration item_insert = std::chrono::nanoseconds{100};
  Duration item_writeback = std::chrono::nanoseconds{300};
  Duration buffer_writeback = std::chrono::microseconds{3};
  Duration log_write = std::chrono::microseconds{8};
  /// The cores that take the device's interrupts, in turn.
  std::vector<int> completion_cores{0};
};

struct LogCounters {
  std::int64_t transactions = 0, checkpoints = 0, log_writes = 0, forces = 0, ail_pushes = 0;
  Bytes log_written{0}, metadata_written{0};
  Duration space_wait{};
  std::int64_t space_waits = 0;
  std::int64_t items_written_back = 0;
};

class Log final : private BioOwner {
 public:
  /// `log_device` takes the log's writes, `device` the metadata's; they may be the same.
  Log(Engine& engine, CpuSet& cpus, WorkQueues& queues, BlockDevice& device, BlockDevice& log_device, const LogParams& params);

  /// One transaction's hold on log space.
  struct Ticket {
    std::int64_t reserved = 0;
  };
  /// Takes the space at once, or not at all: then co_await wait_for_space().
  [[nodiscard]] bool try_reserve(Transaction kind, Ticket& ticket);
  /// Waits for its turn and takes the space. The wait is charged to the thread's log part.
  Task<> wait_for_space(Thread& thread, Transaction kind, Ticket& ticket);
  /// Must a committing task wait, because a checkpoint is being switched or twice the limit is reached?
  [[nodiscard]] bool commit_must_wait() const { return switching_ || cil_bytes_ >= 2 * soft_limit_; }
  Task<> wait_to_commit(Thread& thread);
  /// The item's present state, `bytes` long, goes into the checkpoint in place of an older copy there.
  void log_item(LogItem& item, std::int64_t bytes);
  /// The item grew by so much; it is logged whole (`whole` bytes) if it is not in the checkpoint.
  void log_growth(LogItem& item, std::int64_t whole, std::int64_t growth);
  void commit(Ticket& ticket);

  /// Everything logged until now is on disk when this returns. Charged to the log part.
  Task<> force(Thread& thread) { return force_to(thread, current_); }
  /// The same for one item: no wait if it is on disk already.
  Task<> force_item(Thread& thread, const LogItem& item) { return force_to(thread, item.checkpoint); }
  /// Begins to write the checkpoint without waiting for it.
  void force_async();
  /// Has xfsaild write everything back.
  void push_all();
  /// An item that is gone (freed inode, freed block) leaves the AIL.
  void forget(LogItem& item);

  [[nodiscard]] std::int64_t free_space() const { return params_.size - (head_ - tail_) - reserved_ - cil_bytes_; }
  [[nodiscard]] std::int64_t reserved() const { return reserved_; }
  [[nodiscard]] bool idle() const { return cil_items_.empty() && checkpoints_.empty() && ail_items_ == 0 && meta_in_flight_ == 0; }
  [[nodiscard]] const LogCounters& counters() const { return counters_; }
  [[nodiscard]] const Thread& daemon() const { return aild_; }
  [[nodiscard]] const Thread* buffer_daemon() const { return bufd_; }
  [[nodiscard]] std::int64_t ail_items() const { return ail_items_; }
  /// What is wrong with the books, or empty: space adds up, nothing is reserved by nobody.
  [[nodiscard]] std::string audit() const;

 private:
  struct Checkpoint {
    std::uint32_t number = 0;
    std::int64_t bytes = 0;             ///< of its items
    std::int64_t begin = 0, end = 0;    ///< in the log, counted since the start
    std::vector<LogItem*> items;
    int buffers_left = 0;               ///< not yet on disk
    bool written = false;               ///< all submitted
    bool processing = false;
  };
  /// A place in the AIL: the items whose newest copy on disk is in this checkpoint.
  struct Place {
    std::uint32_t number = 0;
    std::int64_t begin = 0;
    std::int64_t live = 0;
    std::vector<LogItem*> items;        ///< those that have moved on are stale: their `ail` differs
  };
  void bio_done(Bio& bio) override;
  void request_push();
  Task<> push_work(Thread& worker);
  Task<> write_checkpoint(Thread& worker, Checkpoint& checkpoint);
  void finish_checkpoints();
  Task<> insert_work(Thread& worker, Checkpoint& checkpoint);
  void insert_into_ail(Checkpoint& checkpoint);
  void leave_place(LogItem& item);
  void move_tail();
  void grant();
  Task<> force_to(Thread& thread, std::uint32_t number);
  Task<> daemon_loop();
  /// Starts writing back what lies before `target`; returns how many buffers.
  Task<std::int64_t> push_tail(std::int64_t target);
  Task<> submit(Thread& thread, BlockDevice& device, Bio& bio);
  Place* place_of(std::uint32_t number);
  int completion_core() { return params_.completion_cores[next_core_++ % params_.completion_cores.size()]; }

  Engine& engine_;
  CpuSet& cpus_;
  WorkQueues& queues_;
  BlockDevice& device_;
  BlockDevice& log_device_;
  LogParams params_;
  std::int64_t soft_limit_;
  WorkQueues::Id cil_queue_, log_queue_, buf_queue_;
  BioPool bios_;

  // Space. Positions count bytes since the file system was made.
  std::int64_t head_ = 0, tail_ = 0, reserved_ = 0;
  std::deque<std::int64_t> needs_;      ///< of the sleepers, in order
  WaitQueue space_waiters_;

  // The checkpoint in memory, and those on their way.
  std::uint32_t current_ = 1;
  std::int64_t cil_bytes_ = 0;
  std::vector<LogItem*> cil_items_;
  bool switching_ = false, push_queued_ = false;
  std::uint32_t next_to_write_ = 1;     ///< checkpoints fill log buffers in order
  std::deque<Checkpoint> checkpoints_;
  std::uint32_t on_disk_ = 0;           ///< the newest checkpoint of which all is on disk and in the AIL
  int buffers_in_flight_ = 0;
  WaitQueue commit_waiters_, buffer_waiters_, order_waiters_, force_waiters_;

  // The AIL.
  std::deque<Place> places_;
  std::int64_t ail_items_ = 0;
  std::int64_t push_all_to_ = 0;        ///< position until which everything is to be written back
  std::int64_t meta_in_flight_ = 0;
  struct Write {
    std::vector<MetaBuffer*> buffers;
  };
  std::deque<Write> writes_;            ///< all that ever were needed at once
  std::vector<Write*> free_writes_;
  WaitQueue aild_wake_;
  bool aild_woken_ = false;
  std::size_t next_core_ = 0;
  Thread& aild_;
  Thread* bufd_ = nullptr;              ///< xfsbufd, before 3.5: writes the buffers
  LogCounters counters_;
};

}  // namespace spillway::sim::xfs
