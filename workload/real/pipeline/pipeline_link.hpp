#pragma once
/// A link as a clock: one request after another takes its bytes' time, and arrives a latency later. A thread of its own
/// wakes for each arrival (timer slack 1 ns) and hands the request on.

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "sim/units.hpp"
#include "workload/real/pipeline/stage_queue.hpp"

namespace spillway::real {

class PipelineLink {
 public:
  PipelineLink(BytesPerSec rate, Duration latency, std::function<void(Request)> arrived);
  ~PipelineLink();
  PipelineLink(const PipelineLink&) = delete;
  PipelineLink& operator=(const PipelineLink&) = delete;
  void send(Request request, Bytes bytes);
  [[nodiscard]] double busy_s() const { return static_cast<double>(busy_ns_) * 1e-9; }

 private:
  void loop();
  BytesPerSec rate_;
  Duration latency_;
  std::function<void(Request)> arrived_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<std::int64_t, Request>> under_way_;  ///< by arrival, which is the order of sending
  std::int64_t free_ns_ = 0, busy_ns_ = 0;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace spillway::real
