// Xfs: directories, inodes, their allocation and end.

#include <algorithm>

#include "sim/check.hpp"
#include "sim/xfs/xfs.hpp"

namespace spillway::sim::xfs {

namespace {

enum { kAgi, kInodeTree, kFreeInodeTree, kAgf, kTreeByPlace, kTreeBySize };
/// Names that fit into the directory's inode, and into a block with its share of hash blocks. assumed: names of about 9.
constexpr std::int64_t kShortEntries = 14, kEntriesPerBlock = 120;
/// cited: an inodegc worker starts at once above one cluster, else after a tick; the remover waits above four chunks.
constexpr std::size_t kInactiveNow = 32, kInactiveWait = 256;
/// The second half of a removal. cited: 36 us of wall time a file in all, of which 20 are the removal's own.
constexpr Duration kInactivate = std::chrono::microseconds{16};

/// cited: 700 thousand commits a second on 32 CPUs under one lock, 1.6 million with a list for each CPU; fact sheet, section 7.
constexpr Duration kCommitOneLock = std::chrono::nanoseconds{1'430}, kCommit = std::chrono::nanoseconds{625};

}  // namespace

Xfs::Xfs(Engine& engine, CpuSet& cpus, DirtyMemory& memory, DeviceWriteback& wb, BlockDevice& device, BlockDevice& log_device,
         const XfsParams& params)
    : engine_(engine), cpus_(cpus), memory_(memory), wb_(wb), device_(device), params_(params),
      geometry_([&] {
        auto g = make_geometry(params.inputs);
        SPILLWAY_CHECK(g.has_value(), "validate() let a file system through that cannot be made");
        return *g;
      }()),
      allocator_(geometry_), queues_(engine, cpus),
      conversion_queue_(queues_.add(params.kernel.unwritten_extents ? "xfs-conv" : "xfs-data", WorkKind::bound, 1024)),
      sync_queue_(queues_.add("xfs-sync", WorkKind::bound)),
      inactive_queue_(queues_.add("xfs-inodegc", WorkKind::bound, 1)),
      allocation_queue_(queues_.add("xfsalloc", WorkKind::bound)),
      log_(engine, cpus, queues_, device, log_device,
           {.size = params.inputs.log_size.value(),
            .buffer_size = std::max(params.inputs.log_buffer.value(), geometry_.log_stripe_unit),
            .buffers = params.inputs.log_buffers,
            .stripe_unit = geometry_.log_stripe_unit,
            .start = geometry_.log_ag >= 0 ? geometry_.sector(geometry_.log_ag, geometry_.log_start) : Sectors{0},
            .kernel = params.kernel,
            .completion_cores = params.completion_cores}),
      max_bio_pages_(std::max<std::int64_t>(to_pages_floor(params.max_bio).value(), 1)),
      inactive_(static_cast<std::size_t>(cpus.cores())),
      writeback_waiters_(engine), ilock_waiters_(engine),
      log_timer_(engine, Phase::flusher, [this] {
        queues_.queue(sync_queue_, completion_core(), [this](Thread& worker) -> Task<> {
          co_await cpus_.run(worker, CpuMode::system, std::chrono::microseconds{20});
          log_.force_async();
          log_.push_all();
        });
        log_timer_.arm(engine_.now() + std::chrono::seconds{30});
      }) {
  allocator_.age(params.inputs.filled, engine.random("xfs.age"));
  if (params.inputs.allocsize) preallocation_.allocsize = params.inputs.allocsize->value() / kBlockSize;
  preallocation_.stripe_unit = geometry_.stripe_unit;
  preallocation_.eof_alignment = params.inputs.swalloc ? geometry_.stripe_width : geometry_.stripe_unit;
  for (int ag = 0; ag < geometry_.ag_count; ++ag) {
    Group& g = groups_.emplace_back();
    g.agi = std::make_unique<Mutex>(engine);
    g.agf = std::make_unique<Mutex>(engine);
    // Headers are single sectors of the group's first block, trees the blocks behind it.
    for (int i = 0; i < 6; ++i) {
      const bool header = i == kAgi || i == kAgf;
      g.buffers[i].at = geometry_.sector(ag, 0) + Sectors{header ? (i == kAgf ? 1 : 2) : (1 + (i > kAgf ? i - 3 : i + 2)) * 8};
      g.buffers[i].bytes = header ? 512 : 4096;
      g.buffers[i].items = {&g.items[i]};
      g.items[i].home = &g.buffers[i];
    }
  }
  log_timer_.arm(engine_.now() + std::chrono::seconds{30});
}

// -- small tools -----------------------------------------------------------------------------------------------------

Task<> Xfs::lock(Thread& thread, Mutex& mutex) {
  if (mutex.try_lock()) co_return;
  WorkerSleeps worker{queues_, thread};
  Blocked blocked{engine_, thread.account.lock};
  co_await mutex.lock();
}

Task<> Xfs::lock_inode(Thread& thread, XfsInode& inode) {
  if (inode.locked) {
    WorkerSleeps worker{queues_, thread};
    Blocked blocked{engine_, thread.account.lock};
    while (inode.locked) co_await ilock_waiters_.wait();
  }
  inode.locked = true;
}

void Xfs::unlock_inode(XfsInode& inode) {
  inode.locked = false;
  if (!ilock_waiters_.empty()) ilock_waiters_.wake_all();
}

Task<> Xfs::begin(Thread& thread, Transaction kind, Log::Ticket& ticket) {
  if (!log_.try_reserve(kind, ticket)) co_await log_.wait_for_space(thread, kind, ticket);
}

Task<> Xfs::end(Thread& thread, Log::Ticket& ticket) {
  if (log_.commit_must_wait()) co_await log_.wait_to_commit(thread);
  // Joining the checkpoint in memory is one at a time on the whole box; who comes meanwhile spins. Within the costs of the
  // calls where nobody else commits.
  const Duration spins = commits_free_at_ > engine_.now() ? commits_free_at_ - engine_.now() : Duration{0};
  commits_free_at_ = std::max(commits_free_at_, engine_.now()) + (params_.kernel.per_cpu_commits ? kCommit : kCommitOneLock);
  if (spins.count() > 0) co_await cpus_.run(thread, CpuMode::system, spins);
  log_.commit(ticket);
}

void Xfs::log_inode_trees(int ag) {
  Group& g = groups_[static_cast<std::size_t>(ag)];
  log_.log_item(g.items[kAgi], buffer_log_bytes(1));
  log_.log_item(g.items[kInodeTree], buffer_log_bytes(2));
  if (params_.inputs.finobt) log_.log_item(g.items[kFreeInodeTree], buffer_log_bytes(2));
}

void Xfs::log_space_trees(int ag) {
  Group& g = groups_[static_cast<std::size_t>(ag)];
  log_.log_item(g.items[kAgf], buffer_log_bytes(1));
  log_.log_item(g.items[kTreeByPlace], buffer_log_bytes(2));
  log_.log_item(g.items[kTreeBySize], buffer_log_bytes(2));
}

// -- inodes ----------------------------------------------------------------------------------------------------------

/// 64 inodes: right behind the newest chunk, else near the group's front, on a stripe unit where there are stripes.
/// xfs_ialloc_ag_alloc().
bool Xfs::new_chunk(int ag) {
  Group& g = groups_[static_cast<std::size_t>(ag)];
  const std::int64_t blocks = geometry_.chunk_blocks();
  std::optional<BlockRange> got;
  const auto attempt = [&](Attempt::How how, AgBlock target, std::int64_t alignment) {
    const Attempt a{how, target, blocks, blocks, alignment, 0, false};
    if (!got && allocator_.may_hold(ag, a)) got = allocator_.attempt(ag, a);
  };
  if (g.newest_chunk >= 0) attempt(Attempt::How::exact, g.newest_chunk + blocks, 1);
  if (geometry_.stripe_unit > 0 && geometry_.stripe_unit % blocks == 0) attempt(Attempt::How::near, geometry_.first_free, geometry_.stripe_unit);
  attempt(Attempt::How::near, geometry_.first_free, blocks);
  if (!got) return false;
  g.newest_chunk = got->start;
  const auto number = static_cast<std::int32_t>(chunks_.size());
  Chunk& chunk = chunks_.emplace_back();
  chunk.ag = ag;
  chunk.start = got->start;
  for (int i = 0; i < 2; ++i) {
    chunk.clusters[i].at = geometry_.sector(ag, got->start) + Sectors{i * geometry_.cluster_bytes() / kSectorSize.value()};
    chunk.clusters[i].bytes = geometry_.cluster_bytes();
  }
  for (std::int32_t i = 0; i < kInodesPerChunk; ++i) g.free_inodes.insert(number * static_cast<std::int32_t>(kInodesPerChunk) + i);
  log_space_trees(ag);
  return true;
}

void Xfs::bind_slot(XfsInode& inode, std::int32_t slot) {
  Chunk& chunk = chunks_[static_cast<std::size_t>(slot / kInodesPerChunk)];
  MetaBuffer& cluster = chunk.clusters[slot % kInodesPerChunk / kInodesPerCluster];
  inode.slot = slot;
  inode.ag = chunk.ag;
  inode.block = chunk.start + slot % kInodesPerChunk * geometry_.inode_size / kBlockSize;
  inode.on_disk = true;
  inode.log.home = &cluster;
  cluster.items.push_back(&inode.log);
  ++chunk.used;
}

/// Takes a free inode of the group, or of the next that has one or can make some. The AGI stays locked.
Task<XfsInode*> Xfs::allocate_inode(Thread& thread, int ag, bool directory) {
  if (directory) ag = directory_rotor_++ % geometry_.ag_count;
  for (int i = 0; i < geometry_.ag_count; ++i) {
    const int at = (ag + i) % geometry_.ag_count;
    Group& g = groups_[static_cast<std::size_t>(at)];
    co_await lock(thread, *g.agi);
    if (g.free_inodes.empty()) {
      co_await lock(thread, *g.agf);
      new_chunk(at);
      g.agf->unlock();
    }
    if (g.free_inodes.empty()) {
      g.agi->unlock();
      continue;
    }
    const std::int32_t slot = *g.free_inodes.begin();
    g.free_inodes.erase(g.free_inodes.begin());
    XfsInode& inode = inodes_.emplace_back();
    inode.id = static_cast<std::int32_t>(inodes_.size());
    inode.wb = &wb_;
    bind_slot(inode, slot);
    inode.fs.allocation_group = at;
    co_return &inode;
  }
  co_await fail_full(thread);
  co_return nullptr;
}

Task<std::int32_t> Xfs::make_directory(Thread& thread) {
  Log::Ticket ticket;
  co_await begin(thread, Transaction::create, ticket);
  XfsInode* const inode = co_await allocate_inode(thread, 0, true);
  co_await cpus_.run(thread, CpuMode::system, params_.costs.make_directory);
  log_inode(*inode);
  log_inode_trees(inode->ag);
  groups_[static_cast<std::size_t>(inode->ag)].agi->unlock();
  co_await end(thread, ticket);
  const auto number = static_cast<std::int32_t>(directories_.size());
  Directory& d = directories_.emplace_back();
  d.lock = std::make_unique<Mutex>(engine_);
  d.inode = inode;
  d.buffer.items = {&d.item};
  d.buffer.bytes = 0;
  co_return number;
}

Task<Inode*> Xfs::create(Thread& thread, std::int32_t directory) {
  Directory& parent = directories_[static_cast<std::size_t>(directory)];
  co_await lock(thread, *parent.lock);
  Log::Ticket ticket;
  co_await begin(thread, Transaction::create, ticket);
  XfsInode* const inode = co_await allocate_inode(thread, parent.inode->ag, false);
  co_await cpus_.run(thread, CpuMode::system, params_.costs.create_file);
  inode->directory = directory;
  ++out_.files;
  log_inode(*inode);
  log_inode(*parent.inode);
  log_inode_trees(inode->ag);
  ++parent.entries;
  if (parent.entries > kShortEntries) {
    if (parent.entries / kEntriesPerBlock * kBlockSize >= parent.buffer.bytes) {
      // A block more. They are written back as one piece at the first one's place.
      const Attempt a{Attempt::How::near, parent.inode->block, 1, 1, 1, 0, false};
      if (const auto block = allocator_.attempt(parent.inode->ag, a)) {
        if (!parent.item.home) parent.buffer.at = geometry_.sector(block->ag, block->start);
        parent.item.home = &parent.buffer;
        parent.buffer.bytes += kBlockSize;
        log_space_trees(block->ag);
      }
    }
    if (parent.item.home) log_.log_growth(parent.item, buffer_log_bytes(3), kDirectoryEntryBytes);
  }
  co_await end(thread, ticket);
  groups_[static_cast<std::size_t>(inode->ag)].agi->unlock();
  parent.lock->unlock();
  co_return inode;
}

Task<> Xfs::unlink(Thread& thread, Inode& base) {
  auto& inode = static_cast<XfsInode&>(base);
  Directory& parent = directories_[static_cast<std::size_t>(inode.directory)];
  co_await lock(thread, *parent.lock);
  Log::Ticket ticket;
  co_await begin(thread, Transaction::remove, ticket);
  Group& g = groups_[static_cast<std::size_t>(inode.ag)];
  co_await lock(thread, *g.agi);  // the list of unlinked inodes hangs on it
  co_await cpus_.run(thread, CpuMode::system, params_.costs.unlink_file);
  log_inode(inode);
  log_inode(*parent.inode);
  log_.log_item(g.items[kAgi], buffer_log_bytes(2));
  --parent.entries;
  if (parent.item.home) log_.log_growth(parent.item, buffer_log_bytes(3), kDirectoryEntryBytes);
  co_await end(thread, ticket);
  g.agi->unlock();
  parent.lock->unlock();
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
  if (params_.kernel.deferred_inactivation) co_await inactivate_later(thread, inode);
  else co_await inactivate(thread, inode);
}

Task<> Xfs::inactivate_later(Thread& thread, XfsInode& inode) {
  Inactive& mine = inactive_[static_cast<std::size_t>(thread.core())];
  mine.inodes.push_back(&inode);
  if (!mine.drained) mine.drained = std::make_unique<WaitQueue>(engine_);
  const int core = thread.core();
  if (!mine.queued) {
    mine.queued = true;
    const auto start = [](Xfs& self, int on) -> Task<> {
      // A tick later, unless a cluster's worth waits by then: then as soon as that is noticed.
      if (self.inactive_[static_cast<std::size_t>(on)].inodes.size() <= kInactiveNow)
        co_await self.engine_.sleep(Duration{1'000'000'000 / self.params_.hz}, Phase::flusher);
      self.queues_.queue(self.inactive_queue_, on, [&self, on](Thread& worker) -> Task<> {
        Inactive& list = self.inactive_[static_cast<std::size_t>(on)];
        while (!list.inodes.empty()) {
          std::vector<XfsInode*> batch;
          batch.swap(list.inodes);
          for (XfsInode* i : batch) co_await self.inactivate(worker, *i);
          list.drained->wake_all();
        }
        list.queued = false;
      });
    };
    engine_.spawn(start(*this, core), Phase::flusher);
  }
  if (mine.inodes.size() > kInactiveWait) {
    Blocked blocked{engine_, thread.account.lock};
    while (mine.inodes.size() > kInactiveWait) co_await mine.drained->wait();
  }
}

/// Truncates and frees an unlinked inode. xfs_inactive().
Task<> Xfs::inactivate(Thread& thread, XfsInode& inode) {
  Log::Ticket ticket;
  if (!inode.extents.empty()) {
    co_await begin(thread, Transaction::itruncate, ticket);
    const int ag = inode.extents.front().blocks.ag;
    Group& g = groups_[static_cast<std::size_t>(ag)];
    co_await lock(thread, *g.agf);
    co_await cpus_.run(thread, CpuMode::system, kInactivate / 2);
    trim(inode, 0);
    log_inode(inode);
    co_await end(thread, ticket);
    g.agf->unlock();
  }
  co_await begin(thread, Transaction::ifree, ticket);
  Group& g = groups_[static_cast<std::size_t>(inode.ag)];
  co_await lock(thread, *g.agi);
  co_await cpus_.run(thread, CpuMode::system, kInactivate / 2);
  log_inode(inode);
  log_inode_trees(inode.ag);
  free_inode(inode);
  co_await end(thread, ticket);
  g.agi->unlock();
}

/// The inode's place is free for another; what the log still holds of it needs no writing back.
void Xfs::free_inode(XfsInode& inode) {
  log_.forget(inode.log);
  auto& items = inode.log.home->items;
  items.erase(std::find(items.begin(), items.end(), &inode.log));
  inode.log.home = nullptr;
  inode.on_disk = false;
  --chunks_[static_cast<std::size_t>(inode.slot / kInodesPerChunk)].used;
  groups_[static_cast<std::size_t>(inode.ag)].free_inodes.insert(inode.slot);
}

Task<> Xfs::fail_full(Thread& thread) {
  if (failure_.empty()) failure_ = "the simulated file system is full: make filesystem.size larger, or filled smaller";
  engine_.stop();
  Blocked blocked{engine_, thread.account.device};
  for (;;) co_await engine_.sleep(std::chrono::hours{1});
}

}  // namespace spillway::sim::xfs
