#pragma once
/// The queue in front of a stage: hand-over with a wake-up. A thread with index i serves while more than
/// i x `requests_per_thread` requests wait (0: always), as a pool does that grows with its queue.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace spillway::real {

class ThreadAccount;

struct Request {
  std::int64_t number = 0, begin_ns = 0;
  std::size_t stage = 0;  ///< where it goes on when it comes off the link or the device
  int source = 0;
};

class StageQueue {
 public:
  StageQueue(int threads, int requests_per_thread);
  void push(Request request);
  /// The next request for this thread, or none when the queue was closed and is empty.
  std::optional<Request> pop(int thread, ThreadAccount& account);
  void close();

 private:
  [[nodiscard]] bool serves(int thread) const;
  std::mutex mutex_;
  std::vector<std::unique_ptr<std::condition_variable>> wakers_;
  std::vector<bool> asleep_;
  std::deque<Request> waiting_;
  int requests_per_thread_;
  bool closed_ = false;
};

}  // namespace spillway::real
