#pragma once
/// Who writes back: the kernel's one flusher per device, or several, and who of them has which file.
///
///   kernel      one context (all kernels so far, root cgroup)
///   contexts    N contexts of one device, a file bound to one for its life: by inode number, or by the allocation group
///               of its inode ("Parallelizing filesystem writeback", v2 of October 2025; not merged as of 6.19)
///   cgroup      one context per memory cgroup and device (cgroup v2, since 4.2): a file belongs to the group that wrote it
///   user        one context, and N helper programs, each for its own directories, that call sync_file_range(WRITE) five
///               times a second for every file that has grown
///   per_writer  one context, and every writer over its limit writes back itself: what kernels before 3.2 do by themselves
///
/// Each context has lists, a bandwidth estimate, a rate limit and a share of completions of its own, as struct
/// bdi_writeback has; the global limits are shared.
///
/// Not modelled: inodes that change their cgroup; the freeze while the number of contexts changes; the multiplication of
/// a visit's pages by four in XFS before 3.2.

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/box/inputs.hpp"
#include "sim/flusher/flusher.hpp"

namespace spillway::sim {

class Flushers {
 public:
  /// `first`: the state of context 0 before the run; further contexts start alike, with no completions of their own.
  Flushers(Engine& engine, CpuSet& cpus, DirtyMemory& memory, DeviceWriteback& first, FileSystem& files,
           FlusherParams params, FlusherInputs inputs);
  Flushers(const Flushers&) = delete;
  Flushers& operator=(const Flushers&) = delete;

  /// The context of a file, which is bound to one when first asked; `cgroup`: of the task that writes it.
  /// inode_attach_wb().
  DeviceWriteback& attach(Inode& inode, int cgroup = 0);
  /// See Flusher. The file must be bound.
  void inode_dirtied(Inode& inode);
  void forget(Inode& inode);
  /// syncfs: all contexts at once, twice, then the data and the log. Returns when durable.
  Task<> sync(Thread& caller);

  struct Context {
    DeviceWriteback* wb;
    std::unique_ptr<DeviceWriteback> own;  ///< of every context but the first
    Flusher flusher;
  };
  [[nodiscard]] const std::vector<std::unique_ptr<Context>>& contexts() const { return contexts_; }
  [[nodiscard]] const std::vector<Thread*>& helpers() const { return helpers_; }

  // Sums over the contexts.
  [[nodiscard]] std::int64_t reclaimable() const { return sum(&DeviceWriteback::reclaimable); }
  [[nodiscard]] std::int64_t writeback() const { return sum(&DeviceWriteback::writeback); }
  [[nodiscard]] std::int64_t dirtied() const { return sum(&DeviceWriteback::dirtied); }
  [[nodiscard]] std::int64_t written() const { return sum(&DeviceWriteback::written); }
  [[nodiscard]] std::int64_t cancelled() const { return sum(&DeviceWriteback::cancelled); }
  [[nodiscard]] std::int64_t b_dirty() const { return sum(&Flusher::b_dirty); }
  [[nodiscard]] std::int64_t b_io() const { return sum(&Flusher::b_io); }
  [[nodiscard]] std::int64_t b_more_io() const { return sum(&Flusher::b_more_io); }
  /// CPU time of the flush contexts.
  [[nodiscard]] Duration cpu() const;

 private:
  /// One helper program.
  struct Helper {
    std::vector<Inode*> grown;  ///< files of its directories that have grown since it asked for them last
  };
  [[nodiscard]] std::int64_t sum(std::int64_t DeviceWriteback::* member) const {
    std::int64_t all = 0;
    for (const auto& c : contexts_) all += c->wb->*member;
    return all;
  }
  [[nodiscard]] std::int64_t sum(std::int64_t (Flusher::*member)() const) const {
    std::int64_t all = 0;
    for (const auto& c : contexts_) all += (c->flusher.*member)();
    return all;
  }
  Task<> help(Thread& thread, Helper& helper);

  Engine& engine_;
  CpuSet& cpus_;
  DirtyMemory& memory_;
  FileSystem& files_;
  FlusherInputs inputs_;
  std::vector<std::unique_ptr<Context>> contexts_;
  std::vector<Thread*> helpers_;
  std::vector<Helper> helper_states_;
};

}  // namespace spillway::sim
