#include "sim/block/byte_throttle.hpp"

#include <algorithm>

#include "sim/check.hpp"

namespace spillway::sim {

ByteThrottle::ByteThrottle(Engine& engine, const TickClock& clock, ByteThrottleParams params,
                           std::function<void(Bio&)> release)
    : engine_(engine),
      clock_(clock),
      params_(params),
      release_(std::move(release)),
      slice_(std::max(clock.hz() / 10, 1)),
      timer_(engine, Phase::device_done, [this] { dispatch(); }) {
  SPILLWAY_CHECK(params_.rate.value() > 0, "a throttle's rate must be positive");
  if (!params_.begun) return;
  start_slice();
  slice_end_ = ends_at(now() + slice_);
}

std::int64_t ByteThrottle::allowed(std::int64_t per_second, Jiffies ticks) const {
  __extension__ using Wide = __int128;
  return static_cast<std::int64_t>(static_cast<Wide>(per_second) * ticks / clock_.hz());
}

void ByteThrottle::start_slice() {
  bytes_ = 0;
  ios_ = 0;
  slice_start_ = now();
  slice_end_ = now() + slice_;
}

Jiffies ByteThrottle::wait_for(const Bio& bio) {
  // A new slice begins only when nothing is parked; else the present one is stretched, so that what passed still counts.
  if (slice_used() && !head_)
    start_slice();
  else
    slice_end_ = std::max(slice_end_, ends_at(now() + slice_));

  const Jiffies elapsed = now() - slice_start_;
  const Jiffies rounded = elapsed == 0 ? slice_ : (elapsed + slice_ - 1) / slice_ * slice_;
  Jiffies wait = 0;
  const std::int64_t excess = bytes_ + bio.size.value() - allowed(params_.rate.value(), rounded);
  if (excess > 0) {
    __extension__ using Wide = __int128;
    const auto ticks = static_cast<Jiffies>(static_cast<Wide>(excess) * clock_.hz() / params_.rate.value());
    wait = std::max<Jiffies>(ticks, 1) + (rounded - elapsed);
  }
  if (params_.iops > 0 && ios_ + 1 > allowed(params_.iops, rounded))
    wait = std::max(wait, std::max<Jiffies>((ios_ + 1 - allowed(params_.iops, rounded)) * clock_.hz() / params_.iops, 1) +
                              (rounded - elapsed));
  if (wait > 0) slice_end_ = std::max(slice_end_, ends_at(now() + wait));
  return wait;
}

void ByteThrottle::charge(const Bio& bio) {
  bytes_ += bio.size.value();
  ++ios_;
}

void ByteThrottle::trim_slice() {
  if (slice_used()) return;
  slice_end_ = ends_at(now() + slice_);
  Jiffies elapsed = (now() - slice_start_) / slice_ * slice_;
  // One whole slice is kept, for what the rounding of ticks loses. Before 6.15 that was lost, and the rate a little lower.
  if (params_.keeps_slice) elapsed -= slice_;
  if (elapsed <= 0) return;
  bytes_ -= std::min(bytes_, allowed(params_.rate.value(), elapsed));
  if (params_.iops > 0) ios_ -= std::min(ios_, allowed(params_.iops, elapsed));
  slice_start_ += elapsed;
}

void ByteThrottle::submit(Bio& bio) {
  if (!params_.slices) return submit_smoothly(bio);
  if (bio.size.value() == 0) return release_(bio);
  const bool passes = bio.meta && params_.passes_metadata;
  if (!head_ || passes) {
    const Jiffies wait = wait_for(bio);
    if (wait == 0 || passes) {
      charge(bio);
      if (wait == 0) trim_slice();
      return release_(bio);
    }
    timer_.arm(clock_.timeout_ends(engine_.now(), wait));
  }
  bio.next = nullptr;
  (tail_ ? tail_->next : head_) = &bio;
  tail_ = &bio;
  ++parked_;
}

void ByteThrottle::dispatch() {
  while (head_) {
    Bio& bio = *head_;
    const Jiffies wait = wait_for(bio);
    if (wait > 0) {
      timer_.arm(clock_.timeout_ends(engine_.now(), wait));
      return;
    }
    head_ = bio.next;
    if (!head_) tail_ = nullptr;
    --parked_;
    charge(bio);
    trim_slice();
    release_(bio);
  }
}

void ByteThrottle::submit_smoothly(Bio& bio) {
  const SimTime begin = std::max(engine_.now(), smooth_free_at_);
  smooth_free_at_ = begin + time_to_move(bio.size, params_.rate);
  if (bio.meta || bio.size.value() == 0) return release_(bio);
  bio.next = nullptr;
  (tail_ ? tail_->next : head_) = &bio;
  tail_ = &bio;
  ++parked_;
  engine_.schedule(
      smooth_free_at_, Phase::device_done,
      [](void* self, std::uint64_t) {
        auto& throttle = *static_cast<ByteThrottle*>(self);
        Bio& first = *throttle.head_;
        throttle.head_ = first.next;
        if (!throttle.head_) throttle.tail_ = nullptr;
        --throttle.parked_;
        throttle.release_(first);
      },
      this);
}

}  // namespace spillway::sim
