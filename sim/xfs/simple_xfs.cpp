#include "sim/xfs/simple_xfs.hpp"

#include <algorithm>
#include <memory>

#include "sim/check.hpp"

namespace spillway::sim {

namespace {

/// What a transaction adds to the checkpoint when its inode is not in it yet, and when it is. cited: 300 bytes of log per
/// created file, 328 with data and writeback in the same checkpoint (fact sheet 4.12, measured).
constexpr std::int64_t kLogNewInode = 300;
constexpr std::int64_t kLogAgain = 10;
/// An allocation or conversion of an inode that is not in the checkpoint: the inode again, and allocation btree blocks.
/// assumed: like a creation.
constexpr std::int64_t kLogOldInode = 300;
/// The largest reservation that a task holds: tr_create, 2 x 219,244 bytes. cited: 4.11.
constexpr std::int64_t kReservation = 438'488;
/// Inodes are written back a cluster of 32 at a time, 512 bytes each. cited: 4.8.
constexpr std::int64_t kInodeBytes = 512;
constexpr Bytes kMetaBio{1 << 20};

}  // namespace

SimpleXfs::SimpleXfs(Engine& engine, CpuSet& cpus, DirtyMemory& memory, DeviceWriteback& wb, BlockDevice& device,
                     const FilesystemInputs& inputs, const CpuCosts& costs, const KernelVersion& kernel, Bytes max_bio)
    : engine_(engine),
      cpus_(cpus),
      memory_(memory),
      wb_(wb),
      device_(device),
      inputs_(inputs),
      costs_(costs),
      kernel_(kernel),
      max_bio_pages_(std::max<std::int64_t>(to_pages_floor(max_bio).value(), 1)),
      group_next_sector_(static_cast<std::size_t>(inputs.allocation_groups > 0 ? inputs.allocation_groups : 4)),
      writeback_waiters_(engine),
      log_waiters_(engine),
      log_timer_(engine, Phase::flusher, [this] {
        write_checkpoint();  // the 30 s worker: force the log, push everything
        engine_.spawn(push_inodes(log_used_), Phase::flusher);
        log_timer_.arm(engine_.now() + std::chrono::seconds{30});
      }) {
  const std::int64_t group_sectors = inputs_.size.value() / 512 / static_cast<std::int64_t>(group_next_sector_.size());
  for (std::size_t g = 0; g < group_next_sector_.size(); ++g)
    group_next_sector_[g] = static_cast<std::int64_t>(g) * group_sectors;
  completion_.resize(static_cast<std::size_t>(cpus.cores()));
  for (std::size_t core = 0; core < completion_.size(); ++core) {
    completion_[core].thread = &cpus.new_thread("xfs-conv", static_cast<int>(core));
    completion_[core].wake = std::make_unique<WaitQueue>(engine, Phase::flusher);
    engine_.spawn(completion_worker(core), Phase::flusher);
  }
  log_timer_.arm(engine_.now() + std::chrono::seconds{30});
}

// -- programs --------------------------------------------------------------------------------------------------------

Task<std::int32_t> SimpleXfs::make_directory(Thread& thread) {
  co_await cpus_.run(thread, CpuMode::system, costs_.make_directory);
  while (!try_transaction(nullptr, kLogNewInode)) co_await wait_for_log(thread);
  const auto number = static_cast<std::int32_t>(directories_.size());
  directories_.emplace_back(engine_, number % static_cast<std::int32_t>(group_next_sector_.size()));
  co_return number;
}

Task<Inode*> SimpleXfs::create(Thread& thread, std::int32_t directory) {
  Directory& parent = directories_[static_cast<std::size_t>(directory)];
  if (!parent.lock.try_lock()) {
    Blocked blocked{engine_, thread.account.lock};
    co_await parent.lock.lock();
  }
  co_await cpus_.run(thread, CpuMode::system, costs_.create_file);
  Inode& inode = new_inode();
  inode.directory = directory;
  inode.fs.allocation_group = parent.group;
  ++out_.files;
  while (!try_transaction(&inode, kLogNewInode)) co_await wait_for_log(thread);
  parent.lock.unlock();
  co_return &inode;
}

Inode& SimpleXfs::new_inode() {
  if (inodes_ % kInodeChunk == 0) inode_chunks_.push_back(std::make_unique<Inode[]>(kInodeChunk));
  Inode& inode = inode_chunks_.back()[inodes_++ % kInodeChunk];
  inode.id = static_cast<std::int32_t>(inodes_);
  inode.wb = &wb_;
  return inode;
}

void SimpleXfs::reserve(Inode& inode, std::int64_t end_page) {
  inode.fs.reserved_pages = std::max(inode.fs.reserved_pages, end_page);
}

Task<> SimpleXfs::close_written(Thread& thread, Inode& inode) {
  co_await cpus_.run(thread, CpuMode::system, costs_.close_written);
  while (!try_transaction(&inode, kLogOldInode)) co_await wait_for_log(thread);
}

Task<> SimpleXfs::unlink(Thread& thread, Inode& inode) {
  Directory& parent = directories_[static_cast<std::size_t>(inode.directory)];
  if (!parent.lock.try_lock()) {
    Blocked blocked{engine_, thread.account.lock};
    co_await parent.lock.lock();
  }
  co_await cpus_.run(thread, CpuMode::system, costs_.unlink_file);
  while (!try_transaction(&inode, kLogOldInode)) co_await wait_for_log(thread);
  parent.lock.unlock();
  // Eviction: wait for a visiting flusher (or helper, which has it open), drop what is dirty, wait for what is in flight.
  while (inode.being_synced || inode.helpers_inside > 0 || inode.writeback_pages > 0) {
    Blocked blocked{engine_, thread.account.device};
    if (inode.writeback_pages > 0) co_await writeback_waiters_.wait();
    else co_await engine_.sleep(std::chrono::milliseconds{1});
  }
  if (const std::int64_t dropped = inode.dirty.pages(); dropped > 0) {
    inode.dirty.clear();
    memory_.cancelled(*inode.wb, dropped);
  }
  if (flushers_) flushers_->forget(inode);
}

// -- the log ---------------------------------------------------------------------------------------------------------

void SimpleXfs::add_to_checkpoint(Inode* inode, std::int64_t bytes) {
  ++out_.transactions;
  if (inode && inode->fs.logged_in == checkpoint_number_) {
    checkpoint_bytes_ += kLogAgain;
    return;
  }
  if (inode) {
    // Logged again, it moves forward: what it pinned in the log is free once everything before it has moved too.
    if (const std::uint32_t old = inode->fs.logged_in; old >= first_in_log_ && old != 0) {
      --in_log_[old - first_in_log_].inodes;
      move_tail();
    }
    inode->fs.logged_in = checkpoint_number_;
    ++checkpoint_inodes_;
  }
  checkpoint_bytes_ += bytes;
}

bool SimpleXfs::try_transaction(Inode* inode, std::int64_t bytes) {
  if (log_used_ + checkpoint_bytes_ + kReservation > inputs_.log_size.value()) return false;
  add_to_checkpoint(inode, bytes);
  const std::int64_t soft = std::min<std::int64_t>(inputs_.log_size.value() / 8, 32 * kMiB);
  if (checkpoint_bytes_ >= soft) {
    write_checkpoint();
    if (inputs_.log_size.value() - log_used_ < inputs_.log_size.value() / 4)
      engine_.spawn(push_inodes(inputs_.log_size.value() / 4), Phase::flusher);
  }
  return true;
}

Task<> SimpleXfs::wait_for_log(Thread& thread) {
  Blocked blocked{engine_, thread.account.log};
  write_checkpoint();
  engine_.spawn(push_inodes(log_used_), Phase::flusher);
  while (log_used_ + checkpoint_bytes_ + kReservation > inputs_.log_size.value()) co_await log_waiters_.wait();
}

void SimpleXfs::submit_meta(Bytes size, bool barrier) {
  for (Bytes left = size; left.value() > 0;) {
    Bio& bio = bios_.get();
    bio.owner = this;
    bio.size = std::min(left, kMetaBio);
    bio.meta = bio.sync = bio.idle = true;
    left -= bio.size;
    bio.flush = bio.fua = barrier && left.value() == 0;
    ++meta_in_flight_;
    if (!device_.try_submit(bio))
      engine_.spawn([](BlockDevice& device, Thread& thread, Bio& b) -> Task<> { co_await device.submit(thread, b); }(
                        device_, *completion_.front().thread, bio),
                    Phase::flusher);
  }
}

void SimpleXfs::move_tail() {
  while (!in_log_.empty() && in_log_.front().inodes == 0 && !in_log_.front().being_pushed) {
    log_used_ -= in_log_.front().bytes;
    in_log_.pop_front();
    ++first_in_log_;
  }
}

void SimpleXfs::write_checkpoint() {
  if (checkpoint_bytes_ == 0) return;
  ++out_.checkpoints;
  if (in_log_.empty()) first_in_log_ = checkpoint_number_;
  ++checkpoint_number_;
  out_.log_written += Bytes{checkpoint_bytes_};
  log_used_ += checkpoint_bytes_;
  in_log_.push_back({checkpoint_bytes_, checkpoint_inodes_, false});
  submit_meta(Bytes{(checkpoint_bytes_ + 511) / 512 * 512}, device_.volatile_cache());
  checkpoint_bytes_ = 0;
  checkpoint_inodes_ = 0;
}

/// Writes back what the oldest `log_bytes` of the log pin. The log's tail moves when that is on disk.
Task<> SimpleXfs::push_inodes(std::int64_t log_bytes) {
  std::int64_t covered = 0, inodes = 0;
  std::uint32_t last = 0;
  for (std::size_t i = 0; i < in_log_.size() && covered < log_bytes; ++i) {
    Written& checkpoint = in_log_[i];
    covered += checkpoint.bytes;
    last = first_in_log_ + static_cast<std::uint32_t>(i);
    if (checkpoint.being_pushed) continue;
    checkpoint.being_pushed = true;
    inodes += checkpoint.inodes;
  }
  if (covered == 0) co_return;
  const Bytes size{(inodes * kInodeBytes + 16383) / 16384 * 16384};
  out_.inode_written += size;
  submit_meta(size, false);
  while (meta_in_flight_ > 0) co_await log_waiters_.wait();
  while (!in_log_.empty() && first_in_log_ <= last) {
    log_used_ -= in_log_.front().bytes;
    in_log_.pop_front();
    ++first_in_log_;
  }
  move_tail();
  log_waiters_.wake_all();
}

Task<> SimpleXfs::force_log(Thread& thread) {
  write_checkpoint();
  Blocked blocked{engine_, thread.account.log};
  while (meta_in_flight_ > 0) co_await log_waiters_.wait();
}

// -- writeback -------------------------------------------------------------------------------------------------------

void SimpleXfs::allocate(Inode& inode, std::int64_t first_page, std::int64_t pages) {
  auto& next = group_next_sector_[static_cast<std::size_t>(inode.fs.allocation_group)];
  if (inputs_.stripe_unit && pages * kPageSize.value() >= inputs_.stripe_unit->value()) {
    const std::int64_t unit =
        (inputs_.swalloc && inputs_.stripe_width ? *inputs_.stripe_width : *inputs_.stripe_unit).value() / 512;
    next = (next + unit - 1) / unit * unit;
  }
  inode.fs.disk_start = next;
  inode.fs.extent_first = first_page;
  ++inode.fs.extents;
  ++out_.extents;
  next += pages * 8;
}

Task<> SimpleXfs::write_pages(Thread& thread, Inode& inode, WritebackControl& control) {
  Duration cost = costs_.flush_inode;
  std::int64_t from = control.range_cyclic ? inode.writeback_index : 0;
  // A tagged or integrity pass writes what is dirty now, and is not led on by a writer.
  std::int64_t end = control.wait_for_all || control.tagged ? inode.size_pages : INT64_MAX;
  while (control.nr_to_write > 0) {
    PageRange range = inode.dirty.next(from);
    if (range.pages() == 0 || range.first >= end) {
      from = 0;
      break;
    }
    range.end = std::min({range.end, end, range.first + std::min(control.nr_to_write, max_bio_pages_)});
    bool allocated = false;
    if (range.end > inode.fs.allocated_pages) {
      // The whole delayed extent is allocated, for as far as it is reserved.
      const std::int64_t until = std::max(inode.fs.reserved_pages, range.end);
      const std::int64_t first = std::max(inode.fs.allocated_pages, range.first);
      allocate(inode, first, until - first);
      inode.fs.allocated_pages = until;
      cost += costs_.allocate_extent;
      allocated = true;
    }
    const std::int64_t pages = range.pages();
    cost += costs_.flush_page * pages + costs_.submit_request;
    co_await cpus_.run(thread, CpuMode::system, cost);
    cost = Duration{0};
    while (allocated && !try_transaction(&inode, kLogOldInode)) co_await wait_for_log(thread);

    // What is still dirty of it: somebody else may walk the same file, or have dropped it.
    const PageRange still = inode.dirty.next(range.first);
    if (still.pages() == 0 || still.first >= range.end) {
      from = range.end;
      continue;
    }
    range = {still.first, std::min(range.end, still.end)};
    const std::int64_t taken = inode.dirty.remove(range);
    from = range.end;
    memory_.submitted(*inode.wb, taken, inode.writeback_pages == 0);
    inode.writeback_pages += taken;
    control.nr_to_write -= taken;
    Bio& bio = bios_.get();
    bio.owner = this;
    bio.inode = &inode;
    bio.pages = taken;
    bio.start = Sectors{inode.fs.disk_start + (range.first - inode.fs.extent_first) * 8};
    bio.size = to_bytes(Pages{taken});
    bio.background = control.background || control.kupdate;
    bio.sync = control.wait_for_all;
    if (!device_.try_submit(bio)) co_await device_.submit(thread, bio);
  }
  inode.writeback_index = from;
  if (cost.count() > 0) co_await cpus_.run(thread, CpuMode::system, cost);
}

void SimpleXfs::bio_done(Bio& bio) {
  Inode* const inode = bio.inode;
  const std::int64_t pages = bio.pages;
  const bool meta = bio.meta;
  bool* const direct_done = static_cast<bool*>(bio.context);
  bios_.put(bio);
  if (meta) {
    if (--meta_in_flight_ == 0) log_waiters_.wake_all();
    return;
  }
  if (direct_done) {
    *direct_done = true;
    writeback_waiters_.wake_all();
    return;
  }
  // Every block here was allocated for this write: unwritten before 5.8 or appending, so completion needs a transaction.
  inode->fs.ended_pages += pages;
  if (inode->fs.completion_queued) return;
  inode->fs.completion_queued = true;
  CompletionQueue& queue = completion_[next_completion_core_++ % completion_.size()];
  queue.inodes.push_back(inode);
  queue.wake->wake_one();
}

Task<> SimpleXfs::completion_worker(std::size_t core) {
  CompletionQueue& queue = completion_[core];
  for (;;) {
    while (queue.inodes.empty()) co_await queue.wake->wait();
    Inode& inode = *queue.inodes.front();
    queue.inodes.pop_front();
    const std::int64_t pages = std::exchange(inode.fs.ended_pages, 0);
    inode.fs.completion_queued = false;
    co_await cpus_.run(*queue.thread, CpuMode::system, costs_.complete_extent + costs_.complete_page * pages);
    while (!try_transaction(&inode, kLogOldInode)) co_await wait_for_log(*queue.thread);
    end_writeback(inode, pages);
  }
}

void SimpleXfs::end_writeback(Inode& inode, std::int64_t pages) {
  inode.writeback_pages -= pages;
  SPILLWAY_CHECK(inode.writeback_pages >= 0, "more pages of a file ended writeback than were under it");
  memory_.written(*inode.wb, pages, inode.writeback_pages == 0);
  if (!writeback_waiters_.empty()) writeback_waiters_.wake_all();
}

Task<> SimpleXfs::wait_for_writeback(Thread& thread) {
  const std::int64_t target = memory_.written_in_all() + memory_.under_writeback();
  Blocked blocked{engine_, thread.account.device};
  while (memory_.written_in_all() < target) co_await writeback_waiters_.wait();
}

Task<> SimpleXfs::write_direct(Thread& thread, Inode& inode, std::int64_t pages) {
  if (pages <= 0) co_return;
  allocate(inode, 0, pages);
  inode.fs.allocated_pages = inode.fs.reserved_pages = inode.size_pages = pages;
  co_await cpus_.run(thread, CpuMode::system, costs_.allocate_extent + costs_.submit_request);
  while (!try_transaction(&inode, kLogOldInode)) co_await wait_for_log(thread);
  for (std::int64_t at = 0; at < pages;) {
    bool done = false;
    Bio& bio = bios_.get();
    bio.owner = this;
    bio.inode = &inode;
    bio.start = Sectors{inode.fs.disk_start + at * 8};
    bio.size = to_bytes(Pages{std::min(pages - at, max_bio_pages_)});
    bio.sync = bio.idle = true;
    bio.context = &done;
    at += to_pages_floor(bio.size).value();
    if (!device_.try_submit(bio)) co_await device_.submit(thread, bio);
    Blocked blocked{engine_, thread.account.device};
    while (!done) co_await writeback_waiters_.wait();
  }
  co_await cpus_.run(thread, CpuMode::system, costs_.complete_extent);
  while (!try_transaction(&inode, kLogOldInode)) co_await wait_for_log(thread);
}

Task<> SimpleXfs::fsync(Thread& thread, Inode& inode) {
  WritebackControl control;
  control.nr_to_write = INT64_MAX / 2;
  control.wait_for_all = true;
  control.range_cyclic = false;
  co_await write_pages(thread, inode, control);
  if (inode.dirty.empty() && flushers_ && !inode.being_synced) flushers_->forget(inode);
  {
    Blocked blocked{engine_, thread.account.device};
    while (inode.writeback_pages > 0) co_await writeback_waiters_.wait();
  }
  co_await force_log(thread);
}

}  // namespace spillway::sim
