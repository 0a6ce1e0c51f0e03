#pragma once
/// The file system as programs and the flusher use it. Two implementations: SimpleXfs (thin: contiguous files, a log that
/// is a counter) and the full XFS model.
///
/// Every call charges its CPU time to the calling thread and may wait (locks, log space, a full queue), charging the wait
/// to the thread's account.

#include <cstdint>
#include <string>
#include <vector>

#include "sim/box/outputs.hpp"
#include "sim/cpu/cpu_set.hpp"
#include "sim/engine/task.hpp"
#include "sim/flusher/inode.hpp"

namespace spillway::sim {

class Flushers;

/// What the flusher asks of one visit to a file. struct writeback_control.
struct WritebackControl {
  std::int64_t nr_to_write = 0;     ///< pages; counted down
  bool wait_for_all = false;        ///< WB_SYNC_ALL
  bool tagged = false;              ///< write only what is dirty now
  bool range_cyclic = true;         ///< go on where the last visit stopped
  bool background = false, kupdate = false;
  std::int64_t pages_skipped = 0;
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;
  /// Whom to tell when a file is unlinked. The flushers are built after the file system that they call.
  virtual void set_flushers(Flushers& flushers) = 0;

  // -- programs ------------------------------------------------------------------------------------------------------
  /// A new directory; returns its number.
  virtual Task<std::int32_t> make_directory(Thread& thread) = 0;
  /// open(O_CREAT): a new, empty file.
  virtual Task<Inode*> create(Thread& thread, std::int32_t directory) = 0;
  /// Room for [inode.size_pages, end_page) by delayed allocation, once per write that extends the file. Cheap: charged
  /// with the write itself.
  virtual void reserve(Inode& inode, std::int64_t end_page) = 0;
  /// Room for [first_page, end_page) of a file with holes, where it has none yet. Only where keeps_holes().
  virtual void reserve_hole(Inode& inode, std::int64_t first_page, std::int64_t end_page) { static_cast<void>(first_page), reserve(inode, end_page); }
  [[nodiscard]] virtual bool keeps_holes() const { return false; }
  /// Close after writing.
  virtual Task<> close_written(Thread& thread, Inode& inode) = 0;
  virtual Task<> unlink(Thread& thread, Inode& inode) = 0;
  /// One O_DIRECT write of a whole file, waited for.
  virtual Task<> write_direct(Thread& thread, Inode& inode, std::int64_t pages) = 0;
  /// Write out and wait for one file, then its log record.
  virtual Task<> fsync(Thread& thread, Inode& inode) = 0;

  // -- the flusher -----------------------------------------------------------------------------------------------------
  /// Allocates and submits dirty pages of `inode` as `control` says. The flusher's thread runs it.
  virtual Task<> write_pages(Thread& thread, Inode& inode, WritebackControl& control) = 0;
  /// ->sync_fs(wait): the log on disk.
  virtual Task<> force_log(Thread& thread) = 0;
  /// Wait until everything under writeback at this instant has ended.
  virtual Task<> wait_for_writeback(Thread& thread) = 0;

  /// Where page `page` of a file is on the disk, for reads. The default knows the file's last extent only.
  [[nodiscard]] virtual Sectors sector_of(const Inode& inode, std::int64_t page) const {
    const std::int64_t sector = inode.fs.disk_start + (page - inode.fs.extent_first) * 8;
    return Sectors{sector > 0 ? sector : 0};
  }

  [[nodiscard]] virtual FilesystemOutputs outputs() const = 0;
  /// Its kernel workers and threads, where it keeps account of them by work queue.
  [[nodiscard]] virtual std::vector<WorkerOutputs> workers() const { return {}; }
  /// Why the run cannot go on (a full file system), or empty.
  [[nodiscard]] virtual std::string failure() const { return {}; }
  /// What is wrong with its books (blocks, log space), or empty.
  [[nodiscard]] virtual std::string audit() const { return {}; }
};

}  // namespace spillway::sim
