#include "sim/xfs/log.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/check.hpp"

namespace spillway::sim::xfs {

namespace {

constexpr std::int64_t kSoftLimit = 32 * kMiB;      // cited: XLOG_CIL_SPACE_LIMIT
constexpr std::int64_t kMetaWrite = 1 * kMiB;       // assumed: neighbouring buffers become one write of at most this
constexpr std::int64_t kStuckItems = 100;           // cited: xfsaild_push() gives up a scan after so many
constexpr int kPushesAtOnce = 4;                    // cited: max_active of xfs-cil

std::int64_t round_up(std::int64_t n, std::int64_t unit) { return (n + unit - 1) / unit * unit; }

}  // namespace

Log::Log(Engine& engine, CpuSet& cpus, WorkQueues& queues, BlockDevice& device, BlockDevice& log_device, const LogParams& params)
    : engine_(engine), cpus_(cpus), queues_(queues), device_(device), log_device_(log_device), params_(params),
      soft_limit_(std::min(params.size / 8, kSoftLimit)),
      cil_queue_(queues.add("xfs-cil", WorkKind::unbound, kPushesAtOnce)),
      log_queue_(queues.add("xfs-log", WorkKind::bound_high)),
      buf_queue_(queues.add("xfs-buf", WorkKind::bound, 1)),
      space_waiters_(engine), commit_waiters_(engine), buffer_waiters_(engine, Phase::flusher), order_waiters_(engine, Phase::flusher),
      force_waiters_(engine),
      aild_wake_(engine, Phase::flusher), aild_(cpus.new_thread("xfsaild")) {
  const auto& k = params_.kernel;
  if (k.since_major < 3 || (k.since_major == 3 && k.since_minor < 5)) bufd_ = &cpus.new_thread("xfsbufd");
  engine_.spawn(daemon_loop(), Phase::flusher);
}

// -- space -----------------------------------------------------------------------------------------------------------

bool Log::try_reserve(Transaction kind, Ticket& ticket) {
  const std::int64_t need = reservation(kind, params_.stripe_unit);
  if (!needs_.empty() || free_space() < need) return false;
  reserved_ += need;
  ticket.reserved = need;
  return true;
}

Task<> Log::wait_for_space(Thread& thread, Transaction kind, Ticket& ticket) {
  const std::int64_t need = reservation(kind, params_.stripe_unit);
  ++counters_.space_waits;
  const SimTime began = engine_.now();
  needs_.push_back(need);
  ticket.reserved = need;
  push_all();
  {
    WorkerSleeps worker{queues_, thread};
    Blocked blocked{engine_, thread.account.log};
    co_await space_waiters_.wait();  // whoever wakes us has taken the space for us: grant()
  }
  counters_.space_wait += engine_.now() - began;
}

void Log::grant() {
  while (!needs_.empty() && free_space() >= needs_.front()) {
    reserved_ += needs_.front();
    needs_.pop_front();
    space_waiters_.wake_one();
  }
}

// -- the checkpoint in memory ----------------------------------------------------------------------------------------

Task<> Log::wait_to_commit(Thread& thread) {
  WorkerSleeps worker{queues_, thread};
  Blocked blocked{engine_, thread.account.log};
  while (commit_must_wait()) {
    if (!switching_) request_push();
    co_await commit_waiters_.wait();
  }
}

void Log::log_item(LogItem& item, std::int64_t bytes) {
  if (item.checkpoint != current_) {
    item.checkpoint = current_;
    item.logged_bytes = 0;
    ++item.pins;
    cil_items_.push_back(&item);
  }
  // A newer copy takes the older one's place: only growth counts.
  if (bytes > item.logged_bytes) {
    cil_bytes_ += bytes - item.logged_bytes;
    item.logged_bytes = static_cast<std::int32_t>(bytes);
  }
}

void Log::log_growth(LogItem& item, std::int64_t whole, std::int64_t growth) {
  log_item(item, item.checkpoint == current_ ? item.logged_bytes + growth : whole);
}

void Log::commit(Ticket& ticket) {
  ++counters_.transactions;
  reserved_ -= ticket.reserved;
  ticket.reserved = 0;
  if (cil_bytes_ >= soft_limit_) request_push();
  if (!needs_.empty()) grant();
}

void Log::force_async() { request_push(); }

void Log::request_push() {
  if (cil_items_.empty() || push_queued_) return;
  push_queued_ = true;
  queues_.queue(cil_queue_, 0, [this](Thread& worker) { return push_work(worker); });
}

Task<> Log::push_work(Thread& worker) {
  if (cil_items_.empty()) {
    push_queued_ = false;
    co_return;
  }
  // Nobody commits while the checkpoint is switched.
  switching_ = true;
  const auto items = static_cast<std::int64_t>(cil_items_.size());
  const bool all_at_once = params_.kernel.since_major < 6 && params_.kernel.name != "6.1";
  co_await cpus_.run(worker, CpuMode::system, (params_.item_chain + (all_at_once ? params_.item_write : Duration{0})) * items);
  ++counters_.checkpoints;
  Checkpoint& checkpoint = checkpoints_.emplace_back();
  checkpoint.number = current_++;
  checkpoint.bytes = cil_bytes_;
  checkpoint.items = std::move(cil_items_);
  cil_items_ = {};
  // Its place in the log is taken in one piece; the checkpoint's own space becomes that.
  checkpoint.begin = head_;
  checkpoint.end = head_ += round_up(checkpoint_log_bytes(checkpoint.bytes), params_.stripe_unit);
  cil_bytes_ = 0;
  switching_ = false;
  push_queued_ = false;  // the next one may be switched while this one is being written
  commit_waiters_.wake_all();
  if (!all_at_once) co_await cpus_.run(worker, CpuMode::system, params_.item_write * items);
  while (next_to_write_ != checkpoint.number) {
    WorkerSleeps sleeps{queues_, worker};
    Blocked blocked{engine_, worker.account.log};
    co_await order_waiters_.wait();
  }
  co_await write_checkpoint(worker, checkpoint);
  ++next_to_write_;
  order_waiters_.wake_all();
}

Task<> Log::submit(Thread& thread, BlockDevice& device, Bio& bio) {
  if (device.try_submit(bio)) co_return;
  WorkerSleeps worker{queues_, thread};
  co_await device.submit(thread, bio);
}

Task<> Log::write_checkpoint(Thread& worker, Checkpoint& checkpoint) {
  const std::int64_t length = checkpoint.end - checkpoint.begin;
  const std::int64_t writes = (length + params_.buffer_size - 1) / params_.buffer_size;
  checkpoint.buffers_left = static_cast<int>(writes);
  counters_.log_written += Bytes{length};
  for (std::int64_t i = 0; i < writes; ++i) {
    const bool last = i + 1 == writes;
    while (buffers_in_flight_ >= params_.buffers ||
           // The last one is ordered behind the others: they must be on disk before its flush begins.
           (last && writes > 1 && params_.kernel.one_flush_per_checkpoint && checkpoint.buffers_left > 1)) {
      WorkerSleeps sleeps{queues_, worker};
      Blocked blocked{engine_, worker.account.log};
      co_await buffer_waiters_.wait();
    }
    co_await cpus_.run(worker, CpuMode::system, params_.log_write);
    const std::int64_t at = (checkpoint.begin + i * params_.buffer_size) % params_.size;
    Bio& bio = bios_.get();
    bio.owner = this;
    bio.size = Bytes{std::min(params_.buffer_size, length - i * params_.buffer_size)};
    // What would reach over the log's end is written at its start.
    bio.start = params_.start + Sectors{(at + bio.size.value() > params_.size ? 0 : at) / kSectorSize.value()};
    bio.meta = bio.sync = bio.idle = true;
    if (log_device_.volatile_cache()) {
      bio.fua = last || !params_.kernel.one_flush_per_checkpoint;
      bio.flush = bio.fua && (writes > 1 || !params_.kernel.one_flush_per_checkpoint);
    }
    bio.context = &checkpoint;
    ++buffers_in_flight_;
    ++counters_.log_writes;
    if (last) checkpoint.written = true;
    co_await submit(worker, log_device_, bio);
  }
}

void Log::bio_done(Bio& bio) {
  if (bio.pages == 0) {  // a log buffer
    auto& checkpoint = *static_cast<Checkpoint*>(bio.context);
    bios_.put(bio);
    --buffers_in_flight_;
    --checkpoint.buffers_left;
    buffer_waiters_.wake_all();
    if (checkpoint.written && checkpoint.buffers_left == 0) finish_checkpoints();
    return;
  }
  auto* const write = static_cast<Write*>(bio.context);
  bios_.put(bio);
  queues_.queue(buf_queue_, completion_core(), [this, write](Thread& worker) -> Task<> {
    std::int64_t items = 0;
    for (const MetaBuffer* b : write->buffers) items += static_cast<std::int64_t>(b->items.size());
    co_await cpus_.run(worker, CpuMode::system, params_.item_insert * items);
    for (MetaBuffer* b : write->buffers) {
      b->writing = false;
      for (LogItem* item : b->items) {
        // Logged and inserted again meanwhile: it stays, at its new place.
        if (item->flushed != 0 && item->flushed == item->ail) leave_place(*item);
        item->flushed = 0;
      }
    }
    meta_in_flight_ -= static_cast<std::int64_t>(write->buffers.size());
    free_writes_.push_back(write);
    move_tail();
    grant();
    if (meta_in_flight_ == 0) {
      aild_woken_ = true;
      aild_wake_.wake_all();
    }
  });
}

/// Checkpoints come into the AIL in their order.
void Log::finish_checkpoints() {
  if (checkpoints_.empty()) return;
  Checkpoint& c = checkpoints_.front();
  if (!c.written || c.buffers_left > 0 || c.processing) return;
  c.processing = true;
  queues_.queue(log_queue_, completion_core(), [this, &c](Thread& worker) { return insert_work(worker, c); });
}

Task<> Log::insert_work(Thread& worker, Checkpoint& checkpoint) {
  co_await cpus_.run(worker, CpuMode::system, params_.item_insert * static_cast<std::int64_t>(checkpoint.items.size()));
  insert_into_ail(checkpoint);
  SPILLWAY_CHECK(checkpoints_.front().number == checkpoint.number, "checkpoints came into the AIL out of order");
  checkpoints_.pop_front();
  engine_.note_progress();
  move_tail();
  grant();
  force_waiters_.wake_all();
  aild_woken_ = true;
  aild_wake_.wake_all();
  finish_checkpoints();
}

void Log::insert_into_ail(Checkpoint& checkpoint) {
  on_disk_ = checkpoint.number;
  Place& place = places_.emplace_back();
  place.number = checkpoint.number;
  place.begin = checkpoint.begin;
  for (LogItem* item : checkpoint.items) {
    --item->pins;
    if (!item->home) continue;  // gone: a freed inode or block
    if (item->ail != 0) leave_place(*item);
    item->ail = checkpoint.number;
    ++place.live;
    ++ail_items_;
    place.items.push_back(item);
  }
}

// -- the AIL ---------------------------------------------------------------------------------------------------------

Log::Place* Log::place_of(std::uint32_t number) {
  if (places_.empty() || number < places_.front().number || number > places_.back().number) return nullptr;
  const auto found = std::lower_bound(places_.begin(), places_.end(), number, [](const Place& p, std::uint32_t n) { return p.number < n; });
  return found != places_.end() && found->number == number ? &*found : nullptr;
}

void Log::leave_place(LogItem& item) {
  Place* const place = place_of(item.ail);
  SPILLWAY_CHECK(place && place->live > 0, "an item is at a place of the AIL that does not exist");
  --place->live;
  --ail_items_;
  item.ail = 0;
}

void Log::forget(LogItem& item) {
  if (item.ail == 0) return;
  leave_place(item);
  item.flushed = 0;
  move_tail();
  grant();
}

void Log::move_tail() {
  while (!places_.empty() && places_.front().live == 0) places_.pop_front();
  tail_ = !places_.empty() ? places_.front().begin : !checkpoints_.empty() ? checkpoints_.front().begin : head_;
}

void Log::push_all() {
  push_all_to_ = std::max(push_all_to_, places_.empty() ? head_ : places_.back().begin + 1);
  // Nothing to write back, yet no space: it is in the checkpoint, or on its way.
  if (ail_items_ == 0) request_push();
  aild_woken_ = true;
  aild_wake_.wake_all();
}

Task<> Log::daemon_loop() {
  for (;;) {
    // The target: what somebody asked for, or the oldest quarter when less than a quarter is free.
    std::int64_t target = push_all_to_;
    if (params_.size - (head_ - tail_) < params_.size / 4) target = std::max(target, tail_ + params_.size / 4);
    if (!needs_.empty() && !places_.empty()) target = std::max(target, places_.back().begin + 1);
    std::int64_t started = 0;
    if (ail_items_ > 0 && places_.front().begin < target) started = co_await push_tail(target);
    if (started > 0 || aild_woken_) {
      aild_woken_ = false;
      if (started > 0) continue;
    }
    if (!needs_.empty() && ail_items_ == 0) request_push();
    while (!aild_woken_) co_await aild_wake_.wait();
    aild_woken_ = false;
  }
}

Task<std::int64_t> Log::push_tail(std::int64_t target) {
  std::vector<MetaBuffer*> buffers;
  std::int64_t items = 0, stuck = 0;
  for (std::size_t i = 0; i < places_.size() && places_[i].begin < target && stuck <= kStuckItems; ++i) {
    Place& place = places_[i];
    if (place.live == 0) continue;
    std::erase_if(place.items, [&](const LogItem* item) { return item->ail != place.number; });
    for (LogItem* item : place.items) {
      if (item->flushed != 0 || item->home->writing) continue;
      if (item->pins > 0) {
        if (++stuck > kStuckItems) break;
        continue;
      }
      MetaBuffer& buffer = *item->home;
      buffer.writing = true;
      for (LogItem* other : buffer.items)
        if (other->ail != 0 && other->pins == 0) {
          other->flushed = other->ail;
          ++items;
        }
      buffers.push_back(&buffer);
    }
  }
  // Pinned items wait for their checkpoint.
  if (stuck > 0) request_push();
  if (buffers.empty()) co_return 0;
  ++counters_.ail_pushes;
  counters_.items_written_back += items;
  meta_in_flight_ += static_cast<std::int64_t>(buffers.size());
  std::sort(buffers.begin(), buffers.end(), [](const MetaBuffer* a, const MetaBuffer* b) { return a->at < b->at; });
  Thread& writer = bufd_ ? *bufd_ : aild_;
  co_await cpus_.run(aild_, CpuMode::system, params_.item_writeback * items);
  co_await cpus_.run(writer, CpuMode::system, params_.buffer_writeback * static_cast<std::int64_t>(buffers.size()));
  for (std::size_t i = 0; i < buffers.size();) {
    if (free_writes_.empty()) free_writes_.push_back(&writes_.emplace_back());
    Write* const write = free_writes_.back();
    free_writes_.pop_back();
    write->buffers.clear();
    Bytes size{0};
    Sectors next = buffers[i]->at;
    const Sectors start = next;
    while (i < buffers.size() && buffers[i]->at == next && size.value() < kMetaWrite) {
      write->buffers.push_back(buffers[i]);
      size += Bytes{buffers[i]->bytes};
      next += Sectors{buffers[i]->bytes / kSectorSize.value()};
      ++i;
    }
    Bio& bio = bios_.get();
    bio.owner = this;
    bio.start = start;
    bio.size = size;
    bio.pages = -1;  // tells it from a log buffer
    bio.meta = true;
    bio.context = write;
    counters_.metadata_written += size;
    co_await submit(writer, device_, bio);
  }
  co_return static_cast<std::int64_t>(buffers.size());
}

// -- forcing ---------------------------------------------------------------------------------------------------------

Task<> Log::force_to(Thread& thread, std::uint32_t number) {
  if (number == 0 || number <= on_disk_) co_return;
  if (number == current_ && cil_items_.empty()) {
    if (checkpoints_.empty()) co_return;
    number = checkpoints_.back().number;
  }
  ++counters_.forces;
  WorkerSleeps worker{queues_, thread};
  Blocked blocked{engine_, thread.account.log};
  while (on_disk_ < number) {
    if (current_ == number) request_push();
    co_await force_waiters_.wait();
  }
}

std::string Log::audit() const {
  std::int64_t live = 0;
  for (const Place& p : places_) live += p.live;
  if (live != ail_items_) return fmt::format("the AIL's places hold {} items and the AIL {}", live, ail_items_);
  if (reserved_ < 0 || cil_bytes_ < 0 || tail_ > head_) return fmt::format("log space below nothing: reserved {}, in memory {}, tail {}, head {}", reserved_, cil_bytes_, tail_, head_);
  if (idle() && needs_.empty() && reserved_ == 0 && free_space() != params_.size) return fmt::format("an idle log has {} of {} bytes free", free_space(), params_.size);
  if (idle() && !needs_.empty()) return fmt::format("{} tasks wait for space of an idle log", needs_.size());
  return {};
}

}  // namespace spillway::sim::xfs
