#include "sim/engine/engine.hpp"

#include <fmt/format.h>

#include "sim/check.hpp"

namespace spillway::sim {

namespace {

constexpr std::uint64_t kTicketMask = (1ULL << 56) - 1;

/// A permutation of 56-bit numbers: distinct tickets stay distinct, so the order stays total.
std::uint64_t permute(std::uint64_t ticket, std::uint64_t key) {
  std::uint64_t x = (ticket ^ key) & kTicketMask;
  x = (x * 0x9e3779b97f4a7c15ULL) & kTicketMask;
  x ^= x >> 28;
  x = (x * 0xbf58476d1ce4e5b9ULL) & kTicketMask;
  x ^= x >> 28;
  return x;
}

void resume_handle(void* address, std::uint64_t) { std::coroutine_handle<>::from_address(address).resume(); }

}  // namespace

void detail::root_finished(Engine& owner, std::size_t slot) { owner.finished_.push_back(slot); }

Engine::Engine(EngineParams params) : params_(params) {
  if (params_.shuffle_ties) shuffle_key_ = Random{params_.seed, "engine: shuffled ties"}.bits();
}

Engine::~Engine() { destroy_roots(); }

void Engine::destroy_roots() {
  reap();
  for (auto& root : roots_) {
    if (root) root.destroy();
    root = nullptr;
  }
  roots_.clear();
  free_slots_.clear();
  heap_.clear();
}

std::uint64_t Engine::schedule(SimTime at, Phase phase, Callback callback, void* argument) {
  SPILLWAY_CHECK(at >= now_, "an event was scheduled in the past");
  const std::uint64_t ticket = next_ticket_++;
  const std::uint64_t low = params_.shuffle_ties ? permute(ticket, shuffle_key_) : ticket;
  push(Event{at, (static_cast<std::uint64_t>(phase) << 56) | low, callback, argument});
  return low;
}

void Engine::resume_at(SimTime at, Phase phase, std::coroutine_handle<> handle) {
  schedule(at, phase, resume_handle, handle.address());
}

void Engine::spawn(Task<> task, Phase phase) {
  const auto handle = task.release();
  std::size_t slot = roots_.size();
  if (free_slots_.empty()) {
    roots_.push_back(handle);
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
    roots_[slot] = handle;
  }
  handle.promise().owner = this;
  handle.promise().root_slot = slot;
  resume_at(now_, phase, handle);
}

void Engine::reap() {
  for (const std::size_t slot : finished_) {
    roots_[slot].destroy();
    roots_[slot] = nullptr;
    free_slots_.push_back(slot);
  }
  finished_.clear();
}

RunOutcome Engine::run() {
  stopping_ = false;
  std::uint64_t events_this_instant = 0;
  while (!stopping_) {
    if (heap_.empty()) return RunOutcome::idle;
    const Event event = pop();
    if (event.at != now_) {
      now_ = event.at;
      events_this_instant = 0;
      if (now_ - last_progress_ > params_.stalled_after) return RunOutcome::stalled;
    } else if (++events_this_instant > params_.max_events_per_instant) {
      return RunOutcome::stalled;
    }
    ++events_;
    event.callback(event.argument, event.order & kTicketMask);
    if (!finished_.empty()) reap();
  }
  return RunOutcome::stopped;
}

std::string Engine::state_report() const {
  std::string report = fmt::format("at {:.6f} s after {} events, {} pending\n", to_seconds(now_.time_since_epoch()),
                                   events_, heap_.size());
  for (const auto& describe : describers_) report += describe() + "\n";
  return report;
}

void Engine::push(const Event& event) {
  std::size_t i = heap_.size();
  heap_.push_back(event);
  while (i > 0) {
    const std::size_t parent = (i - 1) / 4;
    if (!before(event, heap_[parent])) break;
    heap_[i] = heap_[parent];
    i = parent;
  }
  heap_[i] = event;
}

Engine::Event Engine::pop() {
  const Event top = heap_.front();
  const Event last = heap_.back();
  heap_.pop_back();
  const std::size_t n = heap_.size();
  if (n == 0) return top;
  std::size_t i = 0;
  for (;;) {
    const std::size_t first = 4 * i + 1;
    if (first >= n) break;
    std::size_t best = first;
    const std::size_t end = first + 4 < n ? first + 4 : n;
    for (std::size_t c = first + 1; c < end; ++c)
      if (before(heap_[c], heap_[best])) best = c;
    if (!before(heap_[best], last)) break;
    heap_[i] = heap_[best];
    i = best;
  }
  heap_[i] = last;
  return top;
}

Timer::Timer(Engine& engine, Phase phase, std::function<void()> action)
    : engine_(engine), phase_(phase), action_(std::move(action)) {}

void Timer::arm(SimTime at) {
  ticket_ = engine_.schedule(at, phase_, fire, this);
  pending_ = true;
  expires_ = at;
}

void Timer::fire(void* self, std::uint64_t ticket) {
  auto& timer = *static_cast<Timer*>(self);
  if (!timer.pending_ || timer.ticket_ != ticket) return;  // cancelled or moved since
  timer.pending_ = false;
  timer.action_();
}

void WaitQueue::append(Awaiter& awaiter) {
  awaiter.next = nullptr;
  (tail_ ? tail_->next : head_) = &awaiter;
  tail_ = &awaiter;
  ++size_;
}

void WaitQueue::wake_one() {
  if (!head_) return;
  Awaiter* const first = head_;
  head_ = first->next;
  if (!head_) tail_ = nullptr;
  --size_;
  engine_.resume_at(engine_.now(), phase_, first->handle);
}

void WaitQueue::wake_all() {
  while (head_) wake_one();
}

bool Semaphore::try_acquire(std::int64_t count) {
  if (head_ || available_ < count) return false;
  available_ -= count;
  return true;
}

void Semaphore::append(Awaiter& awaiter) {
  awaiter.next = nullptr;
  (tail_ ? tail_->next : head_) = &awaiter;
  tail_ = &awaiter;
  ++waiting_;
}

void Semaphore::release(std::int64_t count) {
  available_ += count;
  while (head_ && available_ >= head_->count) {
    Awaiter* const first = head_;
    head_ = first->next;
    if (!head_) tail_ = nullptr;
    --waiting_;
    available_ -= first->count;
    engine_.resume_at(engine_.now(), phase_, first->handle);
  }
}

}  // namespace spillway::sim
