// Xfs: delayed allocation, its conversion at writeback, bios, completion.

#include <algorithm>

#include "sim/check.hpp"
#include "sim/xfs/xfs.hpp"

namespace spillway::sim::xfs {

// -- delayed allocation ----------------------------------------------------------------------------------------------

void Xfs::reserve(Inode& base, std::int64_t end_page) {
  auto& inode = static_cast<XfsInode&>(base);
  const std::int64_t step = params_.write_size.value();
  std::int64_t reserved = inode.fs.reserved_pages;
  if (end_page <= reserved) return;
  // One write(2) after the other, as long as they reach over what is reserved.
  std::int64_t at = std::max(inode.size_pages, reserved - 1) * kBlockSize / step * step;
  at = std::max(at, inode.size_pages * kBlockSize);
  const std::int64_t end = end_page * kBlockSize, from = reserved;
  const std::int64_t free = allocator_.free_blocks();
  while (at < end) {
    const std::int64_t count = std::min(step, end - at);
    if ((at + count + kBlockSize - 1) / kBlockSize > reserved) {
      BeforeWrite before;
      before.file_size = at;
      before.adjacent = reserved > 0 && reserved * kBlockSize >= at;
      // The run that ends there: what is delayed now, and blocks that lie contiguous in front of it.
      std::int64_t run_start = from;
      for (PageRange r{0, 0}; (r = inode.delayed.next(r.end)).pages() > 0;)
        if (r.end == from) run_start = r.first;
      if (run_start == from && !inode.extents.empty() && inode.extents.back().end() == from) run_start = inode.extents.back().page;
      before.contiguous = reserved - run_start;
      before.free_blocks = free;
      before.total_blocks = allocator_.total_blocks();
      reserved = std::max(reserved, reservation_end(preallocation_, before, at, count));
    }
    at += count;
    if (at < end) at = std::max(at, std::min(end - 1, (reserved * kBlockSize - 1) / step * step));
  }
  inode.delayed.add({from, reserved});
  inode.fs.reserved_pages = reserved;
}

/// A write into holes below the end of the file: exactly its blocks, joined with delayed neighbours, nothing ahead of it.
/// xfs_buffered_write_iomap_begin(), xfs_bmap_add_extent_hole_delay().
void Xfs::reserve_hole(Inode& base, std::int64_t first_page, std::int64_t end_page) {
  auto& inode = static_cast<XfsInode&>(base);
  for (std::int64_t at = first_page; at < end_page;) {
    const auto above = std::upper_bound(inode.extents.begin(), inode.extents.end(), at, [](std::int64_t p, const FileExtent& e) { return p < e.page; });
    if (above != inode.extents.begin() && at < std::prev(above)->end()) {
      at = std::prev(above)->end();
      continue;
    }
    const std::int64_t until = above == inode.extents.end() ? end_page : std::min(end_page, above->page);
    inode.delayed.add({at, until});
    at = until;
  }
  inode.fs.reserved_pages = std::max(inode.fs.reserved_pages, end_page);
}

/// Closing a file that was written trims, once, what was reserved or allocated beyond its end. xfs_file_release().
Task<> Xfs::close_written(Thread& thread, Inode& base) {
  auto& inode = static_cast<XfsInode&>(base);
  if (inode.released || (inode.fs.reserved_pages <= inode.size_pages && inode.delayed.empty())) co_return;
  Log::Ticket ticket;
  co_await begin(thread, Transaction::itruncate, ticket);
  co_await lock_inode(thread, inode);
  co_await cpus_.run(thread, CpuMode::system, params_.costs.close_written);
  inode.released = true;
  trim(inode, inode.size_pages);
  log_inode(inode);
  co_await end(thread, ticket);
  unlock_inode(inode);
}

/// Gives back everything from that page on; returns how many blocks. Their groups' trees are logged.
std::int64_t Xfs::trim(XfsInode& inode, std::int64_t from_page) {
  std::int64_t freed = 0;
  inode.delayed.remove({from_page, INT64_MAX / 2});
  inode.unwritten.remove({from_page, INT64_MAX / 2});
  while (!inode.extents.empty() && inode.extents.back().end() > from_page) {
    FileExtent& last = inode.extents.back();
    const std::int64_t keep = std::max<std::int64_t>(0, from_page - last.page);
    allocator_.give({last.blocks.ag, last.blocks.start + keep, last.blocks.length - keep});
    freed += last.blocks.length - keep;
    log_space_trees(last.blocks.ag);
    if (keep > 0) last.blocks.length = keep;
    else inode.extents.pop_back();
  }
  inode.fs.reserved_pages = std::min(inode.fs.reserved_pages, from_page);
  return freed;
}

// -- allocation ------------------------------------------------------------------------------------------------------

/// What the allocator is asked for. xfs_bmap_adjacent(), xfs_bmap_compute_alignments().
AllocationRequest Xfs::request_for(const XfsInode& inode, std::int64_t page, std::int64_t length) const {
  AllocationRequest r;
  r.length = std::min(length, std::min(kMaxExtentBlocks, geometry_.ag_blocks));
  r.ag = inode.ag;
  r.target = inode.block;
  const FileExtent* previous = nullptr;
  for (auto it = inode.extents.rbegin(); it != inode.extents.rend() && !previous; ++it)
    if (it->end() <= page) previous = &*it;
  const bool at_end = inode.extents.empty() || inode.extents.back().end() <= page;
  if (previous) {
    r.ag = previous->blocks.ag;
    r.target = previous->blocks.start + (page - previous->page);
    r.adjacent = at_end && previous->end() == page;
    if (r.target >= geometry_.blocks_of(r.ag)) r.target = previous->blocks.start + previous->blocks.length;
  }
  if (geometry_.stripe_unit > 0 && at_end && r.length >= geometry_.stripe_unit)
    r.alignment = params_.inputs.swalloc ? geometry_.stripe_width : geometry_.stripe_unit;
  return r;
}

/// Inode numbers above 32 bits are what inode32 avoids; on smaller file systems it changes nothing.
static bool inode32_matters(const Geometry& g) {
  const std::int64_t per_block = kBlockSize / g.inode_size;
  return g.blocks * per_block > std::int64_t{1} << 32;
}

Task<std::optional<BlockRange>> Xfs::allocate_blocks(Thread& thread, const AllocationRequest& asked) {
  AllocationRequest r = asked;
  const auto held = [this](int ag) { return groups_[static_cast<std::size_t>(ag)].agf->available() == 0; };
  const AllocationPlan plan = plan_allocation(r, allocator_.shortest_acceptable(r.ag, r.length, held));
  if (plan.exact) {
    Mutex& agf = *groups_[static_cast<std::size_t>(r.ag)].agf;
    co_await lock(thread, agf);
    if (allocator_.may_hold(r.ag, *plan.exact))
      if (const auto got = allocator_.attempt(r.ag, *plan.exact)) co_return got;
    agf.unlock();
  }
  Attempt any = plan.plain;
  any.min = 1;
  const std::optional<Attempt> stages[] = {plan.aligned, std::optional{plan.plain}, std::optional{any}};
  for (const auto& stage : stages) {
    if (!stage) continue;
    // Groups that somebody holds are passed over first, then waited for. xfs_alloc_vextent_iterate_ags().
    for (const bool wait : {false, true}) {
      bool passed_over = false;
      for (int i = 0; i < geometry_.ag_count; ++i) {
        const int ag = (r.ag + i) % geometry_.ag_count;
        if (!allocator_.may_hold(ag, *stage)) continue;
        Mutex& agf = *groups_[static_cast<std::size_t>(ag)].agf;
        if (wait) {
          co_await lock(thread, agf);
        } else if (!agf.try_lock()) {
          ++out_.groups_passed_over;
          passed_over = true;
          continue;
        }
        if (const auto got = allocator_.attempt(ag, in_group(*stage, i == 0))) co_return got;
        agf.unlock();
      }
      if (!passed_over) break;
    }
  }
  co_return std::nullopt;
}

void Xfs::add_extent(XfsInode& inode, std::int64_t page, const BlockRange& blocks) {
  auto& list = inode.extents;
  const auto after = std::lower_bound(list.begin(), list.end(), page, [](const FileExtent& e, std::int64_t p) { return e.page < p; });
  if (after != list.begin()) {
    FileExtent& before = *std::prev(after);
    if (before.end() == page && before.blocks.ag == blocks.ag && before.blocks.start + before.blocks.length == blocks.start &&
        before.blocks.length + blocks.length <= kMaxExtentBlocks) {
      before.blocks.length += blocks.length;
      return;
    }
  }
  list.insert(after, {page, blocks});
}

const FileExtent* Xfs::extent_at(const XfsInode& inode, std::int64_t page) const {
  const auto above = std::upper_bound(inode.extents.begin(), inode.extents.end(), page, [](std::int64_t p, const FileExtent& e) { return p < e.page; });
  if (above == inode.extents.begin()) return nullptr;
  const FileExtent& e = *std::prev(above);
  return page < e.end() ? &e : nullptr;
}

Sectors Xfs::sector_of(const Inode& base, std::int64_t page) const {
  const FileExtent* const e = extent_at(of(base), page);
  return e ? geometry_.sector(e->blocks.ag, e->blocks.start + (page - e->page)) : Sectors{0};
}

/// Turns a delayed range into blocks: one transaction for each piece of disk that it gets. False when the file system is
/// full. xfs_bmapi_convert_one_delalloc().
Task<bool> Xfs::convert_delayed(Thread& thread, XfsInode& inode, PageRange range) {
  while (range.pages() > 0) {
    Log::Ticket ticket;
    co_await begin(thread, Transaction::write, ticket);
    co_await lock_inode(thread, inode);
    // The writer may have closed, and trimmed, the file meanwhile.
    PageRange now = inode.delayed.next(range.first);
    now.end = std::min(now.end, std::max(range.end, now.first));
    if (now.pages() <= 0 || now.first != range.first) {
      unlock_inode(inode);
      log_.commit(ticket);
      co_return true;
    }
    AllocationRequest request = request_for(inode, now.first, now.pages());
    if (!params_.inputs.inode64 && inode.extents.empty() && inode32_matters(geometry_)) {
      request.ag = data_rotor_++ % geometry_.ag_count;
      request.target = 0;
    }
    std::optional<BlockRange> got;
    if (params_.kernel.allocation_worker) {
      // Stack depth: the flusher hands the allocation to a worker on its own core and waits for it.
      bool done = false;
      WaitQueue finished{engine_, Phase::flusher};
      queues_.queue(allocation_queue_, thread.core(), [&](Thread& worker) -> Task<> {
        got = co_await allocate_blocks(worker, request);
        co_await cpus_.run(worker, CpuMode::system, params_.costs.allocate_extent);
        done = true;
        finished.wake_all();
      });
      Blocked blocked{engine_, thread.account.lock};
      while (!done) co_await finished.wait();
    } else {
      got = co_await allocate_blocks(thread, request);
      co_await cpus_.run(thread, CpuMode::system, params_.costs.allocate_extent);
    }
    if (!got) {
      co_await fail_full(thread);
      co_return false;
    }
    // While we used the processor the close may have trimmed the end: what was allocated for it goes back.
    const PageRange still = inode.delayed.next(now.first);
    const std::int64_t wanted = still.first == now.first ? std::min(still.end, now.first + got->length) - now.first : 0;
    if (wanted < got->length) allocator_.give({got->ag, got->start + wanted, got->length - wanted});
    Mutex& agf = *groups_[static_cast<std::size_t>(got->ag)].agf;
    if (wanted > 0) {
      inode.delayed.remove({now.first, now.first + wanted});
      if (params_.kernel.unwritten_extents) inode.unwritten.add({now.first, now.first + wanted});
      add_extent(inode, now.first, {got->ag, got->start, wanted});
    }
    log_inode(inode);
    log_space_trees(got->ag);
    co_await end(thread, ticket);
    agf.unlock();
    unlock_inode(inode);
    range.first = now.first + std::max<std::int64_t>(wanted, 0);
    if (wanted == 0) co_return true;
  }
  co_return true;
}

// -- writeback -------------------------------------------------------------------------------------------------------

Task<> Xfs::write_pages(Thread& thread, Inode& base, WritebackControl& control) {
  auto& inode = static_cast<XfsInode&>(base);
  Duration cost = params_.costs.flush_inode;
  std::int64_t from = control.range_cyclic ? inode.writeback_index : 0;
  // A tagged or integrity pass writes what is dirty now, and is not led on by a writer.
  const std::int64_t end = control.wait_for_all || control.tagged ? inode.size_pages : INT64_MAX;
  IoEnd* ioend = nullptr;
  while (control.nr_to_write > 0) {
    PageRange range = inode.dirty.next(from);
    if (range.pages() == 0 || range.first >= end) {
      from = 0;
      break;
    }
    range.end = std::min({range.end, end, range.first + std::min(control.nr_to_write, max_bio_pages_)});
    const FileExtent* extent = extent_at(inode, range.first);
    if (!extent) {
      // The whole delayed extent, from its beginning and for as far as it is reserved, becomes blocks.
      const PageRange delayed = inode.delayed.around(range.first);
      SPILLWAY_CHECK(delayed.pages() > 0, "a dirty page has neither blocks nor a reservation");
      if (!co_await convert_delayed(thread, inode, delayed)) break;
      continue;
    }
    range.end = std::min(range.end, extent->end());
    const std::int64_t pages = range.pages();
    cost += params_.costs.flush_page * pages + params_.costs.submit_request;
    co_await cpus_.run(thread, CpuMode::system, cost);
    cost = Duration{0};
    // What is still dirty of it: somebody else may walk the same file, or have dropped it.
    const PageRange still = inode.dirty.next(range.first);
    extent = still.pages() > 0 && still.first < range.end ? extent_at(inode, still.first) : nullptr;
    if (!extent) {
      from = range.end;
      continue;
    }
    range = {still.first, std::min({range.end, still.end, extent->end()})};
    const std::int64_t taken = inode.dirty.remove(range);
    from = range.end;
    memory_.submitted(*inode.wb, taken, inode.writeback_pages == 0);
    inode.writeback_pages += taken;
    control.nr_to_write -= taken;
    Bio& bio = bios_.get();
    bio.owner = this;
    bio.inode = &inode;
    bio.pages = taken;
    bio.start = geometry_.sector(extent->blocks.ag, extent->blocks.start + (range.first - extent->page));
    bio.size = to_bytes(Pages{taken});
    bio.background = control.background || control.kupdate;
    bio.sync = control.wait_for_all;
    bio.file_page = range.first;
    if (params_.kernel.ioend_pages > 0) join_ioend(ioend, inode, bio);
    if (!device_.try_submit(bio)) {
      WorkerSleeps worker{queues_, thread};
      co_await device_.submit(thread, bio);
    }
  }
  close_ioend(ioend, inode);
  inode.writeback_index = from;
  if (cost.count() > 0) co_await cpus_.run(thread, CpuMode::system, cost);
}

/// iomap_can_add_to_ioend(): what lies next to it in the file and on disk, up to a number of pages.
void Xfs::join_ioend(IoEnd*& ioend, XfsInode& inode, Bio& bio) {
  const std::int64_t sector = bio.start.value(), most = params_.kernel.ioend_pages;
  if (ioend && (ioend->range.end != bio.file_page || ioend->next_sector != sector || ioend->range.pages() + bio.pages > most)) close_ioend(ioend, inode);
  if (!ioend) {
    if (free_ioends_.empty()) free_ioends_.push_back(&ioends_.emplace_back());
    ioend = free_ioends_.back();
    free_ioends_.pop_back();
    *ioend = IoEnd{.range = {bio.file_page, bio.file_page}};
  }
  ioend->range.end += bio.pages;
  ioend->next_sector = sector + bio.size / kSectorSize;
  ++ioend->outstanding;
  bio.context = ioend;
}

void Xfs::close_ioend(IoEnd*& ioend, XfsInode& inode) {
  if (!ioend) return;
  IoEnd& closed = *std::exchange(ioend, nullptr);
  closed.open = false;
  if (closed.outstanding > 0) return;
  free_ioends_.push_back(&closed);
  io_ended(inode, closed.range);
}

void Xfs::bio_done(Bio& bio) {
  auto& inode = *static_cast<XfsInode*>(bio.inode);
  const PageRange range{bio.file_page, bio.file_page + bio.pages};
  void* const context = bio.context;
  bios_.put(bio);
  if (range.pages() == 0) {  // direct I/O
    *static_cast<bool*>(context) = true;
    writeback_waiters_.wake_all();
    return;
  }
  if (!context) return io_ended(inode, range);
  IoEnd& ioend = *static_cast<IoEnd*>(context);
  if (--ioend.outstanding > 0 || ioend.open) return;
  free_ioends_.push_back(&ioend);
  io_ended(inode, ioend.range);
}

void Xfs::io_ended(XfsInode& inode, PageRange range) {
  // Blocks that are written already, inside the size on disk: writeback ends here, in the interrupt.
  const PageRange unwritten = inode.unwritten.next(range.first);
  if ((unwritten.pages() == 0 || unwritten.first >= range.end) && range.end <= inode.disk_size) {
    end_writeback(inode, range.pages());
    return;
  }
  inode.ended.add(range);
  if (inode.completing) return;
  inode.completing = true;
  queues_.queue(conversion_queue_, completion_core(), [this, &inode](Thread& worker) { return complete(worker, inode); });
}

/// One run of an inode's completion work: everything whose I/O has ended meanwhile, joined where it is contiguous in the
/// file; a transaction for each extent in it. xfs_end_io().
Task<> Xfs::complete(Thread& worker, XfsInode& inode) {
  PageRanges batch = std::exchange(inode.ended, {});
  inode.completing = false;
  for (PageRange range = batch.next(0); range.pages() > 0; range = batch.next(range.end)) {
    std::int64_t transactions = 0;
    for (std::int64_t at = range.first; at < range.end;) {
      const FileExtent* const e = extent_at(inode, at);
      at = e ? std::min(e->end(), range.end) : range.end;
      ++transactions;
    }
    const bool convert = inode.unwritten.next(range.first).pages() > 0 && inode.unwritten.next(range.first).first < range.end;
    for (std::int64_t i = 0; i < transactions; ++i) {
      Log::Ticket ticket;
      co_await begin(worker, convert ? Transaction::write : Transaction::timestamp, ticket);
      co_await lock_inode(worker, inode);
      co_await cpus_.run(worker, CpuMode::system,
                         params_.costs.complete_extent + (i == 0 ? params_.costs.complete_page * range.pages() : Duration{0}));
      inode.disk_size = std::max(inode.disk_size, range.end);
      log_inode(inode);
      co_await end(worker, ticket);
      unlock_inode(inode);
    }
    inode.unwritten.remove(range);
    end_writeback(inode, range.pages());
  }
}

void Xfs::end_writeback(XfsInode& inode, std::int64_t pages) {
  inode.writeback_pages -= pages;
  SPILLWAY_CHECK(inode.writeback_pages >= 0, "more pages of a file ended writeback than were under it");
  memory_.written(*inode.wb, pages, inode.writeback_pages == 0);
  if (!writeback_waiters_.empty()) writeback_waiters_.wake_all();
}

Task<> Xfs::wait_for_writeback(Thread& thread) {
  const std::int64_t target = memory_.written_in_all() + memory_.under_writeback();
  Blocked blocked{engine_, thread.account.device};
  while (memory_.written_in_all() < target) co_await writeback_waiters_.wait();
}

/// One write(2) after the other, each waited for: blocks for it in one transaction, the bios, the conversion in another one.
/// xfs_direct_write_iomap_begin(), xfs_dio_write_end_io(); fact sheet, section 8.
Task<> Xfs::write_direct(Thread& thread, Inode& base, std::int64_t pages) {
  auto& inode = static_cast<XfsInode&>(base);
  const std::int64_t step = std::max<std::int64_t>(to_pages_floor(params_.write_size).value(), 1);
  for (std::int64_t first = 0; first < pages; first += step) {
    const std::int64_t end = std::min(first + step, pages);
    inode.delayed.add({first, end});
    if (!co_await convert_delayed(thread, inode, {first, end})) co_return;
    inode.fs.reserved_pages = inode.size_pages = end;
    co_await cpus_.run(thread, CpuMode::system, params_.costs.submit_request);
    for (std::int64_t at = first; at < end;) {
      const FileExtent* const extent = extent_at(inode, at);
      bool done = false;
      Bio& bio = bios_.get();
      bio.owner = this;
      bio.inode = &inode;
      bio.start = geometry_.sector(extent->blocks.ag, extent->blocks.start + (at - extent->page));
      bio.size = to_bytes(Pages{std::min({end - at, max_bio_pages_, extent->end() - at})});
      bio.sync = bio.idle = true;
      bio.context = &done;
      at += to_pages_floor(bio.size).value();
      if (!device_.try_submit(bio)) co_await device_.submit(thread, bio);
      Blocked blocked{engine_, thread.account.device};
      while (!done) co_await writeback_waiters_.wait();
    }
    Log::Ticket ticket;
    co_await begin(thread, Transaction::write, ticket);
    co_await cpus_.run(thread, CpuMode::system, params_.costs.complete_extent);
    inode.unwritten.clear();
    inode.disk_size = end;
    log_inode(inode);
    co_await this->end(thread, ticket);
  }
}

Task<> Xfs::fsync(Thread& thread, Inode& base) {
  auto& inode = static_cast<XfsInode&>(base);
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
  co_await log_.force_item(thread, inode.log);
}

// -- what it found ---------------------------------------------------------------------------------------------------

FilesystemOutputs Xfs::outputs() const {
  FilesystemOutputs out = out_;
  const LogCounters& c = log_.counters();
  out.transactions = c.transactions;
  out.checkpoints = c.checkpoints;
  out.log_written = c.log_written;
  out.log_writes = c.log_writes;
  out.log_forces = c.forces;
  out.log_space_wait = c.space_wait;
  out.ail_pushes = c.ail_pushes;
  out.inode_written = c.metadata_written;
  for (const XfsInode& i : inodes_) {
    if (!i.on_disk || i.extents.empty()) continue;
    ++out.files_with_extents;
    out.extents += static_cast<std::int64_t>(i.extents.size());
  }
  for (int ag = 0; ag < geometry_.ag_count; ++ag) {
    const auto classes = allocator_.group(ag).size_classes();
    for (std::size_t c2 = 0; c2 < classes.size(); ++c2) {
      if (classes[c2] == 0) continue;
      if (out.free_extents.size() <= c2) out.free_extents.resize(c2 + 1);
      out.free_extents[c2] += classes[c2];
    }
  }
  out.free_blocks = allocator_.free_blocks();
  return out;
}

std::vector<WorkerOutputs> Xfs::workers() const {
  std::vector<WorkerOutputs> out;
  for (const WorkQueueUse& use : queues_.uses()) {
    if (use.items == 0) continue;
    WorkerOutputs w;
    w.name = use.name;
    w.cpu = use.cpu;
    w.runs = use.items;
    w.count = static_cast<int>(use.workers.size());
    w.core = use.kind == WorkKind::unbound ? -1 : use.core;
    w.high_priority = use.kind == WorkKind::bound_high;
    w.number = use.workers.empty() ? 0 : *use.workers.begin();
    out.push_back(w);
  }
  const Thread& aild = log_.daemon();
  WorkerOutputs daemon;
  daemon.name = "xfsaild";
  daemon.cpu = aild.account.cpu();
  daemon.runs = aild.voluntary_switches;
  out.push_back(daemon);
  if (const Thread* bufd = log_.buffer_daemon()) {
    daemon.name = "xfsbufd";
    daemon.cpu = bufd->account.cpu();
    daemon.runs = bufd->voluntary_switches;
    out.push_back(daemon);
  }
  return out;
}

std::string Xfs::audit() const {
  if (const std::string wrong = log_.audit(); !wrong.empty()) return wrong;
  // Every block is free, the log's, a header, an inode's, a directory's or a file's.
  std::int64_t used = 0, delayed = 0;
  for (const XfsInode& i : inodes_) {
    for (const FileExtent& e : i.extents) used += e.blocks.length;
    for (std::size_t k = 1; k < i.extents.size(); ++k)
      if (i.extents[k].page < i.extents[k - 1].end()) return "a file's extents overlap";
    delayed += i.delayed.pages();
  }
  for (const Directory& d : directories_) used += d.item.home ? d.buffer.bytes / kBlockSize : 0;
  used += static_cast<std::int64_t>(chunks_.size()) * geometry_.chunk_blocks();
  if (params_.inputs.filled == 0) {
    std::int64_t all = geometry_.blocks - geometry_.ag_count * geometry_.first_free - (geometry_.log_ag >= 0 ? geometry_.log_blocks : 0);
    if (all - used != allocator_.free_blocks())
      return "blocks are lost or given twice: " + std::to_string(all) + " usable, " + std::to_string(used) + " used, " + std::to_string(allocator_.free_blocks()) + " free";
  }
  return {};
}

}  // namespace spillway::sim::xfs
