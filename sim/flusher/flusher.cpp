#include "sim/flusher/flusher.hpp"

#include <algorithm>
#include <limits>

namespace spillway::sim {

namespace {

constexpr std::int64_t kEverything = std::numeric_limits<std::int64_t>::max() / 2;

}  // namespace

std::int64_t writeback_chunk(KernelWord avg_write_bandwidth, KernelWord dirty_limit, std::int64_t work_pages, std::int64_t min_pages) {
  const auto wanted = static_cast<std::int64_t>(std::min(avg_write_bandwidth / 2, dirty_limit / 8));
  const std::int64_t pages = std::min(wanted, work_pages);
  return (pages + min_pages) / min_pages * min_pages;
}

Flusher::Flusher(Engine& engine, CpuSet& cpus, DirtyMemory& memory, DeviceWriteback& wb, FileSystem& files,
                 FlusherParams params)
    : engine_(engine),
      cpus_(cpus),
      memory_(memory),
      wb_(wb),
      files_(files),
      params_(params),
      thread_(cpus.new_thread("flush", params.core)),
      wake_queue_(engine, Phase::flusher),
      delayed_(engine, Phase::flusher, [this] { wake(); }),
      last_old_flush_(memory.clock().jiffies(engine.now())) {
  wb_.wake_flusher = [this] { wake(); };
  engine_.spawn(worker(), Phase::flusher);
}

Jiffies Flusher::ticks(Duration d) const {
  return (d.count() * memory_.clock().hz() + 999'999'999) / 1'000'000'000;
}

// -- wake-ups --------------------------------------------------------------------------------------------------------

void Flusher::wake() {
  delayed_.cancel();
  if (pending_) return;
  pending_ = true;
  wake_queue_.wake_all();
}

void Flusher::arm_delayed() {
  if (params_.writeback_interval.count() <= 0 || delayed_.pending() || pending_) return;
  delayed_.arm(memory_.clock().timeout_ends(engine_.now(), ticks(params_.writeback_interval)));
}

void Flusher::inode_dirtied(Inode& inode) {
  if (inode.list != InodeListName::none || inode.being_synced) return;
  const bool first = !has_dirty_io();
  inode.dirtied_when = now();
  b_dirty_.push_front(inode);
  if (first) arm_delayed();
}

void Flusher::forget(Inode& inode) {
  switch (inode.list) {
    case InodeListName::b_dirty: b_dirty_.remove(inode); break;
    case InodeListName::b_io: b_io_.remove(inode); break;
    case InodeListName::b_more_io: b_more_io_.remove(inode); break;
    case InodeListName::none: break;
  }
}

// -- lists -----------------------------------------------------------------------------------------------------------

void Flusher::queue_io(Jiffies dirtied_before) {
  // What had used up its slice goes first, in its old order; then the expired, oldest first.
  while (Inode* inode = b_more_io_.back()) {
    b_more_io_.remove(*inode);
    b_io_.push_front(*inode);
  }
  while (Inode* inode = b_dirty_.back()) {
    if (inode->dirtied_when > dirtied_before) break;
    b_dirty_.remove(*inode);
    b_io_.push_front(*inode);
  }
}

void Flusher::redirty_tail(Inode& inode) {
  if (const Inode* newest = b_dirty_.front(); newest && inode.dirtied_when < newest->dirtied_when)
    inode.dirtied_when = now();
  b_dirty_.push_front(inode);
}

void Flusher::requeue(Inode& inode, const WritebackControl& control, Jiffies dirtied_before) {
  const bool still_dirty = !inode.dirty.empty();
  if (still_dirty && (control.wait_for_all || control.tagged)) inode.dirtied_when = now();
  if (!still_dirty) return;
  if (control.pages_skipped == 0 && control.nr_to_write <= 0 && inode.dirtied_when <= dirtied_before)
    b_more_io_.push_front(inode);  // its slice is used up: next turn
  else
    redirty_tail(inode);
}

// -- the worker ------------------------------------------------------------------------------------------------------

Task<> Flusher::worker() {
  for (;;) {
    while (!pending_) co_await wake_queue_.wait();
    pending_ = false;
    wb_.flusher_running = true;
    co_await engine_.sleep(params_.wake_latency, Phase::flusher);
    ++passes_;
    co_await do_writeback();
    wb_.flusher_running = false;
    if (!work_list_.empty()) wake();
    else if (has_dirty_io()) arm_delayed();
  }
}

Task<> Flusher::do_writeback() {
  co_await cpus_.run(thread_, CpuMode::system, params_.inode_cost);
  while (!work_list_.empty()) {
    Work work = work_list_.front();
    work_list_.pop_front();
    co_await write_back(work);
    if (work.left && --*work.left == 0) work.waiter->wake_all();
  }
  const Jiffies interval = ticks(params_.writeback_interval);
  if (interval > 0 && now() >= last_old_flush_ + interval) {
    last_old_flush_ = now();
    Work old;
    old.nr_pages = memory_.file_dirty() + b_dirty_.size() + b_io_.size() + b_more_io_.size();
    old.for_kupdate = old.range_cyclic = true;
    if (old.nr_pages > 0) co_await write_back(old);
  }
  if (memory_.over_background(wb_)) {
    Work background;
    background.nr_pages = kEverything;
    background.for_background = background.range_cyclic = true;
    co_await write_back(background);
  }
}

Task<> Flusher::write_back(Work& work) {
  Jiffies dirtied_before = now();
  bool queued = false;
  while (work.nr_pages > 0) {
    if ((work.for_background || work.for_kupdate) && !work_list_.empty()) break;
    if (work.for_background && !memory_.over_background(wb_)) break;
    if (b_io_.empty()) {
      if (work.for_kupdate) dirtied_before = now() - ticks(params_.dirty_expire);
      else if (work.for_background) dirtied_before = now();
      queue_io(dirtied_before);
      queued = true;
    }
    const bool progress = co_await write_inodes(thread_, work, dirtied_before);
    if (progress || (!queued && !params_.kernel.requeue_only_on_progress)) continue;
    if (b_more_io_.empty()) break;
    // Only files that somebody else is visiting are left: look again a tick later.
    co_await engine_.sleep(memory_.clock().tick(), Phase::flusher);
  }
}

Task<bool> Flusher::write_inodes(Thread& thread, Work& work, Jiffies dirtied_before) {
  const Jiffies began = now();
  std::int64_t wrote_in_all = 0;
  while (Inode* inode = b_io_.back()) {
    b_io_.remove(*inode);
    if (inode->being_synced) {  // somebody else is visiting it: next turn
      b_more_io_.push_front(*inode);
      continue;
    }
    WritebackControl control;
    const std::int64_t chunk =
        work.sync_all || work.tagged
            ? kEverything
            : work.by_caller ? work.nr_pages
            : params_.kernel.slice_by_bandwidth
                  ? writeback_chunk(wb_.estimate.avg_write_bandwidth, memory_.dirty_limit(), work.nr_pages, params_.kernel.constants.min_writeback_pages)
                  : static_cast<std::int64_t>(kMinWritebackPages);
    control.nr_to_write = chunk;
    control.wait_for_all = work.sync_all;
    control.tagged = work.tagged;
    control.range_cyclic = work.range_cyclic;
    control.background = work.for_background;
    control.kupdate = work.for_kupdate;

    inode->being_synced = true;
    memory_.estimate_start(wb_);
    co_await files_.write_pages(thread, *inode, control);
    memory_.estimate_update(wb_);
    inode->being_synced = false;

    const std::int64_t wrote = chunk - control.nr_to_write;
    work.nr_pages -= wrote;
    wrote_in_all += std::max<std::int64_t>(wrote - control.pages_skipped, 0);
    if (inode->dirty.empty()) ++wrote_in_all;  // an inode made clean is progress too
    requeue(*inode, control, dirtied_before);
    if (wrote_in_all > 0 && (now() > began + std::max(memory_.clock().hz() / 10, 1) || work.nr_pages <= 0)) break;
  }
  co_return wrote_in_all > 0;
}

void Flusher::queue_sync(bool all, int& left, WaitQueue& waiter) {
  Work work;
  work.nr_pages = all ? kEverything : memory_.file_dirty() + b_dirty_.size() + b_io_.size() + b_more_io_.size();
  work.sync_all = all;
  work.tagged = !all;
  work.left = &left;
  work.waiter = &waiter;
  work_list_.push_back(work);
  wake();
}

Task<std::int64_t> Flusher::write_for(Thread& caller, std::int64_t pages) {
  Work work;
  work.nr_pages = pages;
  work.range_cyclic = work.by_caller = true;
  if (b_io_.empty()) queue_io(now());
  co_await write_inodes(caller, work, now());
  co_return pages - work.nr_pages;
}

}  // namespace spillway::sim
