#pragma once
/// blk-wbt, writeback throttling: how many buffered writes may be inside a queue, so that reads do not wait behind them.
///
/// Depth follows read latency in steps per window; pure writing lets it grow to three quarters of the queue. A write that
/// finds no room puts its submitter to sleep (the flusher in D state), and completions wake it: at once as a rule, only
/// when the queue has run dry if the device has a volatile cache and nobody is being throttled for memory. Pure state:
/// the box owns the sleeping and the timers.
/// Source: block/blk-wbt.c and block/blk-rq-qos.c, Linux 6.18.

#include <cstdint>
#include <optional>

#include "sim/block/wbt.hpp"
#include "sim/units.hpp"

namespace spillway::sim::block {

struct WbtParams {
  int queue_depth = 128;              ///< the device's depth, or nr_requests
  Duration latency_target{75'000'000};  ///< wbt_lat_usec. cited: 75 ms rotational, 2 ms otherwise; 0 switches wbt off
  Duration window{100'000'000};       ///< cited: 100 ms
  bool volatile_cache = false;
};

class WritebackThrottle {
 public:
  explicit WritebackThrottle(const WbtParams& params);

  /// What a write is, for its limit.
  struct Write {
    bool important = false;   ///< SYNC, META, PRIO or SWAP
    bool background = false;  ///< the flusher's own background round
    bool throttled_lately = false;  ///< some task slept in balance_dirty_pages on this device within the last second
  };

  [[nodiscard]] bool enabled() const { return params_.latency_target > Duration{0}; }
  [[nodiscard]] std::int64_t limit(const Write& write, SimTime now) const;
  /// Takes a place if there is one; else the submitter must sleep and ask again when woken.
  bool try_enter(const Write& write, SimTime now);
  /// A write is done. True if sleepers are to be woken.
  bool leave(SimTime now, bool throttled_lately);
  [[nodiscard]] std::int64_t inflight() const { return inflight_; }

  void read_issued(SimTime now);
  void read_done(SimTime now, Duration latency);

  /// When the window ends, while one is open. Call end_window() then; it may raise limits: wake sleepers if it says so.
  [[nodiscard]] std::optional<SimTime> window_end() const { return window_end_; }
  bool end_window(SimTime now, bool throttled_lately);

  [[nodiscard]] const WbtDepths& depths() const { return depths_; }
  [[nodiscard]] int scale_step() const { return step_; }

 private:
  enum class Seen : std::uint8_t { latency_fine, latency_exceeded, only_writes, nothing };
  Seen judge(SimTime now, bool throttled_lately) const;
  void step_up();                 ///< more depth
  void step_down(bool hard);      ///< less depth; hard: from above the start straight back to it
  void open_window(SimTime now);
  [[nodiscard]] Duration window_length() const;
  void apply();

  WbtParams params_;
  WbtDepths depths_;
  bool capped_ = false;  ///< stepping further up changes nothing
  int step_ = 0, unknown_ = 0;
  std::int64_t inflight_ = 0;
  std::int64_t reads_outstanding_ = 0;
  SimTime oldest_read_{};
  std::optional<SimTime> last_read_;  ///< issued or completed
  std::int64_t window_reads_ = 0, window_writes_ = 0;
  Duration fastest_read_{0};
  std::optional<SimTime> window_end_;
};

}  // namespace spillway::sim::block
