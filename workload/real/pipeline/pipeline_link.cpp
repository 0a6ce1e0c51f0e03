#include "workload/real/pipeline/pipeline_link.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <chrono>

#include "workload/real/system/process.hpp"

namespace spillway::real {

PipelineLink::PipelineLink(BytesPerSec rate, Duration latency, std::function<void(Request)> arrived)
    : rate_(rate), latency_(latency), arrived_(std::move(arrived)), thread_([this] { loop(); }) {}

PipelineLink::~PipelineLink() {
  {
    const std::scoped_lock lock{mutex_};
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void PipelineLink::send(Request request, Bytes bytes) {
  {
    const std::scoped_lock lock{mutex_};
    const std::int64_t takes = time_to_move(bytes, rate_).count();
    free_ns_ = std::max(free_ns_, monotonic_ns()) + takes;
    busy_ns_ += takes;
    under_way_.emplace_back(free_ns_ + latency_.count(), request);
  }
  changed_.notify_one();
}

void PipelineLink::loop() {
  ::prctl(PR_SET_TIMERSLACK, 1UL);
  std::unique_lock lock{mutex_};
  for (;;) {
    if (under_way_.empty()) {
      if (stop_) return;
      changed_.wait(lock);
      continue;
    }
    const std::int64_t left = under_way_.front().first - monotonic_ns();
    if (left > 0) {
      changed_.wait_for(lock, std::chrono::nanoseconds{left});
      continue;
    }
    const Request request = under_way_.front().second;
    under_way_.pop_front();
    lock.unlock();
    arrived_(request);
    lock.lock();
  }
}

}  // namespace spillway::real
