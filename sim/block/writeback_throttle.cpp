#include "sim/block/writeback_throttle.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "sim/check.hpp"

namespace spillway::sim::block {

namespace {

constexpr int kMinWriteSamples = 3;    // RWB_MIN_WRITE_SAMPLES
constexpr int kUnknownWindows = 5;     // RWB_UNKNOWN_BUMP

constexpr Duration kReadsLately = std::chrono::milliseconds{100};  // HZ / 10

}  // namespace

WritebackThrottle::WritebackThrottle(const WbtParams& params) : params_(params) { apply(); }

void WritebackThrottle::apply() {
  depths_ = wbt_depths(params_.queue_depth, step_);
  // rq_depth_calc_max_depth() says so when it had to cut to three quarters of the queue.
  const std::int64_t uncut = step_ < 0 ? 1 + (15LL << std::min(16, -step_)) : 0;
  capped_ = params_.queue_depth == 1 ? step_ <= 0 : uncut > depths_.max_depth;
}

std::int64_t WritebackThrottle::limit(const Write& write, SimTime now) const {
  if (write.important || write.throttled_lately) return depths_.max_depth;
  const bool reads_lately = reads_outstanding_ > 0 || (last_read_ && now - *last_read_ < kReadsLately);
  return write.background || reads_lately ? depths_.background : depths_.normal;
}

bool WritebackThrottle::try_enter(const Write& write, SimTime now) {
  if (enabled() && inflight_ >= limit(write, now)) return false;
  ++inflight_;
  if (enabled()) open_window(now);
  return true;
}

bool WritebackThrottle::leave(SimTime, bool throttled_lately) {
  SPILLWAY_CHECK(inflight_ > 0, "a write left a wbt queue that holds none");
  --inflight_;
  ++window_writes_;
  const std::int64_t wake_below = params_.volatile_cache && !throttled_lately ? 0 : depths_.normal;
  if (inflight_ == 0) return true;
  if (inflight_ >= wake_below) return false;
  return wake_below - inflight_ >= depths_.background / 2;
}

void WritebackThrottle::read_issued(SimTime now) {
  if (reads_outstanding_++ == 0) oldest_read_ = now;
  last_read_ = now;
  if (enabled()) open_window(now);
}

void WritebackThrottle::read_done(SimTime now, Duration latency) {
  --reads_outstanding_;
  oldest_read_ = now;  // as the kernel's sync cookie: one read is watched at a time
  last_read_ = now;
  fastest_read_ = window_reads_ == 0 ? latency : std::min(fastest_read_, latency);
  ++window_reads_;
}

Duration WritebackThrottle::window_length() const {
  if (step_ <= 0) return params_.window;
  // 100 ms / sqrt(step + 1), in the kernel's fixed point: (window << 4) / int_sqrt((step + 1) << 8).
  const auto root = static_cast<std::int64_t>(std::sqrt(static_cast<double>((step_ + 1) << 8)));
  return Duration{(params_.window.count() << 4) / root};
}

void WritebackThrottle::open_window(SimTime now) {
  if (window_end_) return;
  window_end_ = now + window_length();
  window_reads_ = window_writes_ = 0;
}

WritebackThrottle::Seen WritebackThrottle::judge(SimTime now, bool throttled_lately) const {
  if (reads_outstanding_ > 0) {
    const Duration waiting = now - oldest_read_;
    if (waiting > window_length() || (waiting > params_.latency_target && window_reads_ == 0)) {
      return Seen::latency_exceeded;
    }
  }
  if (window_reads_ == 0 || window_writes_ < kMinWriteSamples) {
    return window_writes_ > 0 || throttled_lately || inflight_ > 0 ? Seen::only_writes : Seen::nothing;
  }
  return fastest_read_ > params_.latency_target ? Seen::latency_exceeded : Seen::latency_fine;
}

bool WritebackThrottle::end_window(SimTime now, bool throttled_lately) {
  const WbtDepths before = depths_;
  const Seen seen = judge(now, throttled_lately);
  if (seen != Seen::nothing) unknown_ = 0;
  switch (seen) {
    case Seen::latency_exceeded: step_down(true); break;
    case Seen::latency_fine:
    case Seen::only_writes: step_up(); break;
    case Seen::nothing:
      if (++unknown_ < kUnknownWindows) break;
      if (step_ > 0) step_up();
      if (step_ < 0) step_down(false);
      break;
  }
  window_end_.reset();
  if (step_ != 0 || inflight_ > 0) open_window(now);
  return depths_.max_depth > before.max_depth;
}

void WritebackThrottle::step_up() {
  if (capped_) return;
  --step_;
  unknown_ = 0;
  apply();
}

void WritebackThrottle::step_down(bool hard) {
  if (depths_.max_depth == 1) return;
  step_ = step_ < 0 && hard ? 0 : step_ + 1;
  unknown_ = 0;
  apply();
}

}  // namespace spillway::sim::block
